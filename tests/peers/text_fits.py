#!/usr/bin/env python3
"""Small models made from scratch and fitted to real texts, beside the largest class and linear models of words.

    python tests/peers/text_fits.py DATA [--program build/release/bin/bigbird] [--work FOLDER] [--only ag_news,cola] [--steps 800]

DATA is a folder with lm, ag_news, newsgroups, imdb, hyperpartisan and glue as benchmarks/text.md says of its numbers. One
vocabulary and one encoder (2 layers of 128) for all: made from lm and from the texts, without their labels, that the sets
are trained on; what is held out is in neither. Then the same settings for every set but for length and epochs, and the
last step of training: nothing is chosen by what is held out. The linear models are scikit-learn's LogisticRegression on
counts and on tf-idf of words, with its defaults (more iterations), from the same training texts.

With --attention NAME,NAME... the one set of --only is fitted under each of these attentions instead (ATTENTIONS below), out
of the same pretrained encoder, by --seeds seeds: accuracy, tokens a second of training, and peak memory.

Prints a table in Markdown; FOLDER/results.json has the numbers. What is there already is not made again.

Needs: scikit-learn.
"""
import argparse
import csv
import gzip
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree
import zlib

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, matthews_corrcoef

# length in tokens; passes over the training texts
SETS = {
    "ag_news": dict(length=96, epochs=4),
    "newsgroups": dict(length=512, epochs=12),
    "imdb": dict(length=512, epochs=8),
    "hyperpartisan": dict(length=1024, epochs=10),
    "sst2": dict(length=64, epochs=5),
    "cola": dict(length=32, epochs=5),
}


# What is typed after `convert`: sparse attention at any length of these texts.
ATTENTIONS = {
    "full": ["--attention", "full"],
    "bigbird": ["--attention", "bigbird", "--random-mode", "hf-train"],
    "longformer": ["--attention", "longformer", "--attention-window", "64"],
    "etc": ["--attention", "etc", "--radius", "32"],
}


def text_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read()


def records(path):
    return [json.loads(line) for line in text_of(path).split("\n") if line]


def every_fifth(rows):
    """Held out: one in five by a hash of its number, so that a file in the order of its classes is cut evenly, and one whose
    classes take turns too."""
    held = [zlib.crc32(str(i).encode()) % 5 == 0 for i in range(len(rows))]
    return [row for row, out in zip(rows, held) if not out], [row for row, out in zip(rows, held) if out]


def ag_news(data):
    rows = csv.reader(io.StringIO(text_of(data / "ag_news/test.csv.gz"), newline=""))
    return every_fifth([(title + " " + text, label) for label, title, text in rows])


def newsgroups(data):
    # Headers name the group: what stands behind the first empty line is the message.
    return every_fifth([(row["text"].split("\n\n", 1)[-1], row["label"])
                        for row in records(data / "newsgroups/mini_newsgroups.jsonl.gz")])


def imdb(data):
    return tuple([(row["text"], row["label"]) for row in records(data / f"imdb/{part}.jsonl.gz")] for part in ("train", "test"))


def hyperpartisan(data):
    truth = xml.etree.ElementTree.fromstring(text_of(data / "hyperpartisan/ground-truth-byarticle.xml.gz"))
    labels = {one.get("id"): one.get("hyperpartisan") for one in truth}
    articles = xml.etree.ElementTree.fromstring(text_of(data / "hyperpartisan/articles-byarticle.xml.gz"))
    return every_fifth([(" ".join(one.itertext()), labels[one.get("id")]) for one in articles])


def glue(folder, cells):
    def read(data):
        parts = []
        for part in ("train", "dev"):
            lines = (data / "glue" / folder / f"{part}.tsv").read_text(encoding="utf-8-sig").split("\n")
            rows = [line.rstrip("\r").split("\t") for line in lines if line]
            if rows[0][0] == "sentence":
                rows = rows[1:]
            parts.append([(row[cells[0]], row[cells[1]]) for row in rows])
        return tuple(parts)
    return read


READERS = dict(ag_news=ag_news, newsgroups=newsgroups, imdb=imdb, hyperpartisan=hyperpartisan, sst2=glue("SST-2", (0, 1)),
               cola=glue("CoLA", (3, 1)))


