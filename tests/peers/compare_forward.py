"""One model folder, one batch, two programs: transformers and `bigbird forward`. Prints the largest absolute difference of
every output at real tokens, and the largest relative norm error of the gradients.

    python compare_forward.py FOLDER --bigbird PROGRAM [--length 4096] [--batch 1] [--padding] [--train] [--gradients]
                              [--double] [--input IN.safetensors] [--work FOLDER] [--threads 1]

FOLDER is any folder of a BigBird or a Longformer: downloaded, written by make_model.py, or written by bigbird (pretrain,
promoter finetune, convert); a Longformer has the global tokens that its class makes. It must load without missing, unexpected or mismatched tensors and without a warning; else the status is 1.
--double runs transformers in float64 and in float32, and compares both programs with float64."""

import argparse
import json
import logging
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

import formula_weights
import make_longformer

AUTO_CLASSES = {
    "BigBirdModel": transformers.AutoModel,
    "BigBirdForPreTraining": transformers.AutoModelForPreTraining,
    "BigBirdForMaskedLM": transformers.AutoModelForMaskedLM,
    "BigBirdForSequenceClassification": transformers.AutoModelForSequenceClassification,
    "BigBirdForQuestionAnswering": transformers.AutoModelForQuestionAnswering,
    **{made.__name__: made for made in make_longformer.CLASSES.values()},
}
# transformers 4.57 says this of its own class, whatever is loaded.
OF_THE_CLASS = "BigBirdForMaskedLM has generative capabilities"
NOT_COUNTED = -1e5  # question tokens, from which transformers subtracts 1e6


