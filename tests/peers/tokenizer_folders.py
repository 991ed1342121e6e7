#!/usr/bin/env python3
"""Folders that bigbird writes, in AutoTokenizer of transformers 4 or 5: ids and offsets of odd lines, for a comparison with what
bigbird itself reads from them; special pieces and model_max_length are compared here. Status 1 where those differ.

    python tests/peers/tokenizer_folders.py OUT --program build/release/bin/bigbird [--spiece FILE ...] [--folder FOLDER ...] [--lines 1500]
    BIGBIRD_PEER_TOKENS=OUT build/release/tests/test_tokenization --gtest_filter='TextTokenizationPeers.*'

Made with the program: a vocabulary (`text vocabulary`), one with --byte-fallback, and small models (`pretrain`, one step) over each of
them, over a byte-level BPE trained here (vocab.json and merges.txt) and over every FILE (a spiece.model); of each model what `text
classify finetune` makes of it, and the folder that `convert` writes. FOLDERs are taken as they are. OUT/NAME gets the tokenizer's files
and cases.jsonl. Of folders that fold white space AutoTokenizer folds too.

Needs: transformers (4.57.1 and 5.24.0 were tried), tokenizers; no torch.
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import unicodedata

import text_tokenization as lines_of

TOKENIZER_FILES = ("spiece.model", "tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json", "tokenizer_config.json",
                   "special_tokens_map.json", "config.json", "text.json")
POSITIONS = 64


def run(program, *arguments):
    subprocess.run([program, *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL)


def training_text(path):
    rng = random.Random(1)
    words = [word for word in lines_of.WORDS if word.isprintable()]
    path.write_text("".join(" ".join(rng.choice(words) for _ in range(rng.randrange(4, 20))) + "\n" for _ in range(3000)))
    return path


def model_over(program, tokenizer, text, work, name):
    """Folders of three verbs, by name."""
    shards, run_folder, converted = work / f"{name}-shards", work / f"{name}-run", work / f"{name}-converted"
    run(program, "text", "pretrain-data", text, "-m", tokenizer, "-o", shards, "--one-per-line")
    run(program, "pretrain", "--train", shards, "-m", tokenizer, "-o", run_folder, "--layers", 1, "--width", 16, "--heads", 1, "--block-size", 16,
        "--length", POSITIONS, "--steps", 1, "--batch", 1, "--threads", 1)
    final = run_folder / "final"
    run(program, "convert", final, converted)
    table = work / "classes.csv"
    table.write_text("text,label\n" + "".join(f"{word},{'ab'[i % 2]}\n" for i, word in enumerate(["good", "bad", "fine", "poor"])))
    tuned = work / f"{name}-classes"
    run(program, "text", "classify", "finetune", "--train", table, "--init", final, "-o", tuned, "--steps", 1, "--batch", 1, "--length", POSITIONS,
        "--threads", 1)
    return {f"{name}-pretrained": final, f"{name}-converted": converted, f"{name}-classes": tuned / "final"}


def byte_level(folder, text):
    from tokenizers import ByteLevelBPETokenizer
    folder.mkdir(parents=True)
    trained = ByteLevelBPETokenizer()
    trained.train([str(text)], vocab_size=1000, min_frequency=2, special_tokens=lines_of.SPECIALS, show_progress=False)
    trained.save_model(str(folder))
    return folder


def leave_out_places(target):
    """Where bigbird encodes by the SentencePiece library, whose places are others; and, of a table of characters (Pegasus), in texts whose
    first characters it drops: the tokenizers package counts places from behind them."""
    config = json.loads((target / "tokenizer_config.json").read_text())
    library = (target / "spiece.model").exists() and "tokenizer_json" in config.get("bigbird", {})
    table = "Precompiled" in (target / "tokenizer.json").read_text()
    path = target / "cases.jsonl"
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    for case in cases:
        if library or (table and unicodedata.category(case["text"][:1] or "a").startswith("C")):
            del case["begin"], case["end"]
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))


def compare(folder, target, lines):
    """Writes cases.jsonl; returns what is wrong, as lines."""
    from transformers import AutoTokenizer
    target.mkdir(parents=True)
    for file in TOKENIZER_FILES:
        if (folder / file).exists():
            shutil.copy(folder / file, target / file)
    tokenizer = AutoTokenizer.from_pretrained(str(target))
    lines_of.write(target, lines_of.fast_cases(tokenizer, lines))
    leave_out_places(target)
    wrong = []
    if (target / "config.json").exists():
        positions = json.loads((target / "config.json").read_text())["max_position_embeddings"]
        if tokenizer.model_max_length != positions:
            wrong.append(f"model_max_length {tokenizer.model_max_length}, positions {positions}")
    encoded = tokenizer("a", "b").input_ids
    if encoded[0] != tokenizer.cls_token_id or encoded[-1] != tokenizer.sep_token_id or tokenizer.mask_token_id is None:
        wrong.append(f"special pieces of a pair: {encoded}")
    found = tokenizer(f"a {tokenizer.mask_token} b", add_special_tokens=False).input_ids
    if tokenizer.mask_token_id not in found or len(tokenizer) != tokenizer.vocab_size:
        wrong.append(f"the mask: {found}; {len(tokenizer)} pieces, {tokenizer.vocab_size} without added ones")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", required=True)
    parser.add_argument("--spiece", type=pathlib.Path, nargs="+", default=[])
    parser.add_argument("--folder", type=pathlib.Path, nargs="+", default=[])
    parser.add_argument("--lines", type=int, default=1500)
    options = parser.parse_args()
    options.squad = options.manual = None
    lines = lines_of.all_lines(options)
    work = options.out / "work"
    shutil.rmtree(options.out, ignore_errors=True)
    work.mkdir(parents=True)
    text = training_text(work / "text.txt")

    folders = {folder.name: folder for folder in options.folder}
    for name, more in (("vocabulary", []), ("vocabulary-bytes", ["--byte-fallback"])):
        folders[name] = work / name
        run(options.program, "text", "vocabulary", text, "-o", folders[name], "--vocab-size", 1200, *more)
    sources = {"words": folders["vocabulary"], "bytes": folders["vocabulary-bytes"], "roberta": byte_level(work / "roberta", text)}
    for file in options.spiece:
        sources[file.stem] = work / file.stem
        sources[file.stem].mkdir()
        shutil.copy(file, sources[file.stem] / "spiece.model")
    for name, source in sources.items():
        folders |= model_over(options.program, source, text, work, name)

    failed = False
    for name, folder in folders.items():
        wrong = compare(folder, options.out / name, lines)
        print(f"{name}: {'; '.join(wrong) or 'loads'}")
        failed = failed or bool(wrong)
    shutil.rmtree(work)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
