#!/usr/bin/env python3
"""The loss of question answering over 20 updates: `bigbird text qa finetune` and transformers' BigBirdForQuestionAnswering
with torch's AdamW and linear schedule, from the same weights, over the same windows with the same labels, no dropout.

    python qa_training.py --program build/release/bin/bigbird --spiece gpt2.model --data train.json

An update takes all windows, so that their order is no matter; windows of 128 tokens are attended in full. Features are made
as run_qa.py makes them (prepare_train_features). Status 1 where a loss differs by more than 1e-4.

Needs transformers 4.57.1 and torch."""

import argparse
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
import torch_training
from qa_pipeline import read_questions

UPDATES = 20
LENGTH, OVERLAP = 128, 40
BOUND = 1e-4


def answered_questions(path, most):
    answers = {question["id"]: question["answers"] for article in json.loads(pathlib.Path(path).read_text())["data"]
               for paragraph in article["paragraphs"] for question in paragraph["qas"] if question["answers"]}
    found = [question for question in read_questions(path, 10 ** 9) if question["id"] in answers]
    chosen = found[::max(1, len(found) // most)][:most]
    for question in chosen:
        given = answers[question["id"]][:1]
        question["answers"] = {"text": [a["text"] for a in given], "answer_start": [a["answer_start"] for a in given]}
    return chosen


def features(tokenizer, questions):
    """Ids, mask and labels of all windows, as run_qa.py has them."""
    encoded = tokenizer([q["question"].lstrip() for q in questions], [q["context"] for q in questions],
                        truncation="only_second", max_length=LENGTH, stride=OVERLAP, return_overflowing_tokens=True,
                        return_offsets_mapping=True, padding="max_length")
    starts, ends = [], []
    for i, offsets in enumerate(encoded["offset_mapping"]):
        answer = questions[encoded["overflow_to_sample_mapping"][i]]["answers"]
        begin = answer["answer_start"][0]
        end = begin + len(answer["text"][0])
        sides = encoded.sequence_ids(i)
        first, last = sides.index(1), len(sides) - 1 - sides[::-1].index(1)
        if offsets[first][0] > begin or offsets[last][1] < end:
            starts.append(0)
            ends.append(0)
            continue
        starts.append(max(k for k in range(first, last + 1) if offsets[k][0] <= begin))
        ends.append(min(k for k in range(first, last + 1) if offsets[k][1] >= end))
    tensor = {name: torch.tensor(encoded[name]) for name in ("input_ids", "attention_mask")}
    return dict(tensor, start_positions=torch.tensor(starts), end_positions=torch.tensor(ends))


def their_losses(folder, questions):
    tokenizer = transformers.BigBirdTokenizerFast(str(folder / "spiece.model"))
    model = transformers.BigBirdForQuestionAnswering.from_pretrained(
        folder, attention_type="original_full", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        classifier_dropout=0.0).train()
    batch = features(tokenizer, questions)
    # Padding takes part in Hugging Face's softmax; ours is over the tokens of an input alone.
    hide = (1 - batch["attention_mask"]) * -1e6

    def loss(model):
        out = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        return (torch.nn.functional.cross_entropy(out.start_logits + hide, batch["start_positions"]) +
                torch.nn.functional.cross_entropy(out.end_logits + hide, batch["end_positions"])) / 2

    return torch_training.train(model, loss, UPDATES), len(batch["input_ids"])


def our_losses(program, folder, questions, windows, work):
    (work / "train.json").write_text(json.dumps({"data": questions}))
    subprocess.run([program, "text", "qa", "finetune", "--quiet", "--train", work / "train.json", "--init", folder, "-o",
                    work / "run", "--length", str(LENGTH), "--overlap", str(OVERLAP), "--max-question", "64", "--batch",
                    str(windows), "--steps", str(UPDATES), *torch_training.OPTIONS], check=True)
    return torch_training.losses_of_run(work / "run")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bigbird")
    parser.add_argument("--spiece", required=True, help="the published spiece.model")
    parser.add_argument("--data", required=True, help="questions shaped like SQuAD's, with answers")
    parser.add_argument("--questions", type=int, default=12)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    questions = answered_questions(arguments.data, arguments.questions)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        folder = work / "init"
        make_model.make(SimpleNamespace(folder=folder, head="question_answering", base=False, vocabulary=50358, seed=1,
                                        bin=False))
        shutil.copy(arguments.spiece, folder / "spiece.model")
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BigBirdTokenizerFast"}))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(dict(config, sep_token_id=66, attention_probs_dropout_prob=0.0)))
        theirs, windows = their_losses(folder, questions)
        ours = our_losses(arguments.program, folder, questions, windows, work)
    return 0 if torch_training.compare(f"{len(questions)} questions in {windows} windows", theirs, ours, BOUND) else 1


if __name__ == "__main__":
    sys.exit(main())
