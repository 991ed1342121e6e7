#!/usr/bin/env python3
"""Windows of a genome to learn natural DNA from before promoters: `promoter finetune --fresh-negatives random` on them teaches to
tell a stretch of the genome from the same with 12 of 20 blocks replaced, without a promoter being seen.

    python tests/peers/promoter_windows.py GENOME.fa POSITIVES.txt.gz --held-out RECORD -o FOLDER [--length 300] [--step 150]

FOLDER/windows.fa: every --step bases a window of --length, both strands, shuffled by a fixed seed; none with an N, none that
shares 40 bases with a sequence of POSITIVES on either strand, so that no promoter of any fold is among them. FOLDER/valid.tsv:
windows of the record that is held out, every 2,000 bases, each with one altered by a fixed seed. Needs nothing but Python."""

import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from promoter_folds import negative_of, promoters_of  # noqa: E402

SHARED = 40
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def reverse_complement(sequence):
    return sequence.translate(COMPLEMENT)[::-1]


def records_of(path):
    records, name = {}, None
    for line in open(path):
        if line.startswith(">"):
            name = line[1:].split()[0]
            records[name] = []
        else:
            records[name].append(line.strip().upper())
    return {name: "".join(lines) for name, lines in records.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("genome", type=pathlib.Path)
    parser.add_argument("positives", type=pathlib.Path)
    parser.add_argument("--held-out", required=True)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--length", type=int, default=300)
    parser.add_argument("--step", type=int, default=150)
    arguments = parser.parse_args()
    records = records_of(arguments.genome)
    if arguments.held_out not in records:
        sys.exit(f"{arguments.genome}: no record {arguments.held_out}")
    taken = set()
    for promoter in promoters_of(arguments.positives):
        for strand in (promoter, reverse_complement(promoter)):
            taken.update(strand[i:i + SHARED] for i in range(len(strand) - SHARED + 1))

    def windows(sequence, step):
        for begin in range(0, len(sequence) - arguments.length, step):
            window = sequence[begin:begin + arguments.length]
            if "N" not in window and not any(window[i:i + SHARED] in taken for i in range(len(window) - SHARED + 1)):
                yield begin, window

    train = []
    for name, sequence in records.items():
        if name == arguments.held_out:
            continue
        for begin, window in windows(sequence, arguments.step):
            train += [(f"{name}:{begin}+", window), (f"{name}:{begin}-", reverse_complement(window))]
    random.Random(1).shuffle(train)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "windows.fa").write_text("".join(f">{name}\n{window}\n" for name, window in train))
    rng = random.Random(2)
    rows = ["id\tsequence\tlabel"]
    for begin, window in windows(records[arguments.held_out], 2000):
        rows += [f"v{begin}\t{window}\t1", f"v{begin}:negative\t{negative_of(window, rng)}\t0"]
    (arguments.output / "valid.tsv").write_text("\n".join(rows) + "\n")
    print(f"{len(train)} windows, {len(rows) - 1} of validation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
