"""Small models of every head, from transformers through `bigbird convert` and back: the folder that bigbird wrote must load
without a warning and hold the same tensors, and both programs must agree on outputs and gradients of one batch. Status 1
and a line for each that does not. CI runs it where a Python with transformers is found.

    python round_trip.py --program build/release/bin/bigbird"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import torch
import transformers

import compare_forward
import make_model
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
    tensors = back.state_dict()
    for name, value in model.state_dict().items():
        if name not in tensors or not torch.equal(value, tensors[name]):
            wrong.append(f"tensor {name} is another one after the way through bigbird")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bigbird")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_warning()
    transformers.logging.disable_default_handler()  # load() listens itself
    failed = False
    for head in CLASSES:
        with tempfile.TemporaryDirectory() as work:
            wrong = round_trip(arguments.program, head, pathlib.Path(work))
        print(f"{head}: {'equal' if not wrong else '; '.join(wrong)}")
        failed = failed or bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
