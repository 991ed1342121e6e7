#!/usr/bin/env python3
"""The cheapest answers beside an evaluation, computed apart: writes tests/golden/baselines.json.

  python3 tests/peers/make_baselines.py [OUT]

Markov models of order 0 to 12 with Witten-Bell smoothing in plain Python, from dictionaries; a logistic regression on
6-mers by scikit-learn (to install, with numpy). Sequences come from a generator that is written out here, so that the
file is the same on every machine; they are random but for planted words.
"""
import json
import math
import pathlib
import sys

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

LONGEST = 12


class Numbers:
    """Marsaglia's xorshift64."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        x = self.state
        x ^= (x << 13) & (2**64 - 1)
        x ^= x >> 7
        x ^= (x << 17) & (2**64 - 1)
        self.state = x
        return (x >> 11) % n


def document(numbers, length):
    """Bases of which three in four follow from the three before them, with an N here and there."""
    text = "ACG"
    while len(text) < length:
        follows = sum((j + 1) * "ACGTN".index(base) for j, base in enumerate(text[-3:])) % 4
        text += "ACGT"[follows if numbers.below(4) else numbers.below(4)]
        if numbers.below(60) == 0:
            text += "N"
    return text[:length]


def markov(training, held_out):
    """Bits per base of each order: p_k(b | c) = (n(cb) + t(c) p_{k-1}(b | c')) / (n(c) + t(c))."""
    after = {}  # context -> base -> count
    for text in training:
        for i, base in enumerate(text):
            for order in range(LONGEST + 1):
                context = text[max(0, i - order) : i]
                if base == "N" or len(context) < order or "N" in context:
                    break
                after.setdefault(context, {}).setdefault(base, 0)
                after[context][base] += 1
    bits = [0.0] * (LONGEST + 1)
    bases = 0
    for text in held_out:
        for i, base in enumerate(text):
            if base == "N":
                continue
            bases += 1
            p = 0.25
            for order in range(LONGEST + 1):
                context = text[max(0, i - order) : i]
                if len(context) == order and "N" not in context and context in after:
                    seen = after[context]
                    p = (seen.get(base, 0) + len(seen) * p) / (sum(seen.values()) + len(seen))
                bits[order] -= math.log2(p)
    return [b / bases for b in bits], bases


def window(numbers, label):
    text = "".join("ACGT"[numbers.below(4)] for _ in range(80))
    for _ in range(1 + numbers.below(2)):
        if numbers.below(4):
            word = "TATAAAAG" if label else "GGCGCTTA"
            at = numbers.below(len(text) - len(word))
            text = text[:at] + word + text[at + len(word) :]
    if numbers.below(10) == 0:
        at = numbers.below(len(text))
        text = text[:at] + "N" + text[at + 1 :]
    return text


def canonical(word):
    return min(word, word[::-1].translate(str.maketrans("ACGT", "TGCA")))


def features(windows, both_strands):
    words = ["".join("ACGT"[i // 4 ** (5 - j) % 4] for j in range(6)) for i in range(4096)]
    if both_strands:
        words = [word for word in words if canonical(word) == word]
    place = {word: i for i, word in enumerate(words)}
    counts = np.zeros((len(windows), len(words)))
    for row, text in enumerate(windows):
        for i in range(len(text) - 5):
            word = text[i : i + 6]
            if "N" not in word:
                counts[row, place[canonical(word) if both_strands else word]] += 1
    return np.log1p(counts)


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden/baselines.json")
    numbers = Numbers(88172645463325252)
    training = [document(numbers, 700 + 100 * i) for i in range(4)]
    held_out = [document(numbers, 300) for _ in range(2)] + [training[1][200:500]]
    bits, bases = markov(training, held_out)

    sides = {}
    for side, count in (("train", 120), ("test", 60)):
        labels = [numbers.below(3) // 2 for _ in range(count)]
        sides[side] = {"labels": labels, "windows": [window(numbers, label) for label in labels]}
    fits = []
    for both_strands in (False, True):
        rows = {side: features(sides[side]["windows"], both_strands) for side in sides}
        for l2 in (1.0, 30.0):
            model = LogisticRegression(C=1 / l2, tol=1e-9, max_iter=10000)
            model.fit(rows["train"], sides["train"]["labels"])
            logits = model.decision_function(rows["test"])
            fits.append({"both_strands": both_strands, "l2": l2, "intercept": float(model.intercept_[0]),
                         "largest_weight": float(np.abs(model.coef_).max()), "logits": [round(float(z), 9) for z in logits],
                         "auroc": float(roc_auc_score(sides["test"]["labels"], logits))})
    golden = {
        "made_by": f"tests/peers/make_baselines.py: scikit-learn {sklearn.__version__}",
        "markov": {"training": training, "held_out": held_out, "bits_per_base": bits, "bases": bases},
        "kmers": {**sides, "fits": fits},
    }
    out.write_text(json.dumps(golden, indent=1) + "\n")
    print(bits, bases, [(f["l2"], f["auroc"]) for f in fits])


if __name__ == "__main__":
    main()
