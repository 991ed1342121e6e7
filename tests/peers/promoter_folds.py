#!/usr/bin/env python3
"""Promoters against altered promoters, fold by fold: `bigbird promoter finetune` and the public PyTorch implementation of
DeePromoter (github.com/egochao/DeePromoter, Oubounyt et al. 2019) on the same files.

    python tests/peers/promoter_folds.py POSITIVES.txt.gz --peer CHECKOUT --init MODEL --work FOLDER [--folds 5] [--only 1,2]
        [--windows WINDOWS.fa] [--program build/release/bin/bigbird] [-- --epochs 8 --lr 3e-4 --fresh-negatives random ...]

POSITIVES has one sequence of 300 bases a line; equal ones are taken once. Negatives by the published rule: of 20 equal blocks
12 are replaced by random bases. Each fold has a fifth of the promoters for testing, an eighth of the others for validation;
a promoter and its negatives are on one side. Both programs get the same negatives for validation and testing; for training the
peer draws fresh ones in every epoch, as its own loader does, and bigbird those of the file, or fresh ones where the words
behind -- say so. The peer: kernels 27, 14 and 7, Adam 1e-3, batches of 32 and 32, the epoch of best validation MCC.

With --windows (promoter_windows.py) the peer runs a second time, begun from what it learns of these windows and their altered
copies, fresh in each of five epochs, by the same rule: so that what bigbird was given beside the promoters it has too.

bigbird's scores are measured as they are and calibrated (Platt, fitted on the validation side).

FOLDER/fold1/{train,valid,test}.tsv and FOLDER/results.json; what is there already is not made again. Prints a table in
Markdown. Needs torch and numpy; the checkout is imported as it is."""

import argparse
import copy
import gzip
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time
import types

BLOCKS, CHANGED = 20, 12
PEER_EPOCHS, PEER_RATE, PEER_BATCH = 20, 1e-3, 32
WINDOW_EPOCHS = 5


def promoters_of(path):
    with gzip.open(path, "rt") if str(path).endswith(".gz") else open(path) as file:
        found = [line.strip().upper() for line in file if line.strip()]
    if len({len(sequence) for sequence in found}) != 1:
        sys.exit(f"{path}: sequences of several lengths")
    return sorted(set(found))


def negative_of(sequence, rng):
    size = len(sequence) // BLOCKS
    bases = list(sequence)
    for block in rng.sample(range(BLOCKS), CHANGED):
        bases[block * size:(block + 1) * size] = rng.choices("ACGT", k=size)
    return "".join(bases)


def write_fold(folder, promoters, fold, folds):
    order = list(range(len(promoters)))
    random.Random(1).shuffle(order)
    test = set(order[fold::folds])
    others = [i for i in order if i not in test]
    valid = set(others[::8])
    sides = {"train": [i for i in others if i not in valid], "valid": sorted(valid), "test": sorted(test)}
    folder.mkdir(parents=True, exist_ok=True)
    for side, members in sides.items():
        rows = ["id\tsequence\tlabel"]
        for i in members:
            rows.append(f"p{i}\t{promoters[i]}\t1")
            rows.append(f"p{i}:negative\t{negative_of(promoters[i], random.Random(f'negative {i}'))}\t0")
        (folder / f"{side}.tsv").write_text("\n".join(rows) + "\n")


def rows_of(file):
    rows = [line.split("\t") for line in file.read_text().splitlines()[1:]]
    return [row[1] for row in rows], [int(row[2]) for row in rows]


def metrics_of(labels, scores):
    """F1 and MCC at a half, AUROC with ties as halves."""
    calls = [score > 0.5 for score in scores]
    tp = sum(1 for label, call in zip(labels, calls) if label and call)
    fp = sum(1 for label, call in zip(labels, calls) if not label and call)
    fn = sum(1 for label, call in zip(labels, calls) if label and not call)
    tn = len(labels) - tp - fp - fn
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    order = sorted(range(len(labels)), key=lambda i: scores[i])
    ranks, at = [0.0] * len(labels), 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        for i in order[at:end]:
            ranks[i] = (at + end + 1) / 2
        at = end
    positives = sum(labels)
    negatives = len(labels) - positives
    area = (sum(rank for rank, label in zip(ranks, labels) if label) - positives * (positives + 1) / 2) / (positives * negatives)
    return {"f1": 2 * tp / max(1, 2 * tp + fp + fn), "mcc": (tp * tn - fp * fn) / below**0.5 if below else 0.0, "auroc": area}


