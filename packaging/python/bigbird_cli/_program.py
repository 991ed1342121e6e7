"""The program that comes with the wheel."""
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Union

Word = Union[str, "os.PathLike[str]"]


def program() -> str:
    """The path of the program: BIGBIRD_PROGRAM, that of the wheel, or bigbird on PATH."""
    named = os.environ.get("BIGBIRD_PROGRAM")
    carried = Path(__file__).resolve().parent / "program" / "bin" / "bigbird"
    found = named or (str(carried) if carried.exists() else shutil.which("bigbird"))
    if not found:
        raise FileNotFoundError("no bigbird program: this package carries none, PATH has none, BIGBIRD_PROGRAM is not set")
    return found


def run(*words: Word, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """bigbird WORDS, with its standard output as text; messages go to stderr. check: CalledProcessError where it fails."""
    return subprocess.run([program(), *map(os.fspath, words)], check=check, text=True, stdout=subprocess.PIPE)


def main() -> None:
    """The command `bigbird`: the program takes this process over, with its signals and its exit status."""
    words: List[str] = [program(), *sys.argv[1:]]
    sys.stdout.flush()
    os.execv(words[0], words)
