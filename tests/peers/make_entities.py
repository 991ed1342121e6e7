#!/usr/bin/env python3
"""Labels of words and the scores that seqeval gives them: tests/golden/entities.json, of several schemes, with labels that fit none.

    python tests/peers/make_entities.py

Needs: seqeval 1.2.2."""
import json
import random
import warnings
from pathlib import Path

from seqeval.metrics import accuracy_score, f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

OUTPUT = Path(__file__).resolve().parent.parent / "golden" / "entities.json"
SCHEMES = {
    "iob": ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "I-ORG-X"],
    "iobes": ["O", "O", "B-PER", "I-PER", "E-PER", "S-PER", "S-LOC", "E-LOC", "I-LOC"],
    "one_type": ["O", "B-X", "I-X"],
}


def sentence(labels, words):
    return [random.choice(labels) for _ in range(words)]


def main():
    warnings.simplefilter("ignore")
    random.seed(7)
    cases = []
    for name, labels in SCHEMES.items():
        gold = [sentence(labels, random.randint(1, 9)) for _ in range(12)]
        predicted = [[label if random.random() < 0.7 else random.choice(labels) for label in one] for one in gold]
        case = {"scheme": name, "gold": gold, "predicted": predicted, "accuracy": accuracy_score(gold, predicted),
                "entities": [[[kind, begin, end + 1] for kind, begin, end in get_entities(one)] for one in gold]}
        for score, function in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
            case[score] = float(function(gold, predicted))
        case["macro_f1"] = float(f1_score(gold, predicted, average="macro"))
        case["weighted_f1"] = float(f1_score(gold, predicted, average="weighted"))
        cases.append(case)
    OUTPUT.write_text(json.dumps(cases) + "\n")
    print(OUTPUT, len(cases))


if __name__ == "__main__":
    main()