def peer_module(checkout):
    # Its module imports torchvision and uses none of it.
    for name in ("torchvision", "torchvision.transforms", "torchvision.utils"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    sys.modules["torchvision"].utils = sys.modules["torchvision.utils"]
    sys.path.insert(0, str(checkout))
    from modules.deepromoter import DeePromoter

    return DeePromoter


def one_hot(sequences):
    import torch

    codes = torch.tensor([["ACGT".find(base) for base in sequence] for sequence in sequences])
    return torch.nn.functional.one_hot(codes.clamp(min=0), 4).float()  # any other letter as A, as its own reader has it


def peer_epoch(net, optimizer, positives, rng):
    """One pass over the positives, each batch with as many negatives that are made for it."""
    import torch

    first, second = torch.randperm(len(positives)), torch.randperm(len(positives))
    for at in range(0, len(positives), PEER_BATCH):
        good = one_hot([positives[i] for i in first[at:at + PEER_BATCH]])
        bad = one_hot([negative_of(positives[i], rng) for i in second[at:at + PEER_BATCH]])
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(torch.cat([good, bad])), torch.tensor([1] * len(good) + [0] * len(bad)))
        loss.backward()
        optimizer.step()


def peer_of_windows(checkout, windows, kept):
    """The peer's weights after the windows; they are kept for the next fold."""
    import torch

    if kept.exists():
        return torch.load(kept)
    torch.manual_seed(0)
    net = peer_module(checkout)([27, 14, 7])
    optimizer = torch.optim.Adam(net.parameters(), lr=PEER_RATE)
    sequences = [line.strip() for line in open(windows) if not line.startswith(">")]
    rng = random.Random("windows")
    for _ in range(WINDOW_EPOCHS):
        peer_epoch(net, optimizer, sequences, rng)
    torch.save(net.state_dict(), kept)
    return net.state_dict()


def run_peer(checkout, folder, epochs, seed, begun=None):
    import torch

    torch.manual_seed(seed)
    rng = random.Random(f"peer {seed}")
    begin = time.perf_counter()
    net = peer_module(checkout)([27, 14, 7])
    if begun:
        net.load_state_dict(begun)
    optimizer = torch.optim.Adam(net.parameters(), lr=PEER_RATE)
    sequences, labels = rows_of(folder / "train.tsv")
    positives = [sequence for sequence, label in zip(sequences, labels) if label]
    sides = {side: rows_of(folder / f"{side}.tsv") for side in ("valid", "test")}
    encoded = {side: one_hot(rows[0]) for side, rows in sides.items()}

    def scores(side):
        net.eval()
        with torch.no_grad():
            out = torch.cat([net(part)[:, 1] for part in encoded[side].split(256)])
        net.train()
        return out.tolist()

    best, state, chosen = -2.0, None, 0
    for epoch in range(epochs):
        peer_epoch(net, optimizer, positives, rng)
        mcc = metrics_of(sides["valid"][1], scores("valid"))["mcc"]
        if mcc > best:
            best, state, chosen = mcc, copy.deepcopy(net.state_dict()), epoch + 1
    net.load_state_dict(state)
    return {**metrics_of(sides["test"][1], scores("test")), "valid_mcc": best, "epoch": chosen,
            "seconds": time.perf_counter() - begin}


def run_bigbird(program, init, folder, words):
    begin = time.perf_counter()
    subprocess.run([program, "promoter", "finetune", "--train", folder / "train.tsv", "--valid", folder / "valid.tsv", "--init",
                    init, "-o", folder / "run", "--resume", *words], check=True)
    seconds = time.perf_counter() - begin
    return {**metrics_of(*predictions_of(program, folder, "none")), "seconds": seconds}


