#!/usr/bin/env python3
"""Whether a small model learns to find a fact anywhere in a long text: made from scratch, on real paragraphs.

    python tests/peers/retrieval_fit.py DATA [--program build/release/bin/bigbird] [--work FOLDER]

DATA is a folder with squad/train-v2.0.json, new_wiki_v1.0.json.gz (both for training) and dev-v2.0.json (held out). A context
is made of paragraphs of Wikipedia, about --length tokens long; between their sentences stand facts, "The seal of Harbour is
amber.", each name and each word drawn from those of the paragraphs. A question asks for one of them, "What is the seal of
Harbour?". The other facts of a context are of the same form, so that the answer is found by its name alone. Held out: other
paragraphs, and no name that a question of the training asks for.

Four steps, each begins with the model of the one before: pretraining (masked words, no questions) on the paragraphs and on
short texts that state such facts twice, of all names; questions over contexts of facts alone, over short ones, and over
contexts of the full length. Scored over --held-out questions: exact match; the same with the questions exchanged between contexts, whose answers
stand elsewhere; by where in its context the fact stands.
"""
import argparse
import gzip
import json
import pathlib
import random
import re
import subprocess
import sys

THINGS = ["seal", "token", "motto", "emblem"]


def paragraphs_of(path):
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    return [paragraph["context"].replace("\n", " ") for article in json.loads(text)["data"] for paragraph in article["paragraphs"]]


def names_of(paragraphs, least, most):
    """Words of small letters, in the order of the alphabet."""
    counts = {}
    for text in paragraphs:
        for word in re.findall(r"\b[a-z]{4,9}\b", text):
            counts[word] = counts.get(word, 0) + 1
    return sorted(word for word, count in counts.items() if least <= count <= most)


def pieces_of(text):
    """About as many tokens as a vocabulary of 8,000 pieces gives."""
    return len(text) / 4.0


def fact(thing, name, word):
    return f"The {thing} of {name} is {word}."


def stated_twice(draw, paragraphs, names, words):
    """A document of pretraining: a few facts, a few sentences, the facts again in another order."""
    facts = [fact(draw.choice(THINGS), name.capitalize(), word) for name, word in zip(draw.sample(names, 5), draw.sample(words, 5))]
    between = re.split(r"(?<=[.!?]) ", draw.choice(paragraphs))[:draw.randrange(3)]
    return " ".join(facts + between + draw.sample(facts, len(facts)))


def context(draw, paragraphs, names, words, tokens, facts):
    """A text with as many facts as asked for, and for each of them name, thing, answer and where it begins."""
    sentences = []
    while sum(map(pieces_of, sentences)) < tokens - 14 * facts:
        sentences += re.split(r"(?<=[.!?]) ", draw.choice(paragraphs))
    while sentences and sum(map(pieces_of, sentences)) > tokens - 14 * facts:
        sentences.pop()
    found = []
    for name, word in zip(draw.sample(names, facts), draw.sample(words, facts)):
        found.append((draw.randrange(len(sentences) + 1), name.capitalize(), draw.choice(THINGS), word))
    parts, places = [], []
    for at in range(len(sentences) + 1):
        for place, name, thing, word in found:
            if place == at:
                begin = len(" ".join(parts)) + (1 if parts else 0)
                sentence = fact(thing, name, word)
                places.append((name, thing, word, begin + sentence.rindex(word)))
                parts.append(sentence)
        if at < len(sentences):
            parts.append(sentences[at])
    return " ".join(parts), places


def make(path, draw, paragraphs, names, words, tokens, facts, questions):
    """SQuAD's form, two questions a context."""
    rows = []
    while 2 * len(rows) < questions:
        text, places = context(draw, paragraphs, names, words, tokens, facts)
        qas = [{"id": f"{len(rows)}-{i}", "question": f"What is the {thing} of {name}?",
                "answers": [{"text": word, "answer_start": begin}]}
               for i, (name, thing, word, begin) in enumerate(draw.sample(places, 2))]
        assert all(text[a["answer_start"]:].startswith(a["text"]) for q in qas for a in q["answers"])
        rows.append({"title": str(len(rows)), "paragraphs": [{"context": text, "qas": qas}]})
    path.write_text(json.dumps({"data": rows}))