def load(folder, dtype):
    """The model by the class that config.json names, and everything that loading had to say of the folder."""
    config = json.loads((folder / "config.json").read_text())
    said = []
    handler = logging.Handler(level=logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("transformers").addHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        if config["model_type"] != "longformer":
            no_dropout["classifier_dropout"] = 0.0
        model, info = AUTO_CLASSES[config["architectures"][0]].from_pretrained(
            folder, output_loading_info=True, dtype=dtype, **no_dropout)
    logging.getLogger("transformers").removeHandler(handler)
    said += [str(warning.message) for warning in caught]
    said = [message for message in said if not message.startswith(OF_THE_CLASS)]
    said += [f"{what}: {names}" for what, names in info.items() if names]
    return model, said


def make_batch(model, batch, length, padding):
    config, random = model.config, np.random.RandomState(5)
    lengths = np.full(batch, length)
    if padding:
        lengths = random.randint(length // 2, length + 1, size=batch)
        lengths[0] = length
    mask = np.arange(length) < lengths[:, None]
    ids = np.where(mask, random.randint(101 if config.vocab_size > 1000 else 4, config.vocab_size, (batch, length)),
                   config.pad_token_id)
    inputs = {"input_ids": ids, "token_type_ids": np.zeros_like(ids), "attention_mask": mask.astype(np.int64)}
    if config.type_vocab_size < 2:
        del inputs["token_type_ids"]
    # The classes of both have the same labels.
    name = type(model).__name__.replace("Longformer", "BigBird")
    if name in ("BigBirdForPreTraining", "BigBirdForMaskedLM"):
        labelled = (random.rand(batch, length) < 0.15) & mask
        inputs["labels"] = np.where(labelled, random.randint(0, config.vocab_size, ids.shape), -100)
    if name == "BigBirdForPreTraining":
        inputs["next_sentence_label"] = random.randint(0, 2, batch)
    if name == "BigBirdForSequenceClassification":
        if config.problem_type == "multi_label_classification":
            inputs["labels"] = random.randint(0, 2, (batch, config.num_labels)).astype(np.float32)
        elif config.num_labels == 1 or config.problem_type == "regression":
            shape = (batch,) if config.num_labels == 1 else (batch, config.num_labels)
            inputs["labels"] = random.randn(*shape).astype(np.float32)
        else:
            inputs["labels"] = random.randint(0, config.num_labels, batch)
    if name == "BigBirdForQuestionAnswering":
        ids[:, 0], ids[:, 20] = 65 % config.vocab_size, config.sep_token_id
        if config.model_type == "longformer":  # which wants three
            ids[ids == config.sep_token_id] += 1
            ids[:, [20, 21]] = config.sep_token_id
            ids[np.arange(batch), mask.sum(1) - 1] = config.sep_token_id
        else:
            inputs["token_type_ids"] = (np.arange(length) > 20).astype(np.int64) + np.zeros_like(ids)
        inputs["start_positions"] = np.full(batch, length // 3)
        inputs["end_positions"] = np.full(batch, length // 3 + 7)
    return inputs


def run_peer(model, inputs, gradients):
    """By the names of `bigbird forward`."""
    dtype = next(model.parameters()).dtype
    tensors = {name: torch.from_numpy(np.asarray(value)) for name, value in inputs.items()}
    tensors = {name: value.to(dtype) if value.is_floating_point() else value.long() for name, value in tensors.items()}
    model.zero_grad()
    with torch.set_grad_enabled(gradients):
        out = model(**tensors, output_hidden_states=True)
    tokens = tensors["input_ids"].shape[1]
    result = {f"hidden_states.{i}": state[:, :tokens] for i, state in enumerate(out.hidden_states)}
    result["last_hidden_state"] = result[f"hidden_states.{len(result) - 1}"]
    encoder = getattr(model, "bert", model)
    if type(model).__name__ in ("BigBirdForPreTraining", "BigBirdModel"):
        result["pooler_output"] = torch.tanh(encoder.pooler(result["last_hidden_state"][:, 0]))
    for name in ("prediction_logits", "seq_relationship_logits", "start_logits", "end_logits", "logits", "loss"):
        if out.get(name) is not None:
            result[name] = out[name]
    if gradients:
        out.loss.backward()
        longformer = model.config.model_type == "longformer"
        for name, parameter in model.named_parameters():
            if parameter.grad is None:
                continue
            full = make_longformer.layout_name(name) if longformer else formula_weights.full_name(name)
            rows = model.config.pad_token_id + 1 if longformer and "position_embeddings" in name else 0
            result["grad." + full] = parameter.grad[rows:]
    return {name: value.detach().numpy() for name, value in result.items()}


def run_ours(arguments, inputs, work):
    source, target = work / "in.safetensors", work / "out.safetensors"
    save_file({name: np.ascontiguousarray(value) for name, value in inputs.items()}, source)
    command = [arguments.bigbird, "forward", "-m", arguments.folder, "-i", source, "-o", target, "--hidden-states",
               "--random-mode", "hf-train" if arguments.train else "hf-eval", "-@", arguments.threads]
    if arguments.gradients:
        command.append("--gradients")
    begin = time.time()
    subprocess.run(list(map(str, command)), check=True)
    print(f"bigbird forward: {time.time() - begin:.1f} s, whole process")
    return load_file(target)


def compare(title, found, exact, real):
    """Prints one line per output; returns whether the names agree."""
    gradient_norms = {name: np.linalg.norm(value.astype(np.float64)) for name, value in exact.items()
                      if name.startswith("grad.")}
    largest_norm = max(gradient_norms.values(), default=0.0)
    worst_gradient = (0.0, "")
    missing = [name for name in exact if name not in found]
    for name in sorted(exact):
        if name in missing:
            continue
        ours, theirs = found[name].astype(np.float64), exact[name].astype(np.float64)
        if name.startswith("grad."):
            # Biases that a softmax cancels have a gradient of zero but for rounding.
            if gradient_norms[name] > 1e-6 * largest_norm:
                error = np.linalg.norm(ours.reshape(theirs.shape) - theirs) / gradient_norms[name]
                worst_gradient = max(worst_gradient, (error, name))
            continue
        difference = np.abs(ours.reshape(theirs.shape) - theirs)
        if theirs.ndim >= 2 and theirs.shape[:2] == real.shape:
            difference = difference[real]
            difference = difference[theirs[real] > NOT_COUNTED]
        print(f"{title}\t{name}\t{difference.max():.2e}")
    if gradient_norms:
        print(f"{title}\tgradients, relative norm\t{worst_gradient[0]:.2e}\t{worst_gradient[1]}")
    for name in missing:
        print(f"{title}\t{name}\tMISSING")
    return not missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bigbird", required=True, help="the program")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--padding", action="store_true", help="sequences of different lengths")
    parser.add_argument("--train", action="store_true", help="train mode without dropout (hf-train) instead of eval mode")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--input", type=pathlib.Path, help="safetensors with the inputs, instead of random ones")
    parser.add_argument("--work", type=pathlib.Path, help="folder for the files between the programs")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    model, said = load(arguments.folder, torch.float32)
    print(f"{type(model).__name__} loaded; said: {said if said else 'nothing'}")
    transformers.logging.set_verbosity_error()
    model.train(arguments.train)
    inputs = load_file(arguments.input) if arguments.input else make_batch(
        model, arguments.batch, arguments.length, arguments.padding)
    real = np.asarray(inputs.get("attention_mask", np.ones_like(inputs["input_ids"]))) == 1
    with tempfile.TemporaryDirectory() as temporary:
        ours = run_ours(arguments, inputs, arguments.work or pathlib.Path(temporary))
    begin = time.time()
    peer = run_peer(model, inputs, arguments.gradients)
    print(f"transformers, the call: {time.time() - begin:.1f} s")
    print("#against\toutput\tlargest difference")
    complete = compare("bigbird and transformers", ours, peer, real)
    if arguments.double:
        model.double()
        exact = run_peer(model, inputs, arguments.gradients)
        complete = compare("bigbird and float64", ours, exact, real) and complete
        compare("transformers and float64", peer, exact, real)
    if said or not complete:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
