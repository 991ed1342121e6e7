"""Computes the outputs of tests/golden/hf_tiny.json anew with transformers in float64, from the config, inputs and weights
that stand in the file (they were drawn once; the file is their only source), and says how far they are from the recorded ones.

    python make_hf_tiny.py            # compares; exit status 1 when anything differs by more than 1e-8 of its size
    python make_hf_tiny.py --write    # puts what was computed into the file

Fields: tests/golden/README.md. Train mode, so that the random blocks are the seeded ones; every dropout is 0."""

import argparse
import json
import pathlib
import sys

import torch
from transformers import BigBirdConfig, BigBirdForPreTraining, BigBirdForSequenceClassification

import dense_attention

FILE = pathlib.Path(__file__).resolve().parent.parent / "golden" / "hf_tiny.json"
INPUTS = ("input_ids", "token_type_ids", "attention_mask")
TIED = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")  # the word table, and cls.predictions.bias
TOLERANCE = 1e-8  # of a value, or of 0.01: the file has nine digits of most


def rounded(tensor):
    return [float(f"{value:.9g}") for value in tensor.detach().reshape(-1).tolist()]


def load(model, parameters):
    """Writes the weights into the model; tied ones follow. Every weight of the model must be given."""
    state = model.state_dict()
    missing = [name for name in state if name not in parameters and name not in TIED and "pooler" not in name]
    assert not missing, missing
    with torch.no_grad():
        for name, values in parameters.items():
            state[name].copy_(torch.tensor(values, dtype=torch.float64).reshape(state[name].shape))
    return model


def blocks_drawn(model, config, length):
    return [
        dense_attention.drawn_blocks(layer.attention.self, config.num_attention_heads, length, config.block_size,
                                     config.num_random_blocks).tolist()
        for layer in model.bert.encoder.layer
    ]


def norms(model, names):
    gradients = dict(model.named_parameters())
    return {name: float(f"{gradients[name].grad.norm().item():.12g}") for name in names}


def pretraining(golden, attention_type, before):
    config = BigBirdConfig(**golden["config"], attention_type=attention_type)
    model = load(BigBirdForPreTraining(config).double().train(), golden["parameters"])
    inputs = {name: torch.tensor(golden[name]) for name in INPUTS}
    labels = torch.tensor(golden["labels"])
    blocks = blocks_drawn(model, config, labels.shape[1]) if attention_type == "block_sparse" else []
    hidden = model.bert(**inputs).last_hidden_state
    out = model(**inputs, labels=labels, next_sentence_label=torch.tensor(golden["next_sentence_label"]))
    out.loss.backward()
    gradients = dict(model.named_parameters())
    return {
        "attention_type": attention_type,
        "random_blocks": blocks,
        "loss": out.loss.item(),
        "last_hidden_state": rounded(hidden),
        "relationship_logits": rounded(out.seq_relationship_logits),
        "prediction_logits_labelled": [rounded(row) for row in out.prediction_logits[labels != -100]],
        "gradient_norms": norms(model, before["gradient_norms"]),
        "gradients": {name: rounded(gradients[name].grad) for name in before["gradients"]},
    }


def classification(golden, before):
    config = BigBirdConfig(**golden["config"], attention_type="block_sparse", num_labels=3)
    encoder = {name: values for name, values in golden["parameters"].items()
               if name.startswith("bert.") and not name.startswith("bert.pooler")}
    model = load(BigBirdForSequenceClassification(config).double().train(), encoder | before["parameters"])
    inputs = {name: torch.tensor(golden[name]) for name in INPUTS}
    out = model(**inputs, labels=torch.tensor(before["labels"]))
    out.loss.backward()
    return {
        "parameters": before["parameters"],
        "labels": before["labels"],
        "random_blocks": blocks_drawn(model, config, inputs["input_ids"].shape[1]),
        "loss": out.loss.item(),
        "logits": rounded(out.logits),
        "gradient_norms": norms(model, before["gradient_norms"]),
    }


def distance(now, before):
    """The largest difference of two such structures, of a value or of 0.01; infinite where they have other shapes."""
    if isinstance(before, dict):
        if now.keys() != before.keys():
            return float("inf")
        return max((distance(now[name], before[name]) for name in before), default=0.0)
    if isinstance(before, list):
        if len(now) != len(before):
            return float("inf")
        return max((distance(a, b) for a, b in zip(now, before)), default=0.0)
    if isinstance(before, str):
        return 0.0 if now == before else float("inf")
    return abs(now - before) / max(abs(before), 0.01)


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def object_of_lines(value):
    return "{\n" + ",\n".join(f'"{key}":{item}' for key, item in value.items()) + "\n}"


def text_of(golden):
    """JSON as the file has it: a line for each key of the file, of a run, and of `parameters`."""
    shown = {name: compact(value) for name, value in golden.items()}
    runs = [object_of_lines({name: compact(value) for name, value in run.items()}) for run in golden["runs"]]
    shown["runs"] = "[\n" + ",\n".join(runs) + "\n]"
    shown["parameters"] = object_of_lines({name: compact(value) for name, value in golden["parameters"].items()})
    return object_of_lines(shown) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put what was computed into the file")
    arguments = parser.parse_args()
    golden = json.loads(FILE.read_text())
    now = dict(golden)
    now["runs"] = [pretraining(golden, run["attention_type"], run) for run in golden["runs"]]
    now["classification"] = classification(golden, golden["classification"])
    worst = 0.0
    for name, before, after in [(run["attention_type"], run, new) for run, new in zip(golden["runs"], now["runs"])] + [
            ("classification", golden["classification"], now["classification"])]:
        difference = distance(after, before)
        worst = max(worst, difference)
        print(f"{name}\t{difference:.2e}")
    if arguments.write:
        FILE.write_text(text_of(now))
    elif worst > TOLERANCE:
        sys.exit(f"{FILE.name} does not hold what this version of transformers computes")


if __name__ == "__main__":
    main()