def exchanged(path, to):
    """Every context with the questions of the next one; the answers stay those of their questions."""
    rows = json.loads(path.read_text())["data"]
    contexts = [row["paragraphs"][0]["context"] for row in rows]
    for i, row in enumerate(rows):
        row["paragraphs"][0]["context"] = contexts[(i + 1) % len(rows)]
        for question in row["paragraphs"][0]["qas"]:
            question["answers"][0]["answer_start"] = 0  # not looked at
    to.write_text(json.dumps({"data": rows}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/bigbird")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("retrieval-fit"))
    parser.add_argument("--length", type=int, default=1024, help="tokens of an input")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--pretrain-steps", type=int, default=1500)
    parser.add_argument("--pretrain-texts", type=int, default=12000, help="that state facts twice")
    parser.add_argument("--bare-questions", type=int, default=128000, help="of contexts that are facts alone")
    parser.add_argument("--short", type=int, default=160, help="tokens of an input of the questions behind those")
    parser.add_argument("--short-questions", type=int, default=8000)
    parser.add_argument("--long-questions", type=int, default=6000)
    parser.add_argument("--held-out", type=int, default=300)
    options = parser.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)

    def bigbird(*words):
        print("$ bigbird " + " ".join(map(str, words)), flush=True)
        subprocess.run([options.program, *map(str, words)], check=True, stdout=subprocess.PIPE)

    train = paragraphs_of(options.data / "squad/train-v2.0.json") + paragraphs_of(options.data / "squad/new_wiki_v1.0.json.gz")
    held = paragraphs_of(options.data / "squad/dev-v2.0.json")
    names = names_of(train, 5, 4000)
    random.Random(1).shuffle(names)
    held_names, words, train_names = names[:400], names[400:1400], names[1400:]
    lengths = {"bare": (4 * 14, 4, options.bare_questions, train, train_names),
               "short": (options.short - 16, 4, options.short_questions, train, train_names),
               "long": (options.length - 40, 10, options.long_questions, train, train_names),
               "held": (options.length - 40, 10, options.held_out, held, held_names)}
    for name, (tokens, facts, count, paragraphs, of) in lengths.items():
        make(work / f"{name}.json", random.Random(name), paragraphs, of, words, tokens, facts, count)
    exchanged(work / "held.json", work / "exchanged.json")

    if not (work / "pretrain/final").exists():
        draw = random.Random("pretraining")
        (work / "text.txt").write_text("\n\n".join(
            train + [stated_twice(draw, train, names[:400] + train_names, words) for _ in range(options.pretrain_texts)]))
        bigbird("text", "vocabulary", work / "text.txt", "-o", work / "tokenizer", "--vocab-size", 8000, "--force")
        bigbird("text", "pretrain-data", work / "text.txt", "-m", work / "tokenizer", "-o", work / "train")
        bigbird("pretrain", "--train", work / "train", "-m", work / "tokenizer", "-o", work / "pretrain", "--layers", options.layers,
                "--width", options.width, "--heads", 4, "--block-size", 32, "--length", 256, "--max-positions", options.length,
                "--batch", 16, "--steps", options.pretrain_steps, "--lr", 1e-3, "--warmup", 100, "--optimizer", "torch",
                "--schedule", "huggingface", "--dropout", 0, "--force")
    init = work / "pretrain/final"
    for name, length, rate, batch in (("bare", 96, 1e-3, 64), ("short", options.short, 5e-4, 32), ("long", options.length, 2e-4, 16)):
        bigbird("text", "qa", "finetune", "--train", work / f"{name}.json", "--init", init, "-o", work / name, "--length", length,
                "--overlap", 0, "--batch", batch, "--epochs", 1, "--lr", rate, "--optimizer", "torch", "--schedule", "huggingface",
                "--dropout", 0, "--save-every", 1000000, "--force")
        init = work / name / "final"
    scores = {}
    for name in ("held", "exchanged"):
        bigbird("text", "qa", "predict", "-m", init, work / f"{name}.json", "-o", work / f"{name}.answers.json", "--force")
        out = work / f"{name}.scores.json"
        bigbird("text", "qa", "evaluate", "--data", work / f"{name}.json", "--predictions", work / f"{name}.answers.json", "-o", out,
                "--force")
        scores[name] = json.loads(out.read_text())
    print("| held-out questions | exact match, F1 (%) |\n|---|---|")
    for name, one in scores.items():
        print(f"| {options.held_out}, {name} | {one['exact_match']:.1f}, {one['f1']:.1f} |")
    answers = json.loads((work / "held.answers.json").read_text())
    quarters = [[0, 0] for _ in range(4)]
    for row in json.loads((work / "held.json").read_text())["data"]:
        text = row["paragraphs"][0]["context"]
        for question in row["paragraphs"][0]["qas"]:
            answer = question["answers"][0]
            quarter = quarters[min(3, 4 * answer["answer_start"] // len(text))]
            quarter[0] += answers[question["id"]] == answer["text"]
            quarter[1] += 1
    print("exact match by the quarter of the context: " + ", ".join(f"{100 * a / max(1, b):.0f} %" for a, b in quarters))
    return 0


if __name__ == "__main__":
    sys.exit(main())
