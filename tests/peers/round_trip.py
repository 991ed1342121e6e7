"""Small models of every head, one with a decoder (BigBird-Pegasus), and the BERT, RoBERTa and esm folders of tests/golden, from transformers
through `bigbird convert` and back: the folder that bigbird wrote must load without a warning, in the same class, and hold the same tensors.
Of BigBird's heads both programs must agree on outputs and gradients of one batch, of the others the two folders on outputs; theirs are compared
with ours by the golden files. Status 1 and a line for each that does not. CI runs it where a Python with transformers is found.

    python round_trip.py --program build/release/bin/bigbird"""

import argparse
import logging
import pathlib
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import torch
import transformers

import compare_forward
import formula_weights
import make_model
import make_summary_models
from make_golden import CLASSES

OUTPUT_BOUND = 2e-5  # largest difference (docs/parity.md)
GRADIENT_BOUND = 1e-4  # of the norm of a tensor
LENGTH = 352  # 22 blocks of 16: sparse


def differences(found, exact, real):
    """Names and errors that are over their bounds."""
    norms = {name: np.linalg.norm(value) for name, value in exact.items() if name.startswith("grad.")}
    largest = max(norms.values(), default=0.0)
    for name, theirs in exact.items():
        if name not in found:
            yield f"{name} is missing"
            continue
        error = np.abs(found[name].astype(np.float64).reshape(theirs.shape) - theirs)
        if name.startswith("grad."):
            if norms[name] > 1e-6 * largest and np.linalg.norm(error) / norms[name] > GRADIENT_BOUND:
                yield f"{name}: {np.linalg.norm(error) / norms[name]:.1e} of its norm"
            continue
        if theirs.ndim >= 2 and theirs.shape[:2] == real.shape:
            error = error[real][theirs[real] > compare_forward.NOT_COUNTED]
        if error.max() > OUTPUT_BOUND:
            yield f"{name}: {error.max():.1e}"


def round_trip(program, head, work):
    """What is wrong with one head, as lines."""
    original, written = work / "original", work / "written"
    make_model.make(SimpleNamespace(folder=original, head=head, base=False, vocabulary=500, seed=1, bin=False))
    subprocess.run([program, "convert", "--quiet", original, written], check=True)
    model, said = compare_forward.load(original, torch.float32)
    back, said_back = compare_forward.load(written, torch.float32)
    wrong = [f"the written folder: {line}" for line in said_back if line not in said]
    wrong += differing_tensors(model, back)
    inputs = compare_forward.make_batch(model, 2, LENGTH, True)
    real = inputs["attention_mask"] == 1
    gradients = head != "encoder"
    for train in (False, True):
        model.train(train)
        arguments = SimpleNamespace(bigbird=program, folder=written, train=train, threads=1, gradients=gradients)
        ours = compare_forward.run_ours(arguments, inputs, work)
        wrong += [f"{'train' if train else 'eval'} mode: {line}"
                  for line in differences(ours, compare_forward.run_peer(model, inputs, gradients), real)]
    return wrong


def differing_tensors(model, back):
    tensors = back.state_dict()
    return [f"tensor {name} is another one after the way through bigbird" for name, value in model.state_dict().items()
            if name not in tensors or not torch.equal(value, tensors[name])]


def decoder_round_trip(program, work):
    """The same of a model with a decoder; its outputs are compared by the golden files."""
    original, written = work / "original", work / "written"
    case = next(case for case in make_summary_models.CASES if case["name"] == "biases")
    model = make_summary_models.BigBirdPegasusForConditionalGeneration(make_summary_models.make_config(case))
    formula_weights.fill_pegasus(model)
    model.save_pretrained(original)
    subprocess.run([program, "convert", "--quiet", original, written], check=True)
    said = []
    transformers.logging.get_logger("transformers").addHandler(SaidHandler(said))
    back, info = type(model).from_pretrained(written, output_loading_info=True)
    wrong = [f"the written folder: {line}" for line in said]
    wrong += [f"the written folder: {what}: {names}" for what, names in info.items() if names]
    return wrong + differing_tensors(model, back)


def folder_round_trip(program, original, work):
    """The same of a folder of another type than big_bird; no gates of esm's, of which transformers has no class."""
    written = work / "written"
    subprocess.run([program, "convert", "--quiet", original, written], check=True)
    config, back_config = (transformers.AutoConfig.from_pretrained(folder) for folder in (original, written))
    wrong = [f"{field} is {getattr(back_config, field)}, not {getattr(config, field)}" for field in ("architectures", "model_type")
             if getattr(back_config, field) != getattr(config, field)]
    if wrong:
        return wrong
    load = getattr(transformers, config.architectures[0]).from_pretrained
    # Buffers that a version of transformers misses are missing in what it wrote itself, too.
    model, info_before = load(original, output_loading_info=True)
    back, info = load(written, output_loading_info=True)
    wrong += [f"the written folder: {what}: {names}" for what, names in info.items() if set(names) - set(info_before[what])]
    ids = torch.arange(5, 5 + 2 * 17).reshape(2, 17) % config.vocab_size
    ids[ids == config.pad_token_id] = 7
    with torch.no_grad():
        for name, value in model.eval()(ids).items():
            if not torch.equal(value, back.eval()(ids)[name]):
                wrong.append(f"{name} is another one after the way through bigbird")
    # Nobody reads the rows of positions up to the pad token's, nor, in these classes, esm's head for contacts.
    unread = 0 if config.model_type == "bert" else config.pad_token_id + 1
    parts = [(name, value, back.state_dict()[name]) for name, value in model.state_dict().items() if "contact_head" not in name]
    begins = [unread if "position_embeddings" in name else 0 for name, _, _ in parts]
    return wrong + [f"tensor {name} is another one after the way through bigbird"
                    for begin, (name, one, other) in zip(begins, parts) if not torch.equal(one[begin:], other[begin:])]


class SaidHandler(logging.Handler):
    """What a library warns of."""

    def __init__(self, lines):
        super().__init__(logging.WARNING)
        self.lines = lines

    def emit(self, record):
        self.lines.append(record.getMessage())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bigbird")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_warning()
    transformers.logging.disable_default_handler()  # load() listens itself
    failed = False
    golden = pathlib.Path(__file__).parent.parent / "golden" / "dialects"
    # Not what has gates, nor an encoder without a pooler, which is bigbird_extended.
    folders = [path.name for kind in ("bert", "roberta", "esm") for path in sorted(golden.glob(f"{kind}*"))
               if path.is_dir() and "gated" not in path.name and "without" not in path.name]
    for head in [*CLASSES, "decoder", *folders]:
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work)
            if head in folders:
                wrong = folder_round_trip(arguments.program, golden / head, folder)
            else:
                wrong = decoder_round_trip(arguments.program, folder) if head == "decoder" else round_trip(
                    arguments.program, head, folder)
        print(f"{head}: {'equal' if not wrong else '; '.join(wrong)}")
        failed = failed or bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
