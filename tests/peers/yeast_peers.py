#!/usr/bin/env python3
"""What a biologist would train on the yeast data of pipelines/yeast.sh: convolutional networks, on the files that bigbird's own verbs
made, for as many CPU minutes as bigbird took. `bigbird promoter evaluate`, `chromatin evaluate` and `variants evaluate` measure what
these scripts predict, so that one program measures all.

    python tests/peers/yeast_peers.py promoters DATA -o predictions.tsv [--model cnn|deepromoter] [--checkout DEEPROMOTER] [--track OUT.bedgraph
        --genome GENOME.fa.gz --contigs chrX --left 250 --right 50 --step 50]
    python tests/peers/yeast_peers.py tracks DATA GENOME.fa.gz -o predictions.npy [--split test] [--variants TABLE.tsv.gz --scores OUT.tsv]

    python tests/peers/yeast_peers.py motifs PEAKS.bed.gz GENOME.fa.gz --contigs chrI,chrIII --variants TABLE.tsv.gz -o scores.tsv [--targets Abf1,Reb1]
    python tests/peers/yeast_peers.py masked ENCODER GENOME.fa.gz --variants TABLE.tsv.gz -o scores.tsv

    python tests/peers/yeast_peers.py orfs GENOME.fa.gz -o calls.bed --contigs chrX [--before 39] [--codons 100]
    python tests/peers/yeast_peers.py rank TRACK.bedgraph|CALLS.bed --tss TSS.bed.gz [--within 100] [--merge-distance 200] [--exclude COPIES.bed]

    promoters and tracks take --minutes of CPU on one thread (10), --seed (1); tracks --state FILE, to go on where it stopped.

promoters: DATA is a folder of `promoter build`. `cnn` has two layers of filters (15 and 7 bases wide), the maximum over places, and a dense
layer; `deepromoter` is the public code (github.com/egochao/DeePromoter, Oubounyt et al. 2019; --checkout), kernels 27, 14 and 7. Adam 1e-3,
batches of 64, the state of best validation loss. deepromoter's batches are half promoters, as it was published, and its validation loss
counts both classes alike: its softmax before the loss cannot leave "none is a promoter" when one in eleven is. Scores are moved so that
0.5 is the threshold of highest MCC on the validation side. --track slides the network along contigs, the higher score of both strands.

tracks: DATA is a folder of `chromatin build`, the network DeepSEA's (Zhou and Troyanskaya 2015): 320, 480 and 960 filters 8 wide, pools of 4,
dropout 0.2, 0.2 and 0.5, a dense layer of 925; --filters 64,96,192 makes it smaller and faster. Each window or its reverse complement, by a coin; predictions are the mean of both. --variants
scores the rows of a table with chrom, pos, ref and alt: the change of every track's logit, REF and ALT in windows around the variant.

motifs: for each target a matrix of fourteen bases that its peaks have and their flanks 500 bases away have not, learned on --contigs; the change of
the best match's log odds over the bases around the variant, a column a target, `strongest` the largest of them by size.
masked: log p(ALT) - log p(REF) of an encoder of bases (a model folder of bigbird, whose `fill-mask` is run) with the variant's base hidden, the
mean of both strands; alleles of one base only. No label and no conservation is seen.
orfs: a call so many bases before the ATG of every open reading frame of both strands, from the first ATG after a stop on, scored by its codons.
rank: the precision of calls at a recall of 0.5, the best F1, and of a track the average precision of positions, as `promoter scan --tss` has
them (lib/genomics/promoter/scan_ranking.h), so that tracks of other programs stand beside it.

Needs torch and numpy."""

import argparse
import copy
import csv
import gzip
import json
import math
import pathlib
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

LETTERS = np.full(256, 4, np.uint8)
for number, letter in enumerate("ACGT"):
    LETTERS[ord(letter)] = number
COMPLEMENT = np.array([3, 2, 1, 0, 4], np.uint8)


def open_text(path):
    return gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)


