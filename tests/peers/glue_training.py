#!/usr/bin/env python3
"""The loss of GLUE's tasks over 20 updates: `bigbird text glue finetune` and transformers' BigBirdForSequenceClassification
with torch's AdamW and linear schedule, from the same weights, on the same rows, no dropout.

    python glue_training.py --program build/release/bin/bigbird --spiece gpt2.model --glue FOLDER [--tasks cola,rte,stsb]

FOLDER holds GLUE as downloaded. An update takes all rows that were chosen, so that their order is no matter; inputs are
made and losses taken as in run_glue.py (pairs of texts without token types, as BigBird's tokenizer gives them; of STS-B
the squared error). Status 1 where a loss differs by more than 1e-4.

Needs transformers 4.57.1 and torch."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers

import torch_training

UPDATES = 20
LENGTH = 128
BOUND = 1e-4
# Folder; names of the columns, where train.tsv has them in its first line; columns of texts and label; classes by their
# names, none for a number. Copies of STS-B without the line of names are about: it is written anew.
TASKS = {
    "cola": ("CoLA", None, (3,), 1, ["0", "1"]),
    "sst2": ("SST-2", "sentence label", ("sentence",), "label", ["0", "1"]),
    "rte": ("RTE", "index sentence1 sentence2 label", ("sentence1", "sentence2"), "label", ["entailment", "not_entailment"]),
    "qnli": ("QNLI", "index question sentence label", ("question", "sentence"), "label", ["entailment", "not_entailment"]),
    "stsb": ("STS-B", "index genre filename year old_index source1 source2 sentence1 sentence2 score",
             ("sentence1", "sentence2"), "score", None),
}


def chosen_rows(path, most, columns):
    """The line of names, where there is one, and `most` rows from all over the file."""
    rows = [line for line in path.read_text(encoding="utf-8-sig").split("\n") if line]
    names = ["\t".join(columns.split())] if columns else []
    if rows[:1] == names:
        rows = rows[1:]
    return names, rows[::max(1, len(rows) // most)][:most]


def read(names, rows, texts, label):
    place = {name: i for i, name in enumerate(names[0].rstrip("\r").split("\t"))} if names else {}
    for row in rows:
        cells = row.rstrip("\r").split("\t")
        yield [cells[place.get(text, text)] for text in texts], cells[place.get(label, label)]


def make_init(folder, spiece, classes):
    """A classifier with all its weights, so that none is drawn anew."""
    torch.manual_seed(1)
    tokenizer = transformers.BigBirdTokenizerFast(vocab_file=spiece)
    config = transformers.BigBirdConfig(vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                        intermediate_size=128, block_size=16, max_position_embeddings=512,
                                        attention_type="original_full", hidden_dropout_prob=0.0,
                                        attention_probs_dropout_prob=0.0, classifier_dropout=0.0)
    if classes is None:
        config.num_labels, config.problem_type = 1, "regression"
    else:
        config.problem_type = "single_label_classification"
        config.id2label = dict(enumerate(classes))
        config.label2id = {name: i for i, name in enumerate(classes)}
    transformers.BigBirdForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shutil.copy(spiece, folder / "spiece.model")
    return tokenizer


def their_losses(tokenizer, folder, examples, classes):
    model = transformers.BigBirdForSequenceClassification.from_pretrained(folder).train()
    texts = list(zip(*(texts for texts, _ in examples)))
    inputs = tokenizer(*(list(side) for side in texts), padding="max_length", max_length=LENGTH, truncation=True,
                       return_tensors="pt")
    if classes is None:
        labels = torch.tensor([float(label) for _, label in examples])
    else:
        labels = torch.tensor([classes.index(label) for _, label in examples])
    return torch_training.train(model, lambda model: model(**inputs, labels=labels).loss, UPDATES)


def losses(task, arguments, work):
    folder, columns, texts, label, classes = TASKS[task]
    names, rows = chosen_rows(arguments.glue / folder / "train.tsv", arguments.rows, columns)
    data = work / "glue" / folder
    data.mkdir(parents=True)
    for part in ("train", "dev"):
        (data / f"{part}.tsv").write_text("\n".join(names + rows) + "\n", encoding="utf-8")
    tokenizer = make_init(work / "init", arguments.spiece, classes)
    theirs = their_losses(tokenizer, work / "init", list(read(names, rows, texts, label)), classes)
    subprocess.run([arguments.program, "text", "glue", "finetune", "--quiet", "--task", task, "--data", work / "glue", "--init",
                    work / "init", "-o", work / "run", "--length", str(LENGTH), "--batch", str(len(rows)), "--steps",
                    str(UPDATES), *torch_training.OPTIONS], check=True)
    return theirs, torch_training.losses_of_run(work / "run"), len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bigbird")
    parser.add_argument("--spiece", required=True, help="the published spiece.model")
    parser.add_argument("--glue", required=True, type=pathlib.Path, help="GLUE as downloaded")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--rows", type=int, default=24)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    agree = True
    for task in arguments.tasks.split(","):
        with tempfile.TemporaryDirectory() as name:
            theirs, ours, rows = losses(task, arguments, pathlib.Path(name))
            agree = torch_training.compare(f"{task}, {rows} rows", theirs, ours, BOUND) and agree
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