def predictions_of(program, folder, calibrated):
    """Labels and scores of the test side."""
    model = folder / "run/final"
    if calibrated != "none" and not (model / "calibration.json").exists():
        subprocess.run([program, "promoter", "calibrate", "-q", "-m", model, "--valid", folder / "valid.tsv", "-o",
                        folder / "calibration.tsv"], check=True)
    table = subprocess.run([program, "promoter", "predict", "-q", "-m", model, "--strands", "+", "--calibrated", calibrated, "--data",
                            folder / "test.tsv"], check=True, capture_output=True, text=True).stdout
    scores = [float(line.split("\t")[-1]) for line in table.splitlines()[1:]]
    labels = rows_of(folder / "test.tsv")[1]
    if len(scores) != len(labels):
        sys.exit(f"{folder}: {len(scores)} scores of {len(labels)} windows")
    return labels, scores


def run_calibrated(program, folder):
    return {**metrics_of(*predictions_of(program, folder, "platt")), "seconds": 0}


def main():
    own = sys.argv[1:]
    words = own[own.index("--") + 1:] if "--" in own else []
    own = own[:own.index("--")] if "--" in own else own
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("positives", type=pathlib.Path)
    parser.add_argument("--peer", type=pathlib.Path, help="checkout of egochao/DeePromoter; without it bigbird runs alone")
    parser.add_argument("--peer-epochs", type=int, default=PEER_EPOCHS)
    parser.add_argument("--windows", type=pathlib.Path, help="windows of a genome that the peer may learn from first")
    parser.add_argument("--init", help="pretrained model folder; without it the peer runs alone")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", default="", help="folds to run, as 1,2")
    parser.add_argument("--program", default="build/release/bin/bigbird")
    arguments = parser.parse_args(own)
    promoters = promoters_of(arguments.positives)
    chosen = [int(word) for word in arguments.only.split(",") if word] or list(range(1, arguments.folds + 1))
    kept = arguments.work / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for fold in chosen:
        folder = arguments.work / f"fold{fold}"
        if not (folder / "test.tsv").exists():
            write_fold(folder, promoters, fold - 1, arguments.folds)
        for name, wanted, run in (("DeePromoter", arguments.peer, lambda: run_peer(arguments.peer, folder, arguments.peer_epochs, fold)),
                                  ("DeePromoter, windows first", arguments.peer and arguments.windows,
                                   lambda: run_peer(arguments.peer, folder, arguments.peer_epochs, fold, peer_of_windows(
                                       arguments.peer, arguments.windows, arguments.work / "peer_windows.pt"))),
                                  ("bigbird", arguments.init, lambda: run_bigbird(arguments.program, arguments.init, folder, words)),
                          ("bigbird, calibrated", arguments.init, lambda: run_calibrated(arguments.program, folder))):
            key = f"{name} {fold}"
            if wanted and key not in results:
                results[key] = run()
                kept.write_text(json.dumps(results, indent=1))
    print("| fold | program | F1 | MCC | AUROC | seconds |")
    print("|---|---|---|---|---|---|")
    for name in ("DeePromoter", "DeePromoter, windows first", "bigbird", "bigbird, calibrated"):
        rows = [(fold, results[f"{name} {fold}"]) for fold in chosen if f"{name} {fold}" in results]
        for fold, row in rows:
            print(f"| {fold} | {name} | {row['f1']:.4f} | {row['mcc']:.4f} | {row['auroc']:.4f} | {round(row['seconds']) or ''} |")
        if len(rows) > 1:
            mean = {key: statistics.mean(row[key] for _, row in rows) for key in ("f1", "mcc", "auroc", "seconds")}
            print(f"| mean | {name} | {mean['f1']:.4f} | {mean['mcc']:.4f} | {mean['auroc']:.4f} | {round(mean['seconds']) or ''} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
