#!/usr/bin/env python3
"""ROUGE and stems by Google's rouge_score and NLTK: writes tests/golden/rouge.json.

  python3 tests/peers/make_rouge.py [OUT]                            the golden file
  python3 tests/peers/make_rouge.py --compare PROGRAM [--pairs N]    `text summarize evaluate` on N random pairs (2,000)

Needs rouge_score and nltk. Pairs are made of few words, so that n-grams and subsequences do match, of digits, capitals,
punctuation, newlines, letters that are not ASCII, and nothing at all. Stems are those of some 28,000 words, every
beginning with every ending; the file keeps their SHA-256.
"""
import argparse
import csv
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer, scoring

TYPES = ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"]
WORDS = ("the a of running runs ran quickly quick happiness happy nationally national flies fly 3 1984 4th x co-operate U.S. "
         "Fizzed hopping agreed \u212Aelvin \u0130stanbul na\u00efve \u4e2d\u6587 e\u0301te skies dying news ties generalizations , . ; -- ( ) "
         "summarization summaries summarised sentences encoder decoders attention attentive").split()
BEGINNINGS = ("a be electr fizz hop hopp rat ration nation gener oscill s sky t ti trai y yy by cry happ enjo sp spi fl vi vil "
              "radic form hope sens ceas contr roll geo bio use ow ar bil cov covid19 ion x2 3 4th agr fe fee bl tr ski dy ly ty new inn "
              "out cann how proc exc succ al all ill fall hiss fail fil wx box saw pay oil eel abs str trou tre iv ous adopt revis "
              "formal sensit digit conform analog effect act commun replac infer air allow adjust depend irrit gyroscop defens").split()
ENDINGS = ["", *("s es ies ied ed ing eed eeds ated bled ized y ly ational tional enci anci izer bli alli entli eli ousli ization ation ator "
                 "alism iveness fulness ousness aliti iviti biliti fulli logi logy icate ative alize iciti ical ful ness al ance ence er ic able "
                 "ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize e ee ll l lle ings ingly edly fully lessness "
                 "ers ors alli allies ially ility ilities izations ting tting ss sses zz zzed").split()]
LAST = ["", "s", "ly"]


def text_of(rng, longest):
    sentences = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 6])):
        sentences.append(" ".join(rng.choices(WORDS, k=rng.choice([0, 1, 3, 8, longest]))))
    return rng.choice(["\n", "\n", " ", "\n\n"]).join(sentences)


def pairs_of(number, longest=25):
    rng = random.Random(7)
    pairs = []
    for _ in range(number):
        target = text_of(rng, longest)
        words = target.split(" ")
        if words and rng.random() < 0.6:  # a summary that shares much
            prediction = " ".join(word for word in words if rng.random() < 0.7)
        else:
            prediction = text_of(rng, longest)
        pairs.append((target, prediction))
    return pairs


def scores_of(pairs, stem):
    scorer = rouge_scorer.RougeScorer(TYPES, use_stemmer=stem)
    return [scorer.score(target, prediction) for target, prediction in pairs]


def bootstrap_of(scores, seed):
    np.random.seed(seed)
    aggregator = scoring.BootstrapAggregator()
    for score in scores:
        aggregator.add_scores(score)
    result = aggregator.aggregate()
    return {kind: [list(part) for part in (result[kind].low, result[kind].mid, result[kind].high)] for kind in TYPES}


def write_golden(out):
    pairs = pairs_of(150, 15)
    stemmer = PorterStemmer()
    stems = [stemmer.stem(begin + end + last) for begin in BEGINNINGS for end in ENDINGS for last in LAST]
    golden = {"made_by": "tests/peers/make_rouge.py", "types": TYPES,
              "pairs": [{"target": target, "prediction": prediction,
                         **{name: [list(score[kind]) for kind in TYPES] for name, score in (("plain", plain), ("stemmed", stemmed))}}
                        for (target, prediction), plain, stemmed in zip(pairs, scores_of(pairs, False), scores_of(pairs, True))],
              "bootstrap": {"seed": 5, **bootstrap_of(scores_of(pairs, True), 5)},
              "beginnings": BEGINNINGS, "endings": ENDINGS, "last": LAST,
              "stems": {"words": len(stems), "sha256": hashlib.sha256("\n".join(stems).encode()).hexdigest()}}
    out.write_text(json.dumps(golden).replace('{"target"', '\n{"target"') + "\n")


def compare(program, number):
    pairs = pairs_of(number)
    with tempfile.TemporaryDirectory() as folder:
        data, predictions = pathlib.Path(folder, "data.jsonl"), pathlib.Path(folder, "predictions.jsonl")
        data.write_text("".join(json.dumps({"id": str(i), "summary": target or "\n"}) + "\n" for i, (target, _) in enumerate(pairs)))
        predictions.write_text("".join(json.dumps({"id": str(i), "summary": made}) + "\n" for i, (_, made) in enumerate(pairs)))
        worst = 0.0
        for stem in (True, False):
            table, summary = pathlib.Path(folder, "scores.tsv"), pathlib.Path(folder, "scores.json")
            subprocess.run([program, "text", "summarize", "evaluate", "-q", "--data", data, "--predictions", predictions, "--types",
                            ",".join(TYPES), "--table", table, "-o", summary, "--seed", "11",
                            *([] if stem else ["--no-stem"])], check=True)
            wanted = scores_of([(target or "\n", made) for target, made in pairs], stem)
            rows = csv.DictReader((line for line in table.open() if not line.startswith("##")), delimiter="\t")
            for row, score in zip(rows, wanted, strict=True):
                for kind in TYPES:
                    for name, value in zip(("precision", "recall", "f1"), score[kind]):
                        worst = max(worst, abs(float(row[f"{kind}_{name}"]) - value))
            given = json.loads(summary.read_text())["rouge"]
            for kind, values in bootstrap_of(wanted, 11).items():
                for where, triple in zip(("low", "mid", "high"), values):
                    for name, value in zip(("precision", "recall", "f1"), triple):
                        worst = max(worst, abs(given[kind][where][name] - value))
    print(f"{number} pairs, {len(TYPES)} scores each, with and without stems, and their intervals: largest difference {worst:.3g}")
    sys.exit(int(worst > 1e-9))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=pathlib.Path("tests/golden/rouge.json"))
    parser.add_argument("--compare", metavar="PROGRAM")
    parser.add_argument("--pairs", type=int, default=2000)
    arguments = parser.parse_args()
    if arguments.compare:
        compare(arguments.compare, arguments.pairs)
    write_golden(arguments.out)


main()
