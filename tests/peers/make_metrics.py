#!/usr/bin/env python3
"""AUROC and average precision of random scores with ties, by scikit-learn: writes tests/golden/metrics_sklearn.json.

  python3 tests/peers/make_metrics.py [OUT]

Needs numpy and scikit-learn. Scores are whole numbers / 1024, so that decimals and float32 hold them exactly.
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import sklearn
from sklearn.metrics import average_precision_score, roc_auc_score

ROWS = 480
# name, group, distinct scores, share of positives, how far positives lie above negatives
PROFILES = [
    ("A|one|None", "TF", 2, 0.3, 0.5), ("A|two|None", "TF", 7, 0.05, 1.0), ("B|one|None", "TF", 1024, 0.01, 0.2),
    ("B|none|None", "TF", 50, 0.0, 0.0), ("C|same|None", "TF", 1, 0.2, 0.0), ("A|DNase|None", "DHS", 300, 0.5, 2.0),
    ("B|DNase|None", "DHS", 30, 0.2, -0.5), ("A|DNase|None", "DHS", 1024, 0.1, 0.0), ("A|all|None", "HM", 12, 1.0, 0.0),
    ("A|H3K4me3|None", "HM", 100, 0.07, 8.0), ("B|H3K4me3|None", "HM", 4, 0.4, 0.7),
]


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden/metrics_sklearn.json")
    rng = np.random.default_rng(20)
    profiles = []
    for name, group, levels, share, shift in PROFILES:
        labels = np.zeros(ROWS, dtype=int)
        labels[rng.permutation(ROWS)[: round(share * ROWS)]] = 1
        raw = 1 / (1 + np.exp(-(rng.normal(size=ROWS) + shift * labels)))
        scores = np.floor(np.floor(raw * levels) * (1024 // levels)).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            auroc = roc_auc_score(labels, scores / 1024) if 0 < labels.sum() < ROWS else None
            auprc = average_precision_score(labels, scores / 1024) if labels.sum() else None
        profiles.append({"name": name, "group": group, "positives": int(labels.sum()), "auroc": auroc, "auprc": auprc,
                         "labels": "".join(map(str, labels)), "scores_1024": scores.tolist()})
    text = json.dumps({"made_by": f"tests/peers/make_metrics.py, scikit-learn {sklearn.__version__}", "rows": ROWS,
                       "profiles": profiles})
    out.write_text(text.replace('{"name"', '\n{"name"') + "\n")


main()
