"""Runs small BigBird-Pegasus models in float64 and writes inputs, outputs and gradients to
tests/golden/encoder_decoder/*.safetensors, which the C++ tests read; make_golden.py does the same for encoders and says what
such a file holds. Of two cases the folder itself is written too, as save_pretrained makes it.

    python make_summary_models.py [--only NAME]"""

import json
import math
import pathlib

import numpy as np
import torch
import transformers
from transformers import BigBirdPegasusConfig, BigBirdPegasusForConditionalGeneration
from transformers.trainer_pt_utils import LabelSmoother

import formula_weights
import golden_file
from make_golden import call_tensors, float32_distances, make_all, save_folders

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "encoder_decoder"
VOCABULARY = 99
SMOOTHING = 0.1


def case(name, mode, source, *, targets=9, lengths=None, labels=True, positions=260, width=32, heads=4, decoder_heads=4,
         layers=2, decoder_layers=2, inner=37, decoder_inner=37, block=16, random=3, smoothing=None, states=False,
         **config):
    return dict(name=name, mode=mode, source=source, targets=targets, lengths=lengths or [source], labels=labels,
                positions=positions, width=width, heads=heads, decoder_heads=decoder_heads, layers=layers,
                decoder_layers=decoder_layers, inner=inner, decoder_inner=decoder_inner, block=block, random=random,
                smoothing=smoothing, states=states,
                config=config)


CASES = [
    case("full_40", "eval", 40),
    case("falls_back_176", "eval", 176),
    case("sparse_177", "eval", 177),
    case("sparse_195_padded", "eval", 195),
    case("sparse_256", "eval", 256, lengths=[256, 180, 201]),
    case("train_256", "train", 256, lengths=[256, 230]),
    case("train_1024_old_plan", "train", 1024, positions=1024, block=64, targets=5),
    case("biases", "eval", 195, use_bias=True),
    case("relu", "eval", 195, activation_function="relu"),
    case("gelu_erf", "eval", 195, activation_function="gelu"),
    case("silu", "eval", 195, activation_function="silu"),
    case("unscaled", "eval", 195, scale_embedding=False),
    case("stacks_differ", "train", 192, layers=1, decoder_layers=3, heads=8, decoder_heads=2, inner=24, decoder_inner=50,
         random=2),
    case("full_attention", "train", 100, lengths=[100, 61], targets=40, attention_type="original_full"),
    case("no_labels", "eval", 40, labels=False),
    case("states", "eval", 195, states=True, decoder_layers=3),
    case("smoothed", "train", 195, lengths=[195, 60], smoothing="huggingface"),
    case("smoothed_google", "train", 195, lengths=[195, 60], smoothing="google"),
]
FOLDERS = ("sparse_195_padded", "stacks_differ")


def make_config(case):
    return BigBirdPegasusConfig(
        vocab_size=VOCABULARY, d_model=case["width"], encoder_layers=case["layers"], decoder_layers=case["decoder_layers"],
        encoder_attention_heads=case["heads"], decoder_attention_heads=case["decoder_heads"],
        encoder_ffn_dim=case["inner"], decoder_ffn_dim=case["decoder_inner"],
        max_position_embeddings=case["positions"], block_size=case["block"], num_random_blocks=case["random"],
        dropout=0.0, **case["config"])


def make_inputs(case):
    random = np.random.RandomState(sum(map(ord, case["name"])))
    batch = len(case["lengths"])
    ids = random.randint(3, VOCABULARY, size=(batch, case["source"]))
    mask = (np.arange(case["source"])[None, :] < np.array(case["lengths"])[:, None]).astype(np.int64)
    inputs = {"input_ids": np.where(mask == 1, ids, 0), "attention_mask": mask}
    if case["labels"]:
        labels = random.randint(0, VOCABULARY, size=(batch, case["targets"]))
        labels[:, 2] = 0  # the pad token: as an input its row is not taught, as a label it counts
        labels[-1, -3:] = -100
        inputs["labels"] = labels
    else:
        inputs["decoder_input_ids"] = random.randint(3, VOCABULARY, size=(batch, case["targets"]))
    return inputs