def write_rows(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for text, label in rows:
            file.write(json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n")


def cut_articles(data, work):
    """The XML of the articles in two: the program reads them as they were published."""
    whole = text_of(data / "hyperpartisan/articles-byarticle.xml.gz")
    articles = re.findall(r"<article .*?</article>", whole, re.DOTALL)
    for name, part in zip(("train", "test"), every_fifth(articles)):
        (work / f"hyperpartisan.{name}.xml").write_text("<articles>\n" + "\n".join(part) + "\n</articles>\n", encoding="utf-8")
    return [str(data / "hyperpartisan/ground-truth-byarticle.xml.gz")]


def score(name, truth, answer):
    return matthews_corrcoef(truth, answer) if name == "cola" else accuracy_score(truth, answer)


def linear(name, train, test, vectorizer):
    texts, labels = zip(*train)
    held, truth = zip(*test)
    words = vectorizer.fit(texts)
    model = LogisticRegression(max_iter=2000).fit(words.transform(texts), labels)
    return score(name, truth, model.predict(words.transform(held)))


def under_each_attention(bigbird, options, name, files, settings):
    """The table of one set under several attentions; bigbird(...) returns what the program wrote to stderr."""
    work, results = options.work, []
    for attention in options.attention.split(","):
        folder = work / attention
        if not folder.exists():
            bigbird("convert", work / "pretrain/final", folder, *ATTENTIONS[attention])
        scores, speeds, peaks = [], [], []
        for seed in range(1, options.seeds + 1):
            run = work / f"{name}.{attention}.{seed}"
            said = run.with_suffix(f".{seed}.log")
            if not said.exists():
                text = bigbird("text", "classify", "finetune", "--train", files[0], "--init", folder, "-o", run, "--length",
                               settings["length"], "--epochs", options.epochs or settings["epochs"], "--batch", 16, "--lr", 5e-4,
                               "--optimizer", "torch", "--schedule", "huggingface", "--save-every", 1000000, "--seed", seed,
                               "--force")
                bigbird("text", "classify", "evaluate", "-m", run / "final", "--data", files[1], "-o", run.with_suffix(f".{seed}.json"))
                said.write_text(text)
            text = said.read_text()
            scores.append(json.loads(run.with_suffix(f".{seed}.json").read_text())["accuracy"])
            speeds.append(int(re.search(r"updates took .*: (\d+) tokens/s", text).group(1)))
            peaks.append(int(re.findall(r"(\d+) MiB peak memory", text)[-1]))
        results.append((attention, scores, statistics.median(speeds), max(peaks)))
    print("| attention | accuracy of each seed | mean | tokens a second | peak MB |")
    print("|---|---|---|---|---|")
    for attention, scores, speed, peak in results:
        print(f"| {attention} | {', '.join(f'{one:.3f}' for one in scores)} | {statistics.mean(scores):.3f} | {speed:,} | {peak} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/bigbird")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("text-fits"))
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--steps", type=int, default=800, help="of pretraining")
    parser.add_argument("--attention", help="fit one set under each of these: " + ", ".join(ATTENTIONS))
    parser.add_argument("--seeds", type=int, default=3, help="of --attention")
    parser.add_argument("--epochs", type=int, help="of --attention; else the set's own")
    options = parser.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)

    def bigbird(*words):
        begin = time.time()
        subprocess.run([options.program, *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=open(work / "log", "a"))
        return time.time() - begin

    def heard(*words):
        done = subprocess.run([options.program, *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.stderr

    sets = {name: READERS[name](options.data) for name in SETS}
    corpus = work / "corpus"
    if not (work / "pretrain/final").exists():
        corpus.mkdir(exist_ok=True)
        for name, (train, _) in sets.items():
            (corpus / f"{name}.txt").write_text("\n\n".join(re.sub(r"\s*\n\s*", " ", text) for text, _ in train), encoding="utf-8")
        inputs = [corpus, options.data / "lm/gutenberg", *sorted((options.data / "lm").glob("*.gz"))]
        bigbird("text", "vocabulary", *inputs, "-o", work / "tokenizer", "--vocab-size", 8000, "--replace-invalid")
        bigbird("text", "pretrain-data", *inputs, "-m", work / "tokenizer", "-o", work / "train", "--replace-invalid")
        bigbird("pretrain", "--train", work / "train", "-m", work / "tokenizer", "-o", work / "pretrain", "--layers", 2,
                "--width", 128, "--heads", 4, "--block-size", 16, "--length", 256, "--max-positions", 1024, "--batch", 16,
                "--steps", options.steps, "--lr", 1e-3, "--warmup", 100, "--optimizer", "torch", "--schedule", "huggingface",
                "--dropout", 0, "--force")

    if options.attention:
        (train, test), settings = sets[options.only], SETS[options.only]
        files = [work / f"{options.only}.{part}.jsonl" for part in ("train", "test")]
        for file, rows in zip(files, (train, test)):
            write_rows(file, rows)
        under_each_attention(heard, options, options.only, files, settings)
        print(f"| counts of words | {linear(options.only, train, test, CountVectorizer()):.3f} | | | |")
        print(f"| tf-idf | {linear(options.only, train, test, TfidfVectorizer()):.3f} | | | |")
        return 0

    results_file = work / "results.json"
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    for name in options.only.split(","):
        if name in results:
            continue
        train, test = sets[name]
        settings = SETS[name]
        columns = []
        if name == "hyperpartisan":
            labels = cut_articles(options.data, work)
            columns = ["--label-files", *labels]
            files = [work / f"{name}.{part}.xml" for part in ("train", "test")]
        else:
            files = [work / f"{name}.{part}.jsonl" for part in ("train", "test")]
            for file, rows in zip(files, (train, test)):
                write_rows(file, rows)
        seconds = bigbird("text", "classify", "finetune", "--train", files[0], "--init", work / "pretrain/final", "-o", work / name,
                          "--length", settings["length"], "--epochs", settings["epochs"], "--batch", 16, "--lr", 5e-4,
                          "--optimizer", "torch", "--schedule", "huggingface", "--save-every", 1000000, "--force", *columns)
        bigbird("text", "classify", "evaluate", "-m", work / name / "final", "--data", files[1], "-o", work / f"{name}.json", *columns)
        scores = json.loads((work / f"{name}.json").read_text())
        labels = [label for _, label in test]
        largest = max(set(labels), key=[label for _, label in train].count)
        results[name] = {
            "train": len(train), "test": len(test), "classes": len(set(labels)), "length": settings["length"],
            "bigbird": scores["mcc" if name == "cola" else "accuracy"],
            "largest": score(name, labels, [largest] * len(labels)),
            "counts": linear(name, train, test, CountVectorizer()),
            "tfidf": linear(name, train, test, TfidfVectorizer()),
            "seconds": seconds,
        }
        results_file.write_text(json.dumps(results, indent=1))
    print("| set | training, held-out texts | classes | tokens | bigbird | largest class | counts of words | tf-idf | training |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, one in results.items():
        print(f"| {name} | {one['train']:,}, {one['test']:,} | {one['classes']} | {one['length']:,} | {one['bigbird']:.3f} | "
              f"{one['largest']:.3f} | {one['counts']:.3f} | {one['tfidf']:.3f} | {one['seconds']:.0f} s |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
