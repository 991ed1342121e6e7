#!/usr/bin/env python3
"""`bigbird text qa predict` beside transformers' BigBirdForQuestionAnswering on real questions, in turns, in one run.

    python qa_speed.py --program build/release/bin/bigbird --spiece gpt2.model --data train-v1.1.json [--questions 200] [--rounds 2]

Base size, random weights, the published vocabulary; two settings:
    512    every question with its own paragraph, windows of at most 512 tokens, full attention on both sides
    2048   every question with the paragraphs that follow its own until they are about 2,048 tokens, block-sparse attention
           (hf-eval on our side, whose blocks Hugging Face takes in evaluation), one window each

Timed of bigbird: the whole program, from its start over loading and tokenization to the file of predictions. Of Hugging
Face: tokenization by its fast tokenizer (run_qa's call) and the model under no_grad, eight windows to a batch, in the order
of their lengths, padded to the longest of the batch; neither its imports, nor loading, nor decoding. bf16: weights and
activations there; here --precision bf16 (products in bf16, the rest fp32).

Prints a table in Markdown; --json writes every time that was measured. Needs transformers 4.57.1 and torch."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import transformers

SETTINGS = {512: "original_full", 2048: "block_sparse"}
AT_A_TIME = 8
CHARACTERS_OF_A_TOKEN = 4.4  # of English in this vocabulary, about


def questions_of(path, most, length):
    """SQuAD's questions from all over the file; of `length` more than 512 with paragraphs up to about as many tokens."""
    found = []
    for article in json.loads(pathlib.Path(path).read_text())["data"]:
        paragraphs = [paragraph["context"] for paragraph in article["paragraphs"]]
        for number, paragraph in enumerate(article["paragraphs"]):
            context = paragraphs[number]
            for following in paragraphs[number + 1:]:
                if length <= 512 or len(context) > length * CHARACTERS_OF_A_TOKEN:
                    break
                context += "\n" + following
            if length > 512:
                if len(context) < length * CHARACTERS_OF_A_TOKEN:
                    continue
                # One window: question and special pieces fit beside it.
                context = context[:int((length - 150) * CHARACTERS_OF_A_TOKEN)]
            found += [{"id": question["id"], "question": question["question"].strip(), "context": context}
                      for question in paragraph["qas"]]
    return found[::max(1, len(found) // most)][:most]


def make_folder(folder, spiece, attention):
    torch.manual_seed(1)
    tokenizer = transformers.BigBirdTokenizerFast(vocab_file=spiece)
    config = transformers.BigBirdConfig(vocab_size=len(tokenizer), attention_type=attention, sep_token_id=66,
                                        bigbird={"random_mode": "hf-eval"})
    transformers.BigBirdForQuestionAnswering(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "spiece.model").write_bytes(pathlib.Path(spiece).read_bytes())


class Peer:
    def __init__(self, folder, precision, length):
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self.model = transformers.BigBirdForQuestionAnswering.from_pretrained(folder, dtype=dtype).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.length = length

    def windows(self, questions):
        encoded = self.tokenizer([q["question"] for q in questions], [q["context"] for q in questions],
                                 truncation="only_second", max_length=self.length, stride=self.length // 3,
                                 return_overflowing_tokens=True, return_offsets_mapping=True)
        return sorted(encoded["input_ids"], key=len)

    def answer(self, questions):
        windows = self.windows(questions)
        with torch.no_grad():
            for first in range(0, len(windows), AT_A_TIME):
                batch = self.tokenizer.pad({"input_ids": windows[first:first + AT_A_TIME]}, return_tensors="pt")
                self.model(**batch)


def timed(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def measure(length, precision, arguments, work):
    questions = questions_of(arguments.data, arguments.questions, length)
    folder = work / f"model-{length}"
    if not folder.exists():
        make_folder(folder, arguments.spiece, SETTINGS[length])
    data = work / f"questions-{length}.json"
    data.write_text(json.dumps({"data": [{"title": "", "paragraphs": [
        {"context": q["context"], "qas": [{"id": q["id"], "question": q["question"], "answers": []}]} for q in questions]}]}))
    peer = Peer(folder, precision, length)
    sizes = [len(window) for window in peer.windows(questions)]
    ours = lambda: subprocess.run(  # noqa: E731
        [arguments.program, "text", "qa", "predict", "-q", "-m", folder, data, "-o", work / "predictions.json", "--force", "--length",
         str(length), "--precision", precision, "-@", str(arguments.threads)], check=True)
    times = {"bigbird": [], "Hugging Face": []}
    peer.answer(questions[:AT_A_TIME])
    for turn in range(arguments.rounds):
        for name, action in (("bigbird", ours), ("Hugging Face", lambda: peer.answer(questions))):
            times[name].append(timed(action))
            print(f"{length}, {precision}, round {turn + 1}, {name}: {times[name][-1]:.1f} s", file=sys.stderr)
    return {"length": length, "precision": precision, "questions": len(questions), "windows": len(sizes),
            "tokens": sum(sizes), "times": times}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bigbird, a release build")
    parser.add_argument("--spiece", required=True, help="the published spiece.model")
    parser.add_argument("--data", required=True, help="questions shaped like SQuAD's")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="512 fp32,512 bf16,2048 fp32,2048 bf16")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(arguments.threads)
    results = []
    with tempfile.TemporaryDirectory() as name:
        for case in arguments.only.split(","):
            length, precision = case.split()
            results.append(measure(int(length), precision, arguments, pathlib.Path(name)))
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1))
    print("| window | precision | questions, windows, tokens | bigbird | Hugging Face | ratio |")
    print("|---|---|---|---|---|---|")
    for one in results:
        ours, theirs = (statistics.median(one["times"][name]) for name in ("bigbird", "Hugging Face"))
        print(f"| {one['length']:,} | {one['precision']} | {one['questions']}, {one['windows']:,}, {one['tokens']:,} | "
              f"{ours:.1f} s | {theirs:.1f} s | {theirs / ours:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
