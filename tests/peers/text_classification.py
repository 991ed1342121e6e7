#!/usr/bin/env python3
"""`bigbird text classify predict` against the text-classification pipeline of transformers 4.57.1, on the same folders.

    python tests/peers/text_classification.py SPIECE_MODEL TEXTS.jsonl[.gz] [--program build/release/bin/bigbird] [--texts 200]
                                              [--long 24] [--keep FOLDER]

TEXTS holds an object a line with a field `text` (IMDb reviews, say); SPIECE_MODEL is the published vocabulary. Folders of
random weights, 2 layers of 64, as transformers writes them:
    single      four classes, gelu_new, full attention, one text
    multi       five labels with sigmoids, relu, full attention, one text
    regression  one number, silu, full attention, pairs
    pairs       three classes, gelu, full attention, pairs, cut to 96 tokens, the longer text first
    sparse      four classes, block sparse attention in evaluation mode (hf-eval), texts of 400 to 1,000 tokens; the pipeline
                reads them one at a time, as its model would stay in full attention after a short one

The same label for every text, and every class's score within 1e-4. Status 1 and a line for each difference that is larger.

Needs: transformers 4.57.1, torch, numpy, tokenizers, sentencepiece, protobuf.
"""
import argparse
import gzip
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

BOUND = 1e-4
MOST_TOKENS = 1024
CASES = {
    "single": dict(labels=4, problem="single_label_classification", act="gelu_new", pairs=False, length=MOST_TOKENS),
    "multi": dict(labels=5, problem="multi_label_classification", act="relu", pairs=False, length=MOST_TOKENS),
    "regression": dict(labels=1, problem="regression", act="silu", pairs=True, length=MOST_TOKENS),
    "pairs": dict(labels=3, problem="single_label_classification", act="gelu", pairs=True, length=96),
    "sparse": dict(labels=4, problem="single_label_classification", act="gelu_new", pairs=False, length=MOST_TOKENS),
}


def read_texts(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as lines:
        return [json.loads(line)["text"] for line in lines.read().split("\n") if line]


def make_folder(folder, spiece, case, name, seed):
    tokenizer = transformers.BigBirdTokenizerFast(vocab_file=spiece)
    config = transformers.BigBirdConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        block_size=16, max_position_embeddings=MOST_TOKENS, hidden_act=case["act"], initializer_range=0.15,
        problem_type=case["problem"], attention_type="block_sparse" if name == "sparse" else "original_full",
        id2label={i: f"class {i}" for i in range(case["labels"])}, label2id={f"class {i}": i for i in range(case["labels"])})
    torch.manual_seed(seed)
    model = transformers.BigBirdForSequenceClassification(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shutil.copy(spiece, folder / "spiece.model")


def from_pipeline(folder, rows, length):
    classify = transformers.pipeline("text-classification", model=str(folder), tokenizer=str(folder), top_k=None, device="cpu")
    found = []
    for row in rows:
        given = dict(text=row["text"])
        if "text_pair" in row:
            given["text_pair"] = row["text_pair"]
        result = classify(given, truncation=True, max_length=length)
        found.append({one["label"]: one["score"] for one in result})
    return found


def from_bigbird(program, folder, rows, length, work):
    data = work / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run = subprocess.run([program, "text", "classify", "predict", "-m", folder, data, "-O", "jsonl", "--length", str(length),
                          "--quiet", "--device", "cpu", "--precision", "fp32"], capture_output=True, text=True,
                         encoding="utf-8", check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def compare(name, case, theirs, ours):
    """The largest difference of a score, and what is wrong, as lines."""
    wrong, largest = [], 0.0
    if len(ours) != len(theirs):
        return 0.0, [f"{name}: {len(ours)} predictions of {len(theirs)} texts"]
    for number, (expected, found) in enumerate(zip(theirs, ours)):
        if case["problem"] == "regression":
            scores = {next(iter(expected)): found["score"]}
        else:
            scores = found["scores"]
        difference = max(abs(scores[label] - score) for label, score in expected.items())
        largest = max(largest, difference)
        if difference > BOUND:
            wrong.append(f"{name}, text {number}: a score differs by {difference:.1e}")
        if case["problem"] == "single_label_classification" and found["label"] != max(expected, key=expected.get):
            wrong.append(f"{name}, text {number}: {found['label']}, not {max(expected, key=expected.get)}")
        if case["problem"] == "multi_label_classification":
            labels = [label for label in sorted(expected) if expected[label] >= 0.5]
            if found["label"] != labels:
                wrong.append(f"{name}, text {number}: {found['label']}, not {','.join(labels)}")
    return largest, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spiece")
    parser.add_argument("texts")
    parser.add_argument("--program", default="build/release/bin/bigbird")
    parser.add_argument("--texts", dest="count", type=int, default=200)
    parser.add_argument("--long", type=int, default=24)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    texts = read_texts(arguments.texts)
    tokenizer = transformers.BigBirdTokenizerFast(vocab_file=arguments.spiece)
    long = [text for text in texts if 400 <= len(tokenizer(text)["input_ids"]) <= MOST_TOKENS][:arguments.long]
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.keep or pathlib.Path(temporary)
        for seed, (name, case) in enumerate(CASES.items(), start=1):
            folder = work / name
            make_folder(folder, arguments.spiece, case, name, seed)
            rows = [dict(id=str(i), text=text) for i, text in enumerate(long if name == "sparse" else texts[:arguments.count])]
            if case["pairs"]:
                for i, row in enumerate(rows):  # of many lengths, some of them longer than the first text
                    row["text_pair"] = texts[(i + 7) % len(texts)][:40 * (1 + i % 20)]
                    row["text"] = row["text"][:600]
            theirs = from_pipeline(folder, rows, case["length"])
            if name == "sparse":
                settings = json.loads((folder / "config.json").read_text())
                settings["bigbird"] = dict(random_mode="hf-eval")  # as transformers attends when it does not train
                (folder / "config.json").write_text(json.dumps(settings))
            largest, more = compare(name, case, theirs, from_bigbird(arguments.program, folder, rows, case["length"], work))
            spread = max(max(one.values()) for one in theirs) - min(min(one.values()) for one in theirs)
            print(f"{name}: {len(rows)} texts, largest difference {largest:.1e}, scores spread over {spread:.2f}, "
                  f"{len(more)} differences", flush=True)
            wrong += more
    print("\n".join(wrong[:20]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
