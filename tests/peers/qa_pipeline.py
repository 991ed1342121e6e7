#!/usr/bin/env python3
"""Answers of one folder over one set of questions: transformers' question-answering pipeline and `bigbird text qa predict
--decode pipeline`, the best answers of every question compared.

    python qa_pipeline.py --program build/release/bin/bigbird --spiece gpt2.model --data dev-v1.1.json [--questions 100]
    python qa_pipeline.py --program ... --folder run/final --data dev-v1.1.json

Without --folder a small model of random weights is made, its answers far apart. Both read windows of the folder's own length
(384 without text.json) with the same overlap, whole questions, the same blocks (hf-eval). Hugging Face leaves sparse
attention for good once an input was short; here it is set back before every window, so that each is computed by its own
length. Texts must be equal but for white space at their left, scores within 1e-4 and within 1e-3 of themselves; where two
answers have the same score within that, either may come first. Status 1 and a line for each question that differs.

Needs transformers 4.57.1 (the pipeline is gone since 5.3) and torch."""

import argparse
import inspect
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import torch
import transformers

import make_model

SCORE_BOUND = 1e-4
SCORE_SHARE = 1e-3
TOP = 3


def read_questions(path, most):
    data = json.loads(pathlib.Path(path).read_text())["data"]
    found = [{"id": question["id"], "question": question["question"], "context": paragraph["context"]}
             for article in data for paragraph in article["paragraphs"] for question in paragraph["qas"]]
    return found[::max(1, len(found) // most)][:most]


def make_folder(folder, spiece):
    """Random weights, with a last layer that tells tokens apart."""
    make_model.make(SimpleNamespace(folder=folder, head="question_answering", base=False, vocabulary=50358, seed=1, bin=False))
    model = transformers.BigBirdForQuestionAnswering.from_pretrained(folder)
    with torch.no_grad():
        for parameter in (model.bert.embeddings.word_embeddings.weight, model.qa_classifier.qa_outputs.weight):
            parameter *= 30
    # The published vocabulary's numbers; transformers' own default for [SEP] is that of the config.
    model.config.update({"sep_token_id": 66, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1})
    model.save_pretrained(folder)
    shutil.copy(spiece, folder / "spiece.model")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BigBirdTokenizerFast"}))


def with_hf_eval(folder, copy):
    shutil.copytree(folder, copy)
    config = json.loads((copy / "config.json").read_text())
    config.setdefault("bigbird", {})["random_mode"] = "hf-eval"
    (copy / "config.json").write_text(json.dumps(config))
    return copy


def ask_theirs(folder, questions, length, overlap):
    tokenizer = transformers.BigBirdTokenizerFast(str(folder / "spiece.model"))
    model = transformers.BigBirdForQuestionAnswering.from_pretrained(folder).eval()
    forward = model.forward

    def forward_by_length(*arguments, **named):
        model.bert.set_attention_type("block_sparse")
        return forward(*arguments, **named)

    # The pipeline asks for the signature of what it calls.
    forward_by_length.__signature__ = inspect.signature(forward)
    model.forward = forward_by_length
    pipe = transformers.pipeline("question-answering", model=model, tokenizer=tokenizer, framework="pt")
    answers = {}
    for question in questions:
        given = pipe(question=question["question"], context=question["context"], top_k=TOP, max_seq_len=length,
                     doc_stride=overlap)
        answers[question["id"]] = given if isinstance(given, list) else [given]
    return answers


def ask_ours(program, folder, questions, length, overlap, work):
    flat = [dict(question, answers={"text": [], "answer_start": []}) for question in questions]
    (work / "in.json").write_text(json.dumps({"data": flat}))
    subprocess.run([program, "text", "qa", "predict", "--quiet", "-m", folder, work / "in.json", "-o", work / "out.json",
                    "--candidates", work / "nbest.json", "--decode", "pipeline", "--n-best-size", str(TOP), "--length", str(length),
                    "--overlap", str(overlap), "--max-question", str(length // 2)], check=True)
    return json.loads((work / "nbest.json").read_text())


def is_close(a, b):
    return abs(a - b) <= min(SCORE_BOUND, SCORE_SHARE * max(abs(a), abs(b)))


def differences(theirs, ours):
    if len(theirs) != len(ours):
        yield f"{len(theirs)} answers against {len(ours)}"
    scores = {answer["answer"].lstrip(): answer["score"] for answer in theirs}
    for place, (a, b) in enumerate(zip(theirs, ours)):
        if not is_close(a["score"], b["probability"]):
            yield f"answer {place}: score {a['score']:.6g} against {b['probability']:.6g}"
        elif a["answer"].lstrip() != b["text"]:
            # Of equal scores either may come first, also over the end of the list.
            if b["text"] in scores and is_close(scores[b["text"]], a["score"]):
                continue
            yield f"answer {place}: {a['answer']!r} against {b['text']!r} (scores {a['score']:.6g}, {b['probability']:.6g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bigbird")
    parser.add_argument("--data", required=True, help="questions shaped like SQuAD's")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--folder", type=pathlib.Path, help="a BigBird folder with a question answering head")
    parser.add_argument("--spiece", help="without --folder: the published spiece.model")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    questions = read_questions(arguments.data, arguments.questions)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        folder = arguments.folder
        if folder is None:
            folder = work / "model"
            make_folder(folder, arguments.spiece)
        settings = folder / "text.json"
        length = json.loads(settings.read_text())["length"] if settings.exists() else 384
        overlap = min(1024, length // 3)
        theirs = ask_theirs(folder, questions, length, overlap)
        ours = ask_ours(arguments.program, with_hf_eval(folder, work / "ours"), questions, length, overlap, work)
    wrong, worst = 0, 0.0
    for question in questions:
        a, b = theirs[question["id"]], ours[question["id"]]
        worst = max([worst] + [abs(x["score"] - y["probability"]) for x, y in zip(a, b)])
        for line in differences(a, b):
            print(f"{question['id']}: {line}")
            wrong += 1
    best = sorted(answers[0]["score"] for answers in theirs.values())
    print(f"{len(questions)} questions, {TOP} answers each: {wrong} differ, largest difference of scores {worst:.2g}; "
          f"best scores {best[0]:.3g} to {best[-1]:.3g}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
