#!/usr/bin/env python3
"""Kills verbs at random moments (SIGKILL), lets them go on, and compares what they end with.

    python3 tests/reliability/kills.py --program build/release/bin/bigbird --demo demo-output --work /tmp/kills

DEMO is what pipelines/demo.sh has left. Each trial: the verb is killed one to three times at a random moment of
its run, then ends. Wanted: the bytes of a run that nobody killed (times aside); while it is killed nothing under
a final name that is not whole; at the end nothing else in the folder. Needs Python 3 alone; no part of .ci/run.
Prints a row for each verb; the exit status is 1 where a trial failed.
"""
import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time


class Job:
    def __init__(self, name, words, again=(), timed=()):
        self.name = name
        self.words = words + list(again)  # every start is the same command, the one that nobody kills too
        self.timed = timed  # names of outputs that hold times: present, not compared


def jobs(demo):
    genome, variants = f"{demo}/genome/genome.fa.gz", f"{demo}/genome/variants.vcf.gz"
    chromatin, promoter = f"{demo}/chromatin-run/final", f"{demo}/finetune/final"
    return [
        Job("pretrain", ["pretrain", "--train", f"{demo}/train", "--valid", f"{demo}/valid", "-m",
                         f"{demo}/tokenizer", "--layers", "1", "--width", "64", "--heads", "2", "--length", "128",
                         "--block-size", "8", "--random-mode", "hf-train", "--batch", "8", "--steps", "60",
                         "--save-every", "7", "--eval-every", "20", "--eval-samples", "64", "-o", "run"],
            ["--resume"], ("metrics.tsv", "memory.tsv", "trainer_state.json", "README.md")),
        Job("variants", ["variants", "-m", chromatin, "-f", genome, variants, "--chunk-size", "40", "-r",
                         "chr3:1-400000", "-o", "out.vcf.gz"], ["--resume"], ("out.vcf.gz.summary.json",)),
        Job("chromatin predict", ["chromatin", "predict", "-m", chromatin, "--data", f"{demo}/chromatin", "--split",
                                  "test", "--chunk-size", "200", "-o", "out.tsv"], ["--resume"]),
        Job("promoter scan", ["promoter", "scan", "-m", promoter, "-f", genome, "-r", "chr3:1-200000", "--step",
                              "100", "--chunk-size", "200", "-o", "out.bedgraph"], ["--resume"],
            ("out.bedgraph.summary.json",)),
        Job("tokenize", ["tokenize", "-m", f"{demo}/tokenizer", "-f", genome, "-d", f"{demo}/train.bed.gz", "-o",
                         "shard"]),
        Job("train-bpe", ["train-bpe", "-f", genome, "-d", f"{demo}/train.bed.gz", "--vocab-size", "1000",
                          "--sample-bp", "2M", "-o", "tokenizer"], ["--force"]),
        Job("quantize", ["quantize", promoter, "--calibrate", f"{demo}/promoters", "-o", "int8", "--max-loss", "1"],
            ["--force"], ("README.md",)),
        Job("report", ["report", f"{demo}/pretrain", f"{demo}/chromatin.json", f"{demo}/scored.vcf.gz", "-o",
                       "page.html", "--multiqc", "multiqc"]),
    ]


def digests(folder):
    found = {}
    for root, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def is_temporary(path):
    return re.search(r"\.tmp[.-]|\.old-|\.removed-|\.parts(/|$)|\.parts\.lease|\.lease$|\.work(/|$)", path) is not None


def start(program, words, folder, log):
    with open(log, "ab") as out:
        return subprocess.Popen([program, *words, "--no-provenance", "-@", "1"], cwd=folder, stdout=out, stderr=out,
                                stdin=subprocess.DEVNULL)


def differs(job, expected, found, whole):
    """What is wrong with the files `found`; `whole`: the run has ended."""
    wrong = []
    for path, digest in found.items():
        if os.path.basename(path) in job.timed:
            continue
        if path not in expected:
            # Checkpoints that a whole run no longer has, and what only a running one holds.
            if whole or not (is_temporary(path) or "checkpoint-" in path):
                wrong.append(f"left: {path}")
        elif digest != expected[path] and (whole or job.name != "pretrain" or path.startswith("run/final")):
            wrong.append(f"other bytes: {path}")
    if whole:
        wrong += [f"missing: {path}" for path in expected if path not in found]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--demo", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", help="verbs; all where none is named")
    arguments = parser.parse_args()
    program, demo = os.path.abspath(arguments.program), os.path.abspath(arguments.demo)
    failures = 0
    print("verb\ttrials\tkills\tequal\tseconds of a whole run", flush=True)
    for job in jobs(demo):
        if arguments.names and job.name not in arguments.names:
            continue
        chance = random.Random(f"{arguments.seed} {job.name}")
        folder, log = os.path.join(arguments.work, "trial"), os.path.join(arguments.work, "log")
        os.makedirs(arguments.work, exist_ok=True)

        def fresh():
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)

        fresh()
        begin = time.monotonic()
        if start(program, job.words, folder, log).wait() != 0:
            print(f"{job.name}: does not run; see {log}", file=sys.stderr)
            return 2
        seconds, expected = time.monotonic() - begin, digests(folder)
        kills = equal = 0
        for trial in range(arguments.trials):
            fresh()
            wrong, killed = [], False
            for _ in range(chance.randint(1, 3)):
                process = start(program, job.words, folder, log)
                time.sleep(chance.uniform(0, seconds))
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
                    killed = True
                elif process.wait() != 0:
                    wrong.append("status %d" % process.returncode)
                process.wait()
                wrong += differs(job, expected, digests(folder), whole=False)
                if not killed:
                    break
            process = start(program, job.words, folder, log) if killed else None
            if process is not None and process.wait() != 0:
                wrong.append("status %d" % process.returncode)
            wrong += differs(job, expected, digests(folder), whole=True)
            if wrong:
                failures += 1
                print(f"{job.name}, trial {trial}: {'; '.join(sorted(set(wrong))[:6])}", file=sys.stderr)
            else:
                equal += 1
        print(f"{job.name}\t{arguments.trials}\t{kills}\t{equal}\t{seconds:.1f}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
