#!/usr/bin/env python3
"""Windows, token types and labels of questions against Hugging Face's run_qa.

    python tests/peers/qa_features.py RUN_QA SPIECE_MODEL "COMMAND" FILE... [--lengths 384:128,128:32] [--synthetic 2000]

RUN_QA is examples/pytorch/question-answering/run_qa.py of transformers: prepare_train_features and
prepare_validation_features are taken from its text and run as they are. FILEs are SQuAD's (nested JSON, .gz). COMMAND
is what prints our features, called as `COMMAND TOKENIZER FILE LENGTH OVERLAP`: one JSON object a window with id, ids,
types, offsets and words of the context's tokens, context (the position of its first token), start, end.

Compared for every window of every question: ids, number of context tokens, offsets, and start and end.

Three things of run_qa are known to be others and counted apart:
- a start behind the context, where the answer begins in a window's last token (run_qa's loop goes on over [SEP] and
  the padding, whose offsets are 0); ours must then be the last token that begins at or before the answer;
- token types: the tokenizer of BigBird gives none, its model sets 0 up to and with the first [SEP] and 1 behind it,
  which is what ours are compared with;
- questions without a context token, over which run_qa stops.

Needs: transformers 4.57.1, tokenizers, sentencepiece.
"""
import argparse
import ast
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import textwrap
import types


def nested_functions(path, names):
    """The source of functions that are defined inside of another one."""
    text = pathlib.Path(path).read_text()
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            found[node.name] = textwrap.dedent(ast.get_source_segment(text, node, padded=True))
    return found


def load_flat(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="") as stream:
        data = json.load(stream)["data"]
    flat = []
    for article in data:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                answers = question.get("answers") or []
                flat.append({"id": question["id"], "question": question["question"], "context": paragraph["context"],
                             "answers": {"text": [a["text"] for a in answers],
                                         "answer_start": [a["answer_start"] for a in answers]}})
    return flat


WORDS = ("the of a river Paris 1848 museum tokenised graph, (which) -- \u00e9clair na\u00efve \u4f60\u597d \U0001f600 it's \u201cquoted\u201d "
         "Stra\u00dfe \u0130stanbul x \u00a0 e\u0301 \u2014 long-winded supercalifragilistic Zz9 \u0391\u03a3").split(" ")


def synthetic(count, rng):
    """Questions with answers at every border of their context and of its windows, on contexts of all lengths."""
    data = []
    for number in range(count):
        size = rng.choice([1, 2, 5, 10, 40, 100, 150, 300, 600, 900])
        if number % 200 == 199:
            size = 9000
        separators = [" "] * 30 + ["  ", "\n", "\t", " \n ", "\u2003"]
        context = "".join(rng.choice(WORDS) + rng.choice(separators) for _ in range(size))
        if rng.random() < 0.7:
            context = context.strip()
        if not context.strip():
            context = "x"
        kind = number % 6
        length = rng.choice([1, 2, 3, 7, 20, 60])
        if kind == 0:
            begin = 0
        elif kind == 1:
            begin = max(0, len(context) - length)
        else:
            begin = rng.randrange(len(context))
        text = context[begin:begin + length]
        question = " " * rng.randrange(3) + " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 25)))
        if not question.strip():
            question = "why"
        answers = [] if number % 11 == 10 else [{"text": text, "answer_start": begin}]
        data.append({"paragraphs": [{"context": context, "qas": [
            {"id": f"s{number}", "question": question, "answers": answers, "is_impossible": not answers}]}]})
    return {"version": "synthetic", "data": data}


def expected_windows(tokenizer, prepare, flat, length, overlap):
    """Per window of the peer: id, ids, context offsets, position of the context, start, end."""
    columns = {key: [row[key] for row in flat] for key in ("id", "question", "context", "answers")}
    namespace = {"tokenizer": tokenizer, "question_column_name": "question", "context_column_name": "context",
                 "answer_column_name": "answers", "pad_on_right": True, "max_seq_length": length,
                 "data_args": types.SimpleNamespace(doc_stride=overlap, pad_to_max_length=True)}
    for source in prepare.values():
        exec(source, namespace)  # noqa: S102: run_qa's own functions
    copy = {key: list(values) for key, values in columns.items()}
    train = namespace["prepare_train_features"](copy)
    copy = {key: list(values) for key, values in columns.items()}
    validation = namespace["prepare_validation_features"](copy)
    for i, name in enumerate(validation["example_id"]):
        offsets = validation["offset_mapping"][i]
        inside = [k for k, pair in enumerate(offsets) if pair is not None]
        tokens = sum(train["attention_mask"][i])
        yield {"id": name, "ids": train["input_ids"][i][:tokens], "context": inside[0] if inside else None,
               "offsets": [value for k in inside for value in offsets[k]],
               "start": train["start_positions"][i], "end": train["end_positions"][i]}