def run(case, inputs, dtype):
    """Outputs by the names of `bigbird forward`; gradients by the names of the files. All numpy."""
    model = BigBirdPegasusForConditionalGeneration(make_config(case)).to(dtype)
    formula_weights.fill_pegasus(model)
    model.train(case["mode"] == "train")
    out = model(**{name: torch.from_numpy(value).long() for name, value in inputs.items()}, output_hidden_states=True,
                use_cache=False)
    tokens = case["source"]
    expected = {"last_hidden_state": out.encoder_last_hidden_state[:, :tokens],
                "decoder_last_hidden_state": out.decoder_hidden_states[-1].flatten(0, 1),
                "logits": out.logits.flatten(0, 1)}
    if case["states"]:
        for prefix, states in (("", out.encoder_hidden_states), ("decoder_", out.decoder_hidden_states)):
            for number, state in enumerate(states):
                expected[f"{prefix}hidden_states.{number}"] = state[:, :tokens] if prefix == "" else state.flatten(0, 1)
    gradients = {}
    if case["labels"]:
        loss = smoothed(case["smoothing"], out, torch.from_numpy(inputs["labels"]).long())
        expected["loss"] = loss
        loss.backward()
        gradients = {name: p.grad.numpy() for name, p in model.named_parameters()}
    return {name: value.detach().numpy() for name, value in expected.items()}, gradients


def smoothed(form, out, labels):
    """The loss: the model's own, the Trainer's with label_smoothing_factor 0.1, or the published code's without the
    padding that it counts."""
    if form is None:
        return out.loss
    if form == "huggingface":
        return LabelSmoother(epsilon=SMOOTHING)(out, labels)
    columns = out.logits.shape[-1]
    counted = labels != -100
    off = SMOOTHING / (columns - 1)
    target = torch.full_like(out.logits, off).scatter(-1, labels.clamp(min=0).unsqueeze(-1), 1 - SMOOTHING)
    entropy = -((1 - SMOOTHING) * math.log(1 - SMOOTHING) + SMOOTHING * math.log(off + 1e-20))
    losses = -(target * torch.log_softmax(out.logits, -1)).sum(-1) - entropy
    return losses[counted].sum() / counted.sum()


def write(case, folder):
    inputs = make_inputs(case)
    outputs, gradients = run(case, inputs, torch.float64)
    single = run(case, inputs, torch.float32)
    real = inputs["attention_mask"] == 1
    tensors = call_tensors(inputs, outputs, gradients, real, 512)
    text = json.loads(make_config(case).to_json_string())
    text["architectures"] = [BigBirdPegasusForConditionalGeneration.__name__]
    text["bigbird"] = {"random_mode": "hf-" + case["mode"]}
    far = float32_distances(single[0], single[1], outputs, gradients, real)
    metadata = {
        "config": json.dumps(text),
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float64",
        "peer_float32": json.dumps(far),
    }
    if case["smoothing"]:
        metadata["smoothing"] = case["smoothing"]
    golden_file.save(tensors, folder / (case["name"] + ".safetensors"), metadata)
    size = (folder / (case["name"] + ".safetensors")).stat().st_size
    print(f"{case['name']}\t{size}\t{outputs.get('loss', np.array(0.0)):.4f}\t{far['outputs']:.1e}\t{far['gradients']:.1e}",
          flush=True)


def write_folders(case, folder):
    model = BigBirdPegasusForConditionalGeneration(make_config(case))
    formula_weights.fill_pegasus(model)
    save_folders(model, folder, case["name"])


if __name__ == "__main__":
    make_all(__doc__, OUTPUT, ["case", "bytes", "loss", "float32 outputs", "float32 gradients"], CASES, write, FOLDERS,
             write_folders)
