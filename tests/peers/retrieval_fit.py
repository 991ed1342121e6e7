#!/usr/bin/env python3
"""Whether a small model learns to find a fact anywhere in a long text: made from scratch, on real paragraphs.

    python tests/peers/retrieval_fit.py DATA [--program build/release/bin/bigbird] [--work FOLDER] [--threads N]

DATA is a folder with squad/train-v2.0.json, new_wiki_v1.0.json.gz (both for training) and dev-v2.0.json (held out). A context
is made of paragraphs of Wikipedia, about --length tokens long; between their sentences stand facts, "A pass phrase is Harbour
amber.", and a question asks for one of them by its name, "Which word follows Harbour?". Every name and every answer is one
piece of the vocabulary. All facts of a context have the same form, and their names and answers stand nowhere else in it: an
answer is found by the name alone and in one place. Held out: other paragraphs, and names that no fact of the training has.

Three trainings, each begins with the model of the one before: contexts of four facts alone, short ones with sentences, long
ones. Half of their questions are "Where is Harbour named?", answered by "Harbour": the name is found first, the word behind it
some hundred updates later. The first model is made from config.json alone (`convert --allow-missing '*'`), because `pretrain`
has no option for two of its settings: first random values wider than 0.02, and rotary positions, with which "the word behind"
is the same at every place. LayerNorm stands before each part. benchmarks/text.md says what was seen with and without these.

Trainings that are finished in FOLDER are not done again. Scored over --held-out questions of the first form: exact match; the
same with the answers of a context's two questions exchanged, and with the questions exchanged between contexts; by where in
its context the fact stands.
"""
import argparse
import collections
import gzip
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import time


def paragraphs_of(path):
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    articles = json.loads(text)["data"]
    return [paragraph["context"].replace("\n", " ") for article in articles for paragraph in article["paragraphs"]]


def pieces_of(text):
    """About as many tokens as the vocabulary gives."""
    return len(text) / 4.5


def tokens_of_facts(facts):
    return 8 * facts


def blank_model(folder, tokenizer, options):
    """A folder that has a tokenizer and config.json, and no weight."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("spiece.model", "spiece.vocab", "tokenizer_config.json"):
        shutil.copy(tokenizer / name, folder / name)
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    header += b" " * (-len(header) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    rotary = options.width // options.heads // 2
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["BigBirdForPreTraining"], "model_type": "big_bird", "vocab_size": options.vocabulary,
        "hidden_size": options.width, "num_hidden_layers": options.layers, "num_attention_heads": options.heads,
        "intermediate_size": 4 * options.width, "hidden_act": "gelu_new", "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0, "max_position_embeddings": options.length, "type_vocab_size": 2,
        "initializer_range": options.spread, "layer_norm_eps": 1e-12, "pad_token_id": 0, "bos_token_id": 65, "eos_token_id": 66,
        "sep_token_id": 66, "attention_type": "block_sparse", "block_size": options.block, "num_random_blocks": 3,
        "use_bias": True, "rescale_embeddings": False,
        "bigbird": {"norm_type": "prenorm", "positions": "rotary", "rotary_dim": rotary, "rotary_base": 1000.0,
                    "random_mode": "google"}}))


def context(draw, paragraphs, names, words, tokens, facts):
    """A text with as many facts as asked for, and for each of them name, word and where the name begins."""
    sentences = []
    while sum(map(pieces_of, sentences)) < tokens - tokens_of_facts(facts):
        sentences += re.split(r"(?<=[.!?]) ", draw.choice(paragraphs))
    while sentences and sum(map(pieces_of, sentences)) > tokens - tokens_of_facts(facts):
        sentences.pop()
    taken = set(re.findall(r"\w+", " ".join(sentences).lower()))
    pairs = []
    while len(pairs) < facts:
        name, word = draw.choice(names), draw.choice(words)
        if name.lower() in taken or word in taken or name.lower() == word:
            continue
        taken |= {name.lower(), word}
        pairs.append((draw.randrange(len(sentences) + 1), name, word))
    parts, places = [], []
    for at in range(len(sentences) + 1):
        for place, name, word in pairs:
            if place == at:
                begin = len(" ".join(parts)) + (1 if parts else 0) + len("A pass phrase is ")
                parts.append(f"A pass phrase is {name} {word}.")
                places.append((name, word, begin))
        if at < len(sentences):
            parts.append(sentences[at])
    return " ".join(parts), places


def make(path, draw, paragraphs, names, words, tokens, facts, questions, mentions):
    """SQuAD's form, two questions a context; a share `mentions` of them asks for the name itself."""
    rows = []
    while 2 * len(rows) < questions:
        text, places = context(draw, paragraphs, names, words, tokens, facts)
        qas = []
        for name, word, begin in draw.sample(places, 2):
            question, answer, start = f"Which word follows {name}?", word, begin + len(name) + 1
            if draw.random() < mentions:
                question, answer, start = f"Where is {name} named?", name, begin
            assert text[start:].startswith(answer) and text.count(f" {name} ") == 1
            qas.append({"id": f"{len(rows)}-{len(qas)}", "question": question,
                        "answers": [{"text": answer, "answer_start": start}]})
        rows.append({"title": str(len(rows)), "paragraphs": [{"context": text, "qas": qas}]})
    path.write_text(json.dumps({"data": rows}))