def compare(args, tokenizer, prepare, path, length, overlap, totals):
    flat = load_flat(path)
    by_id = {row["id"]: row for row in flat}
    command = args.command.split() + [args.tokenizer_folder, str(path), str(length), str(overlap)]
    ours = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    windows = different = late = labelled = 0
    shown = 0
    for begin in range(0, len(flat), 500):
        for peer in expected_windows(tokenizer, prepare, flat[begin:begin + 500], length, overlap):
            line = ours.stdout.readline()
            if not line:
                sys.exit(f"{path}: fewer windows than run_qa's")
            own = json.loads(line)
            windows += 1
            first = peer["ids"].index(tokenizer.sep_token_id) + 1
            types_wanted = [0] * first + [1] * (len(peer["ids"]) - first)
            wrong = [key for key in ("id", "ids", "offsets", "context") if own[key] != peer[key]]
            if own["types"] != types_wanted:
                wrong.append("types")
            start = peer["start"]
            if start > 0 or peer["end"] > 0:
                labelled += 1
            last = first + len(peer["offsets"]) // 2 - 1
            if start > last:
                late += 1
                wanted = by_id[peer["id"]]["answers"]["answer_start"][0]
                start = max(first + k for k in range(last - first + 1) if peer["offsets"][2 * k] <= wanted)
            if own["start"] != start:
                wrong.append("start")
            if own["end"] != peer["end"]:
                wrong.append("end")
            if wrong:
                different += 1
                if shown < 3:
                    shown += 1
                    print(f"  {peer['id']}: {wrong}: ours {[own[k] for k in ('context', 'start', 'end')]} "
                          f"run_qa {[peer[k] for k in ('context', 'start', 'end')]}")
                    for key in wrong:
                        if key in ("ids", "offsets"):
                            at = next((i for i, (a, b) in enumerate(zip(own[key], peer[key])) if a != b), -1)
                            print(f"    {key} from {at}: {own[key][max(0, at - 3):at + 6]} {peer[key][max(0, at - 3):at + 6]} "
                                  f"lengths {len(own[key])} {len(peer[key])}")
    if ours.stdout.readline():
        sys.exit(f"{path}: more windows than run_qa's")
    if ours.wait() != 0:
        sys.exit(f"{path}: the command failed")
    print(f"{path.name}\t{length}:{overlap}\t{len(flat)} questions\t{windows} windows\t{labelled} labelled\t"
          f"{different} differ\t{late} with run_qa's start behind the context", flush=True)
    for key, value in (("questions", len(flat)), ("windows", windows), ("different", different), ("late", late)):
        totals[key] = totals.get(key, 0) + value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_qa")
    parser.add_argument("spiece_model")
    parser.add_argument("command")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--lengths", default="384:128,128:32")
    parser.add_argument("--synthetic", type=int, default=2000)
    args = parser.parse_args()
    from transformers import BigBirdTokenizerFast
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "spiece.model").write_bytes(pathlib.Path(args.spiece_model).read_bytes())
        args.tokenizer_folder = str(folder)
        tokenizer = BigBirdTokenizerFast(str(folder / "spiece.model"))
        tokenizer.model_max_length = 1 << 30
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BigBirdTokenizerFast"}))
        prepare = nested_functions(args.run_qa, ("prepare_train_features", "prepare_validation_features"))
        assert len(prepare) == 2, "run_qa.py has another form"
        files = list(args.files)
        if args.synthetic:
            files.append(folder / "synthetic.json")
            files[-1].write_text(json.dumps(synthetic(args.synthetic, random.Random(20200728)), ensure_ascii=False))
        totals = {}
        for path in files:
            for pair in args.lengths.split(","):
                length, overlap = (int(part) for part in pair.split(":"))
                compare(args, tokenizer, prepare, path, length, overlap, totals)
        print(totals)
        return 1 if totals["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