def table_of(path):
    """Rows of a tab-separated table whose header may begin with #, behind lines that begin with ##."""
    with open_text(path) as file:
        lines = (line for line in file if not line.startswith("##"))
        names = next(lines).rstrip("\n").lstrip("#").split("\t")
        return list(csv.DictReader(lines, fieldnames=names, delimiter="\t"))


def letters_of(text):
    return LETTERS[np.frombuffer(text.upper().encode(), np.uint8)]


def genome_of(path):
    contigs, name = {}, None
    with open_text(path) as file:
        for line in file:
            if line.startswith(">"):
                name = line[1:].split()[0]
                contigs[name] = []
            else:
                contigs[name].append(line.strip())
    return {name: letters_of("".join(lines)) for name, lines in contigs.items()}


def one_hot(letters):
    return functional.one_hot(torch.from_numpy(letters).long(), 5)[..., :4].float().transpose(1, 2)


def reverse_complement(letters):
    return COMPLEMENT[letters[..., ::-1]]


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(4, 128, 15, padding=7)
        self.second = nn.Conv1d(128, 128, 7, padding=3)
        self.dense = nn.Linear(256, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        x = functional.max_pool1d(functional.relu(self.first(x)), 4)
        x = functional.dropout(functional.relu(self.second(x)), 0.2, self.training)
        x = torch.cat([x.amax(2), x.mean(2)], 1)
        return self.out(functional.dropout(functional.relu(self.dense(x)), 0.3, self.training))[:, 0]


def deepromoter(checkout, length):
    sys.modules.setdefault("torchvision", type(sys)("torchvision"))  # imported there, and not used
    sys.modules["torchvision"].transforms = sys.modules["torchvision"].utils = None
    sys.path.insert(0, str(checkout))
    from modules.deepromoter import DeePromoter

    class Logit(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = DeePromoter([27, 14, 7], (64, length, 4))

        def forward(self, x):
            two = self.net(x.transpose(1, 2))
            return two[:, 1] - two[:, 0]

    return Logit()


class DeepSea(nn.Module):
    def __init__(self, filters, window, tracks):
        super().__init__()
        a, b, c = filters
        self.layers = nn.ModuleList([nn.Conv1d(4, a, 8), nn.Conv1d(a, b, 8), nn.Conv1d(b, c, 8)])
        left = ((window - 7) // 4 - 7) // 4 - 7
        self.dense = nn.Linear(c * left, 925)
        self.out = nn.Linear(925, tracks)

    def forward(self, x):
        for layer, dropout, pool in zip(self.layers, (0.2, 0.2, 0.5), (4, 4, 1)):
            x = functional.dropout(functional.max_pool1d(functional.relu(layer(x)), pool), dropout, self.training)
        return self.out(functional.relu(self.dense(x.flatten(1))))


def fit(net, draw, valid_loss, minutes, rate, path=None, draws=None):
    """The state of lowest validation loss after so many minutes of CPU, those of validation not counted. `path`: goes on from what this
    file has, and writes it at every check; `draws` then holds what draw() goes by: "rng" and "order"."""
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    spent, updates, best, kept = 0.0, 0, math.inf, None
    checks = 12
    if path and pathlib.Path(path).exists():
        saved = torch.load(path, weights_only=False)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        torch.set_rng_state(saved["torch"])
        draws["rng"].bit_generator.state = saved["rng"]
        draws["order"][:] = saved["order"]
        spent, updates, best, kept = (saved[name] for name in ("spent", "updates", "best", "kept"))
    while spent < 60 * minutes:
        begun = time.process_time()
        x, y = draw()
        net.train()
        loss = functional.binary_cross_entropy_with_logits(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updates += 1
        before = int(checks * spent / (60 * minutes))
        spent += time.process_time() - begun
        if int(checks * spent / (60 * minutes)) > before:
            net.eval()
            with torch.no_grad():
                measured = valid_loss()
            print(f"{spent:.0f} s of CPU, {updates} updates: validation loss {measured:.5f}", file=sys.stderr)
            if measured < best:
                best, kept = measured, copy.deepcopy(net.state_dict())
            if path:
                torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "torch": torch.get_rng_state(),
                            "rng": draws["rng"].bit_generator.state, "order": draws["order"], "spent": spent, "updates": updates,
                            "best": best, "kept": kept}, f"{path}.tmp")
                pathlib.Path(f"{path}.tmp").replace(path)
    net.load_state_dict(kept)
    net.eval()
    return net, updates, best


def in_batches(net, letters, size=256):
    with torch.no_grad():
        return np.concatenate([net(one_hot(letters[i:i + size])).numpy() for i in range(0, len(letters), size)])


def best_threshold(logits, labels):
    """That of the highest MCC, halfway to the next logit below it."""
    order = np.argsort(-logits, kind="stable")
    sorted_logits, positives = logits[order], np.cumsum(labels[order].astype(float))
    called, all_positives = np.arange(1, len(logits) + 1), labels.sum()
    negatives = len(labels) - all_positives
    missed = all_positives - positives
    true_negatives = negatives - (called - positives)
    below = called * (len(labels) - called) * all_positives * negatives
    mcc = (positives * true_negatives - (called - positives) * missed) / np.sqrt(np.maximum(below, 1))
    mcc[:-1][sorted_logits[:-1] == sorted_logits[1:]] = -1  # equal logits are called together
    best = int(mcc[:-1].argmax())
    return float(sorted_logits[best] + sorted_logits[best + 1]) / 2


def promoters(options):
    def side(name):
        rows = table_of(pathlib.Path(options.data) / f"{name}.tsv")
        return rows, np.stack([letters_of(row["sequence"]) for row in rows]), np.array([float(row["label"]) for row in rows], np.float32)

    rng = np.random.default_rng(options.seed)
    _, x, y = side("train")
    _, valid_x, valid_y = side("valid")
    balanced = options.model == "deepromoter"
    net = deepromoter(options.checkout, x.shape[1]) if balanced else Cnn()
    # Each kind of window in an order of its own, anew when it is through.
    kinds = [(np.flatnonzero(y == label), 32) for label in (0, 1)] if balanced else [(np.arange(len(x)), 64)]
    orders = [[] for _ in kinds]

    def draw():
        picked = []
        for order, (members, count) in zip(orders, kinds):
            if len(order) < count:
                order[:] = rng.permutation(members)
            picked += [order.pop() for _ in range(count)]
        return one_hot(x[picked]), torch.from_numpy(y[picked])

    def valid_loss():
        losses = functional.binary_cross_entropy_with_logits(
            torch.from_numpy(in_batches(net, valid_x)), torch.from_numpy(valid_y), reduction="none").numpy()
        return float(np.mean([losses[valid_y == label].mean() for label in (0, 1)]) if balanced else losses.mean())

    net, updates, loss = fit(net, draw, valid_loss, options.minutes, 1e-3)
    moved = best_threshold(in_batches(net, valid_x), valid_y)

    def probabilities(windows):
        return 1 / (1 + np.exp(moved - in_batches(net, windows)))

    rows, test_x, test_y = side("test")
    scores = probabilities(test_x)
    with open(options.output, "w") as file:
        file.write("id\tchrom\tstart\tend\tlabel\tscore\n")  # the places, for --exclude
        for row, label, score in zip(rows, test_y, scores):
            place = "\t".join(row[name] for name in ("id", "chrom", "start", "end"))
            file.write(f"{place}\t{int(label)}\t{score:.7g}\n")
    print(json.dumps({"model": options.model, "seed": options.seed, "cpu_minutes": options.minutes, "updates": updates, "validation_loss": loss}))
    if not options.track:
        return
    genome = genome_of(options.genome)
    with open(options.track, "w") as file:
        for contig in options.contigs.split(","):
            bases = genome[contig]
            places = [p for p in range(0, len(bases), options.step)
                      if min(p - options.left, p - options.right + 1) >= 0 and max(p + options.right, p + options.left + 1) <= len(bases)]
            best = np.full(len(places), -np.inf, np.float32)
            for strand in "+-":
                for first in range(0, len(places), 4096):
                    part = places[first:first + 4096]
                    if strand == "+":
                        windows = np.stack([bases[p - options.left:p + options.right] for p in part])
                    else:
                        windows = reverse_complement(np.stack([bases[p - options.right + 1:p + options.left + 1] for p in part]))
                    best[first:first + len(part)] = np.maximum(best[first:first + len(part)], probabilities(windows))
            for place, score in zip(places, best):
                file.write(f"{contig}\t{place}\t{min(place + options.step, len(bases))}\t{score:.7g}\n")


def tracks(options):
    data = pathlib.Path(options.data)
    manifest = json.loads((data / "manifest.json").read_text())
    with open_text(data / "bins.bed.gz") as file:
        bins = [line.split("\t") for line in file if not line.startswith("#")]
    with open(data / "profiles.tsv") as file:
        names = [line.split("\t")[1] for line in file if line[0].isdigit()]
    labels = np.unpackbits(np.load(data / "labels.npy"), axis=1, bitorder="little")[:, :len(names)]
    genome = genome_of(options.genome)
    window = manifest["window"]["length"] if isinstance(manifest.get("window"), dict) else options.window
    side = np.array([row[3].strip() for row in bins])

    def windows(numbers):
        found = np.empty((len(numbers), window), np.uint8)
        for i, number in enumerate(numbers):
            contig, begin, end = bins[number][0], int(bins[number][1]), int(bins[number][2])
            first = (begin + end) // 2 - window // 2
            first = max(0, min(first, len(genome[contig]) - window))
            found[i] = genome[contig][first:first + window]
        return found

    rng = np.random.default_rng(options.seed)
    train, valid = np.flatnonzero(side == "train"), np.flatnonzero(side == "valid")
    net = DeepSea([int(n) for n in options.filters.split(",")], window, len(names))
    share = labels[train].mean(0)
    with torch.no_grad():
        net.out.bias.copy_(torch.from_numpy(np.log((share + 1e-4) / (1 - share))).float())
    order = []

    def draw():
        if len(order) < 64:
            order[:] = rng.permutation(train)
        picked = [order.pop() for _ in range(64)]
        x = windows(picked)
        flipped = rng.random(64) < 0.5
        x[flipped] = reverse_complement(x[flipped])
        return one_hot(x), torch.from_numpy(labels[picked].astype(np.float32))

    some = rng.permutation(valid)[:1500]

    def valid_loss():
        logits = torch.from_numpy(in_batches(net, windows(some)))
        return functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(labels[some].astype(np.float32))).item()

    net, updates, loss = fit(net, draw, valid_loss, options.minutes, options.rate, options.state, {"rng": rng, "order": order})

    def probabilities(x):
        both = [1 / (1 + np.exp(-in_batches(net, strand))) for strand in (x, reverse_complement(x))]
        return (both[0] + both[1]) / 2

    asked = np.flatnonzero(side == options.split)
    predicted = np.concatenate([probabilities(windows(asked[i:i + 1024])) for i in range(0, len(asked), 1024)])
    np.save(options.output, predicted.astype(np.float32))
    print(json.dumps({"model": "deepsea", "filters": options.filters, "seed": options.seed, "cpu_minutes": options.minutes, "updates": updates, "validation_loss": loss}))
    if options.variants:
        score_variants(net, genome, window, names, options)


def score_variants(net, genome, window, names, options):
    """Per row of a table with chrom, pos (1-based), ref, alt: the mean over both strands of logit(ALT) - logit(REF), a column a track,
    the strongest of them first."""
    with open(options.scores, "w") as file:
        file.write("\t".join(["chrom", "pos", "ref", "alt", "strongest"] + names) + "\n")
        for chrom, pos, ref, alt in alleles_of(options.variants):
            bases, at = genome[chrom], int(pos) - 1
            first = at - window // 2
            if first < 0 or first + window + len(ref) > len(bases):
                continue
            old = bases[first:first + window]
            behind = bases[at + len(ref):at + len(ref) + window]
            new = np.concatenate([bases[first:at], letters_of(alt), behind])[:window]
            both = np.stack([old, new])
            change = [np.subtract(*in_batches(net, strand)[::-1]) for strand in (both, reverse_complement(both))]
            means = (change[0] + change[1]).ravel() / 2
            file.write("\t".join([chrom, pos, ref, alt] + [f"{value:.6g}" for value in [max(means, key=abs), *means]]) + "\n")


def alleles_of(path):
    """(chrom, 1-based position, ref, alt), each once, of a table with such columns."""
    rows = table_of(path)
    columns = {name.lower(): name for name in rows[0]}
    key = [columns["chrom"], columns.get("pos1") or columns["pos"], columns["ref"], columns["alt"]]
    return list(dict.fromkeys(tuple(row[name] for name in key) for row in rows))


WIDTH = 14  # bases of a motif
TARGETS = "Abf1,Cbf1,Cin5,Fkh1,Gcn4,Hsf1,Mbp1,Mcm1,Rap1,Reb1,Skn7,Ste12,Sut1,Swi4,Tbf1,Ume6"


def dyads_in(letters, gap):
    """Three bases, so many more, and three bases, at every place of [sequences, bases], as numbers; -1 where one is an N."""
    at = np.array([0, 1, 2, gap + 3, gap + 4, gap + 5])
    windows = np.lib.stride_tricks.sliding_window_view(letters, gap + 6, axis=1)[:, :, at]
    return np.where((windows == 4).any(2), -1, (windows.astype(np.int64) << (2 * np.arange(6))).sum(2))


def motif_of(near, far):
    """A matrix [WIDTH, 4] of log odds. It begins at the pair of three bases (van Helden et al. 2000) that most windows near a peak have more
    often than those far away, and is then made of the best matches."""
    both = [np.concatenate([side, reverse_complement(side)], 1) for side in (near, far)]
    best = (-np.inf, 0, 0)
    for gap in range(WIDTH - 6):
        share = [sum((np.bincount(np.unique(row[row >= 0]), minlength=4 ** 6) for row in dyads_in(side, gap)), np.zeros(4 ** 6)) / len(side)
                 for side in both]
        gain = (share[0] - share[1]) / np.sqrt(share[0] + share[1] + 0.05)
        best = max(best, (gain.max(), gap, int(gain.argmax())))
    _, gap, seed = best
    first = (WIDTH - 6 - gap) // 2
    places = first + np.array([0, 1, 2, gap + 3, gap + 4, gap + 5])
    matrix = np.zeros((WIDTH, 4))
    matrix[places] = math.log(0.1 / 0.25)
    matrix[places, (seed >> (2 * np.arange(6))) & 3] = math.log(0.7 / 0.25)
    background = np.bincount(far[far < 4], minlength=4) / (far < 4).sum()
    windows = np.lib.stride_tricks.sliding_window_view(both[0], WIDTH, axis=1)
    for _ in range(8):  # the best match of each window that has one better than almost all windows far away
        threshold = np.quantile(best_match(matrix, far), 0.95)
        scores = matches(matrix, both[0])
        chosen = windows[np.arange(len(windows)), scores.argmax(1)][scores.max(1) > threshold]
        if len(chosen) < 10:
            break
        found = np.stack([(chosen == base).sum(0) for base in range(4)], 1) + 1.0
        matrix = np.log(found / found.sum(1, keepdims=True) / background)
    return matrix


def matches(matrix, letters):
    """Log odds of the matrix at every place of [sequences, bases]; low where there is an N."""
    table = np.concatenate([matrix, np.full((WIDTH, 1), -9.0)], 1)
    windows = np.lib.stride_tricks.sliding_window_view(letters, WIDTH, axis=1)
    return table[np.arange(WIDTH), windows].sum(2)


def best_match(matrix, letters):
    return np.maximum(matches(matrix, letters).max(1), matches(matrix, reverse_complement(letters)).max(1))


def motifs(options):
    genome, learns = genome_of(options.genome), set(options.contigs.split(","))
    peaks = {}
    with open_text(options.peaks) as file:
        for line in file:
            chrom, begin, _, name = line.split("\t")[:4]
            if chrom in learns and 600 <= int(begin) < len(genome[chrom]) - 600:
                peaks.setdefault(name, []).append((chrom, int(begin)))

    def around(places, shift):
        return np.stack([genome[chrom][at + shift - 25:at + shift + 25] for chrom, at in places])

    targets = options.targets.split(",")
    matrices = []
    for target in targets:
        far = np.concatenate([around(peaks[target], -500), around(peaks[target], 500)])
        matrices.append(motif_of(around(peaks[target], 0), far[:len(peaks[target])]))
        print(target, "".join("ACGT"[base] for base in matrices[-1].argmax(1)), len(peaks[target]), "peaks", file=sys.stderr)
    with open(options.output, "w") as file:
        file.write("\t".join(["chrom", "pos", "ref", "alt", "strongest"] + targets) + "\n")
        for chrom, pos, ref, alt in alleles_of(options.variants):
            bases, at = genome[chrom], int(pos) - 1
            left, right = bases[max(0, at - WIDTH + 1):at], bases[at + len(ref):at + len(ref) + WIDTH - 1]
            old, new = (np.concatenate([left, letters_of(allele), right])[None] for allele in (ref, alt))
            if min(old.shape[1], new.shape[1]) < WIDTH:
                continue
            # Below zero nothing binds: a change there is none.
            change = [max(0.0, best_match(m, new)[0]) - max(0.0, best_match(m, old)[0]) for m in matrices]
            file.write("\t".join([chrom, pos, ref, alt] + [f"{value:.6g}" for value in [max(change, key=abs)] + change]) + "\n")


def masked(options):
    genome, reach = genome_of(options.genome), 511
    alleles = [a for a in alleles_of(options.variants) if len(a[2]) == len(a[3]) == 1 and reach < int(a[1]) <= len(genome[a[0]]) - reach]
    texts = []
    for chrom, pos, _, _ in alleles:
        window = genome[chrom][int(pos) - 1 - reach:int(pos) + reach]
        for strand in (window, reverse_complement(window)):
            text = "".join("ACGTN"[letter] for letter in strand)
            texts.append(text[:reach] + "[MASK]" + text[reach + 1:])
    done = subprocess.run([options.bigbird, "fill-mask", "-q", "-m", options.encoder, "-", "--top", "10"], input="\n".join(texts) + "\n",
                          capture_output=True, text=True, check=True)
    lines = [line.lstrip("#").split("\t") for line in done.stdout.splitlines() if not line.startswith("##")]
    at = {name: i for i, name in enumerate(lines[0])}
    likely = [{} for _ in texts]
    for line in lines[1:]:
        likely[int(line[at["sequence"]].removeprefix("line")) - 1][line[at["piece"]]] = float(line[at["probability"]])
    with open(options.output, "w") as file:
        file.write("chrom\tpos\tref\talt\tllr\n")
        for i, (chrom, pos, ref, alt) in enumerate(alleles):
            forward, reverse = likely[2 * i], likely[2 * i + 1]
            turned = dict(zip("ACGT", "TGCA"))
            llr = (math.log(forward[alt] / forward[ref]) + math.log(reverse[turned[alt]] / reverse[turned[ref]])) / 2
            file.write(f"{chrom}\t{pos}\t{ref}\t{alt}\t{llr:.6g}\n")


STOPS = {"TAA", "TAG", "TGA"}


def frames_of(text):
    """(base of the A of ATG, codons) of the open reading frames of one strand; the stop counts, frames without one do not."""
    for frame in range(3):
        begin = None
        for at in range(frame, len(text) - 2, 3):
            codon = text[at:at + 3]
            if codon in STOPS:
                if begin is not None:
                    yield begin, (at + 3 - begin) // 3
                begin = None
            elif begin is None and codon == "ATG":
                begin = at


def orfs(options):
    genome = genome_of(options.genome)
    with open(options.output, "w") as file:
        for contig in options.contigs.split(","):
            calls = []
            for strand in "+-":
                letters = genome[contig] if strand == "+" else reverse_complement(genome[contig])
                for begin, codons in frames_of("".join("ACGTN"[letter] for letter in letters)):
                    tss = begin - options.before
                    if codons < options.codons or tss < 0:
                        continue
                    calls.append((tss if strand == "+" else len(letters) - 1 - tss, codons, strand))
            for tss, codons, strand in sorted(calls):
                file.write(f"{contig}\t{tss}\t{tss + 1}\torf\t{codons}\t{strand}\n")


def without_neighbours(places, scores, distance):
    """Of maxima so near to each other the strongest stays, of equal ones the first: strongest first."""
    kept = []
    for i in sorted(range(len(places)), key=lambda i: (-scores[i], places[i])):
        if all(abs(places[i] - places[k]) > distance for k in kept):
            kept.append(i)
    return sorted(kept)


def local_maxima(places, scores, step):
    found, i = [], 0
    while i < len(places):
        last = i
        while last + 1 < len(places) and scores[last + 1] == scores[i] and places[last + 1] - places[last] == step:
            last += 1
        before = i == 0 or places[i] - places[i - 1] != step or scores[i - 1] < scores[i]
        behind = last + 1 == len(places) or places[last + 1] - places[last] != step or scores[last + 1] < scores[i]
        if before and behind:
            found.append(i)
        i = last + 1
    return found


def rank(options):
    rows, is_track = {}, None
    with open_text(options.scores) as file:
        for line in file:
            if line.startswith(("#", "track")):
                continue
            fields = line.split("\t")
            is_track = len(fields) == 4
            rows.setdefault(fields[0], []).append((int(fields[1]), int(fields[2]) - int(fields[1]), float(fields[3 if is_track else 4])))
    left_out = {}
    if options.exclude:
        with open_text(options.exclude) as file:
            for line in file:
                if not line.startswith("#"):
                    fields = line.split("\t")
                    left_out.setdefault(fields[0], []).append((int(fields[1]), int(fields[2])))

    def counts(contig, base):
        return not any(begin <= base < end for begin, end in left_out.get(contig, []))

    sites = {}
    with open_text(options.tss) as file:
        for line in file:
            fields = line.split("\t")
            if fields[0] in rows:
                sites.setdefault(fields[0], set()).add(int(fields[1]))
    near, far, calls, found_from, all_sites = [], [], [], [], 0
    for contig, listed in rows.items():
        listed.sort()
        # bedGraphs join neighbours of the same score: taken apart into steps again
        step = min(width for _, width, _ in listed)
        if is_track:
            listed = [(at, step, score) for begin, width, score in listed for at in range(begin, begin + width, step)]
        places, scores = [row[0] for row in listed], [row[2] for row in listed]
        known = np.array(sorted(sites.get(contig, ())))
        if is_track:
            for place, score in zip(places, scores):
                if counts(contig, place):
                    (near if len(known) and np.abs(known - place).min() <= options.within else far).append(score)
        picked = local_maxima(places, scores, step) if is_track else range(len(places))
        picked = list(picked)
        kept = without_neighbours([places[i] for i in picked], [scores[i] for i in picked], options.merge_distance)
        mine = [(places[picked[k]], scores[picked[k]]) for k in kept]
        at = np.array([place for place, _ in mine])
        high = np.array([score for _, score in mine])
        for site in known:
            if not counts(contig, site):
                continue
            all_sites += 1
            agree = high[np.abs(at - site) <= options.within] if len(at) else high
            if len(agree):
                found_from.append(agree.max())
        for place, score in mine:
            if counts(contig, place):
                calls.append((score, bool(len(known)) and np.abs(known - place).min() <= options.within))
    calls.sort(key=lambda call: -call[0])
    found_from.sort(reverse=True)
    result = {"tss": all_sites, "calls": len(calls), "recall": len(found_from) / max(1, all_sites)}
    right = found = i = 0
    best = 0.0
    while i < len(calls):
        threshold = calls[i][0]
        while i < len(calls) and calls[i][0] == threshold:
            right += calls[i][1]
            i += 1
        while found < len(found_from) and found_from[found] >= threshold:
            found += 1
        precision, recall = right / i, found / max(1, all_sites)
        if 2 * found >= all_sites and "precision_at_recall_50" not in result:
            result["precision_at_recall_50"] = precision
        best = max(best, 2 * precision * recall / (precision + recall) if found else 0.0)
    result["best_f1"] = best
    if is_track:
        scores = np.array(near + far)
        labels = np.array([1] * len(near) + [0] * len(far))
        order = np.argsort(-scores, kind="stable")
        scores, labels = scores[order], labels[order]
        last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
        right = np.cumsum(labels)[last]
        result["average_precision"] = float((np.diff(np.append(0, right)) * right / (last + 1)).sum() / max(1, labels.sum()))
        result["positions"] = len(scores)
    print(json.dumps(result))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    for name, work in (("promoters", promoters), ("tracks", tracks)):
        verb = verbs.add_parser(name)
        verb.set_defaults(work=work)
        verb.add_argument("data")
        verb.add_argument("-o", "--output", required=True)
        verb.add_argument("--minutes", type=float, default=10)
        verb.add_argument("--seed", type=int, default=1)
        if name == "promoters":
            verb.add_argument("--model", choices=["cnn", "deepromoter"], default="cnn")
            verb.add_argument("--checkout")
            verb.add_argument("--track")
            verb.add_argument("--genome")
            verb.add_argument("--contigs", default="")
            verb.add_argument("--left", type=int, default=250)
            verb.add_argument("--right", type=int, default=50)
            verb.add_argument("--step", type=int, default=50)
        else:
            verb.add_argument("genome")
            verb.add_argument("--filters", default="320,480,960")
            verb.add_argument("--rate", type=float, default=1e-3)
            verb.add_argument("--state")
            verb.add_argument("--window", type=int, default=1000)
            verb.add_argument("--split", default="test")
            verb.add_argument("--variants")
            verb.add_argument("--scores")
    for name, work, first in (("motifs", motifs, "peaks"), ("masked", masked, "encoder")):
        verb = verbs.add_parser(name)
        verb.set_defaults(work=work, seed=1)
        verb.add_argument(first)
        verb.add_argument("genome")
        verb.add_argument("--variants", required=True)
        verb.add_argument("-o", "--output", required=True)
        if name == "motifs":
            verb.add_argument("--contigs", required=True)
            verb.add_argument("--targets", default=TARGETS)
        else:
            verb.add_argument("--bigbird", default="bigbird")
    verb = verbs.add_parser("orfs")
    verb.set_defaults(work=orfs, seed=1)
    verb.add_argument("genome")
    verb.add_argument("-o", "--output", required=True)
    verb.add_argument("--contigs", required=True)
    verb.add_argument("--before", type=int, default=39)
    verb.add_argument("--codons", type=int, default=100)
    verb = verbs.add_parser("rank")
    verb.set_defaults(work=rank, seed=1)
    verb.add_argument("scores")
    verb.add_argument("--tss", required=True)
    verb.add_argument("--within", type=int, default=100)
    verb.add_argument("--merge-distance", type=int, default=200)
    verb.add_argument("--exclude")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    options.work(options)


if __name__ == "__main__":
    main()