def exchanged(path, to, between):
    """Every context with the questions of the next one, or the two questions of a context with each other's answer."""
    rows = json.loads(path.read_text())["data"]
    contexts = [row["paragraphs"][0]["context"] for row in rows]
    for i, row in enumerate(rows):
        first, second = row["paragraphs"][0]["qas"]
        if between:
            row["paragraphs"][0]["context"] = contexts[(i + 1) % len(rows)]
            for question in (first, second):
                question["answers"][0]["answer_start"] = 0  # not looked at
        else:
            first["answers"], second["answers"] = second["answers"], first["answers"]
    to.write_text(json.dumps({"data": rows}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/bigbird")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("retrieval-fit"))
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--length", type=int, default=1024, help="tokens of an input")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--block", type=int, default=16, help="tokens of an attention block")
    parser.add_argument("--vocabulary", type=int, default=12000)
    parser.add_argument("--spread", type=float, default=0.09, help="standard deviation of the first random values")
    parser.add_argument("--bare-questions", type=int, default=96000, help="of contexts that are facts alone")
    parser.add_argument("--short", type=int, default=160, help="tokens of an input of the questions behind those")
    parser.add_argument("--short-questions", type=int, default=6400)
    parser.add_argument("--long-questions", type=int, default=2400)
    parser.add_argument("--held-out", type=int, default=300)
    options = parser.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)
    began = time.time()

    def bigbird(*words):
        print("$ bigbird " + " ".join(map(str, words)), flush=True)
        threads = ["-@", options.threads] if words[:2] != ("text", "vocabulary") else []
        subprocess.run([options.program, *map(str, [*words, *threads])], check=True, stdout=subprocess.PIPE)

    train = paragraphs_of(options.data / "squad/train-v2.0.json") + paragraphs_of(options.data / "squad/new_wiki_v1.0.json.gz")
    held = paragraphs_of(options.data / "squad/dev-v2.0.json")
    counts = collections.Counter(re.findall(r"\b[a-z]{4,9}\b", " ".join(train)))
    drawn = sorted(word for word, count in counts.items() if 3 <= count <= 400)
    random.Random(1).shuffle(drawn)
    words, drawn = drawn[:1000], [word.capitalize() for word in drawn[1000:4300]]
    # Forty times each, so that every one of them becomes one piece.
    (work / "text.txt").write_text("\n\n".join(train + [" ".join(["is", *words, *drawn]) for _ in range(40)]))
    if not (work / "tokenizer").exists():
        bigbird("text", "vocabulary", work / "text.txt", "-o", work / "tokenizer", "--vocab-size", options.vocabulary)
    pieces = {line.split("\t")[0] for line in (work / "tokenizer/spiece.vocab").read_text().splitlines()}
    words, names = ([word for word in some if "\u2581" + word in pieces] for some in (words, drawn))
    held_names, train_names = names[:300], names[300:]
    print(f"{len(train_names)} names, {len(held_names)} held out, {len(words)} words for answers", flush=True)
    # tokens of a context, facts in it, questions, share of those that ask for the name
    sets = {"bare": (tokens_of_facts(4), 4, options.bare_questions, train, train_names, 0.5),
            "short": (options.short - 30, 4, options.short_questions, train, train_names, 0.5),
            "long": (options.length - 70, 10, options.long_questions, train, train_names, 0.5),
            "held": (options.length - 70, 10, options.held_out, held, held_names, 0)}
    for name, (tokens, facts, count, paragraphs, of, mentions) in sets.items():
        make(work / f"{name}.json", random.Random(name), paragraphs, of, words, tokens, facts, count, mentions)
    exchanged(work / "held.json", work / "between.json", True)
    exchanged(work / "held.json", work / "within.json", False)

    blank_model(work / "blank", work / "tokenizer", options)
    bigbird("convert", work / "blank", work / "fresh", "--allow-missing", "*", "--force")
    init = work / "fresh"
    # Length and rate; updates of warm-up; questions of an update.
    trainings = {"bare": (64, 1e-3, 100, 64), "short": (options.short, 7e-4, 20, 64), "long": (options.length, 5e-4, 20, 16)}
    for name, (length, rate, warmup, batch) in trainings.items():
        if not (work / name / "final").exists():
            bigbird("text", "qa", "finetune", "--train", work / f"{name}.json", "--init", init, "-o", work / name,
                    "--length", length, "--overlap", 0, "--batch", batch, "--epochs", 1, "--lr", rate, "--warmup", warmup,
                    "--beta2", 0.98, "--clip-norm", 1, "--optimizer", "torch", "--schedule", "huggingface", "--dropout", 0,
                    "--save-every", 1000000, "--force")
        init = work / name / "final"
        print(f"{(time.time() - began) / 60:.1f} minutes", flush=True)
    for name in ("held", "between"):
        bigbird("text", "qa", "predict", "-m", init, work / f"{name}.json", "-o", work / f"{name}.answers.json", "--force")
    print("| held-out questions | exact match, F1 (%) |\n|---|---|", flush=True)
    for name, answers in (("held", "held"), ("within", "held"), ("between", "between")):
        out = work / f"{name}.scores.json"
        subprocess.run(list(map(str, [options.program, "text", "qa", "evaluate", "--format", "squad", "--data",
                                      work / f"{name}.json", "--predictions", work / f"{answers}.answers.json", "-o", out])),
                       check=True)
        one = json.loads(out.read_text())
        what = {"held": "as they are", "within": "exchanged in their context", "between": "exchanged between contexts"}[name]
        print(f"| {options.held_out}, {what} | {one['exact_match']:.1f}, {one['f1']:.1f} |")
    answers = json.loads((work / "held.answers.json").read_text())
    quarters = [[0, 0] for _ in range(4)]
    for row in json.loads((work / "held.json").read_text())["data"]:
        text = row["paragraphs"][0]["context"]
        for question in row["paragraphs"][0]["qas"]:
            answer = question["answers"][0]
            quarter = quarters[min(3, 4 * answer["answer_start"] // len(text))]
            quarter[0] += answers[question["id"]] == answer["text"]
            quarter[1] += 1
    print("exact match by the quarter of the context: " + ", ".join(f"{a} of {b}" for a, b in quarters))
    print(f"{(time.time() - began) / 60:.1f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
