"""Runs small Hugging Face BigBird models in float64 and writes inputs, outputs and gradients to
tests/golden/huggingface/*.safetensors, which the C++ tests read. Weights are a formula (formula_weights.py). Of one case per
head the folder itself is written too, as save_pretrained makes it: huggingface/NAME/ with model.safetensors and
huggingface/NAME_bin/ with pytorch_model.bin.

    python make_golden.py [--only NAME]

The same call in float32 is made beside it; its largest distance from float64 is kept in the file's header
("peer_float32"), so that a bound can be judged by what the peer itself reaches."""

import argparse
import json
import pathlib

import numpy as np
import torch
import transformers
from transformers import (
    BigBirdConfig,
    BigBirdForMaskedLM,
    BigBirdForPreTraining,
    BigBirdForQuestionAnswering,
    BigBirdForSequenceClassification,
    BigBirdModel,
)
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

import dense_attention
import formula_weights
import golden_file

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "huggingface"
CLASSES = {
    "encoder": BigBirdModel,
    "pretraining": BigBirdForPreTraining,
    "masked_lm": BigBirdForMaskedLM,
    "classification": BigBirdForSequenceClassification,
    "question_answering": BigBirdForQuestionAnswering,
}
SEPARATOR = 3
WHOLE_GRADIENT = 3072  # elements; of larger ones every k-th row is kept, beside the norm of the whole
HIDDEN_VALUES = 1200  # of every hidden state, about
ZERO_GRADIENT = 1e-9  # of the largest norm: such gradients are zero but for rounding (biases that a softmax cancels)
MASKED_LOGIT = -1e5  # below: transformers has subtracted 1e6 from a question's token


def case(name, head, mode, *, heads=4, head_size=4, layers=2, tokens, block=16, random=3, lengths=None, positions=None,
         hidden_states=False, **config):
    positions = positions or -(-tokens // block) * block
    return dict(name=name, head=head, mode=mode, heads=heads, head_size=head_size, layers=layers, tokens=tokens,
                block=block, random=random, lengths=lengths or [tokens], positions=positions,
                hidden_states=hidden_states, config=config)


CASES = [
    # MLM + NSP: heads, lengths, padding, random blocks, block sizes; train is hf-train, eval is hf-eval.
    case("pretraining_128_one_head", "pretraining", "train", heads=1, head_size=16, tokens=128, random=1,
         lengths=[128, 90], hidden_states=True),
    case("pretraining_128_one_head_eval", "pretraining", "eval", heads=1, head_size=16, tokens=128, random=1,
         lengths=[128, 90]),
    case("pretraining_192_two_random", "pretraining", "train", head_size=8, tokens=192, random=2,
         lengths=[150, 192]),
    case("pretraining_200_no_multiple", "pretraining", "train", tokens=200, lengths=[200, 131]),
    case("pretraining_256_twelve_heads", "pretraining", "train", heads=12, head_size=4, layers=1, tokens=256,
         lengths=[256, 201]),
    case("pretraining_256_twelve_heads_eval", "pretraining", "eval", heads=12, head_size=4, layers=1, tokens=256,
         lengths=[256, 201], hidden_states=True),
    case("pretraining_512_block_32", "pretraining", "train", tokens=512, block=32, lengths=[470]),
    case("pretraining_1024_block_64", "pretraining", "train", tokens=1024, block=64, lengths=[1024, 700],
         positions=4096),
    case("pretraining_1024_block_64_eval", "pretraining", "eval", tokens=1024, block=64, lengths=[1024, 700],
         positions=4096),
    case("pretraining_1024_own_positions", "pretraining", "train", tokens=1024, block=32),
    case("pretraining_2048_block_64", "pretraining", "train", heads=1, head_size=8, tokens=2048, block=64,
         positions=4096),
    case("pretraining_3072_block_64", "pretraining", "train", heads=1, head_size=8, tokens=3072, block=64,
         positions=4096, lengths=[2900]),
    case("pretraining_4096_twelve_heads", "pretraining", "train", heads=12, head_size=2, tokens=4096, block=64,
         lengths=[4096]),
    case("pretraining_4096_twelve_heads_eval", "pretraining", "eval", heads=12, head_size=2, layers=1, tokens=4096,
         block=64, lengths=[4000]),
    # Full attention: asked for, and as what short inputs fall back to (176 = (5 + 2 * 3) * 16 tokens; 177 are sparse).
    case("pretraining_100_full", "pretraining", "train", tokens=100, lengths=[100, 61], positions=112,
         attention_type="original_full"),
    case("pretraining_176_falls_back", "pretraining", "train", tokens=176, lengths=[176, 130]),
    case("pretraining_177_is_sparse", "pretraining", "train", tokens=177, lengths=[177, 130]),
    # No random blocks: transformers cannot run it (a reshape fails); its attention is replaced by the dense one.
    case("pretraining_160_no_random", "pretraining", "train", tokens=160, random=0, lengths=[160, 99]),
    # Fields that change the computation.
    case("pretraining_192_no_bias", "pretraining", "eval", tokens=192, random=2, use_bias=False),
    case("pretraining_192_rescaled", "pretraining", "train", tokens=192, random=2, rescale_embeddings=True),
    case("pretraining_192_gelu_erf", "pretraining", "train", tokens=192, random=2, hidden_act="gelu"),
    # The other heads.
    case("masked_lm_208", "masked_lm", "train", tokens=208, lengths=[208, 170]),
    case("masked_lm_208_eval", "masked_lm", "eval", tokens=208, lengths=[208, 170]),
    case("encoder_208", "encoder", "train", tokens=208, lengths=[208, 170], hidden_states=True),
    case("encoder_208_eval", "encoder", "eval", tokens=208, lengths=[208, 170]),
    case("classification_320_single_label", "classification", "train", tokens=320, random=2, lengths=[320, 300, 127],
         num_labels=3),
    case("classification_320_single_label_eval", "classification", "eval", tokens=320, random=2,
         lengths=[320, 300, 127], num_labels=3),
    case("classification_200_multi_label", "classification", "train", tokens=200, lengths=[200, 160], num_labels=5,
         problem_type="multi_label_classification"),
    case("classification_200_regression", "classification", "train", tokens=200, lengths=[200, 160], num_labels=1),
    case("classification_200_three_values", "classification", "eval", tokens=200, lengths=[200, 160], num_labels=3,
         problem_type="regression"),
    case("classification_150_falls_back", "classification", "eval", tokens=150, lengths=[150, 111], positions=160,
         num_labels=3),
    case("question_answering_256", "question_answering", "train", tokens=256, lengths=[256, 199]),
    case("question_answering_256_eval", "question_answering", "eval", tokens=256, lengths=[256, 199]),
    case("question_answering_200_default_types", "question_answering", "train", tokens=200),
    case("question_answering_144_falls_back", "question_answering", "eval", tokens=144),
]

FOLDERS = ("encoder_208", "pretraining_177_is_sparse", "masked_lm_208", "classification_320_single_label",
           "question_answering_256")


def make_config(case):
    width = case["heads"] * case["head_size"]
    return BigBirdConfig(
        vocab_size=40, hidden_size=width, num_hidden_layers=case["layers"], num_attention_heads=case["heads"],
        intermediate_size=2 * width, max_position_embeddings=case["positions"], block_size=case["block"],
        num_random_blocks=case["random"], sep_token_id=SEPARATOR, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, **case["config"])


def make_inputs(case, config):
    """numpy arrays with the names that both programs take."""
    random = np.random.RandomState(sum(map(ord, case["name"])))
    batch, tokens = len(case["lengths"]), case["tokens"]
    ids = random.randint(4, config.vocab_size, size=(batch, tokens))
    types = (np.arange(tokens)[None, :] >= np.array(case["lengths"])[:, None] // 2).astype(np.int64)
    mask = (np.arange(tokens)[None, :] < np.array(case["lengths"])[:, None]).astype(np.int64)
    head = case["head"]
    if head == "question_answering":
        for s, length in enumerate(case["lengths"]):
            question = 7 + 4 * s
            ids[s, 0], ids[s, question], ids[s, length - 1] = 1, SEPARATOR, SEPARATOR
            types[s] = np.arange(tokens) > question
    ids = np.where(mask == 1, ids, config.pad_token_id)
    inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}
    if case["name"].endswith("default_types"):
        del inputs["token_type_ids"]
    if head in ("pretraining", "masked_lm"):
        predicted = (random.rand(batch, tokens) < 0.15) & (mask == 1)
        inputs["labels"] = np.where(predicted, random.randint(0, config.vocab_size, size=ids.shape), -100)
    if head == "pretraining":
        inputs["next_sentence_label"] = random.randint(0, 2, size=batch)
    if head == "classification":
        labels = config.num_labels
        if config.problem_type == "multi_label_classification":
            inputs["labels"] = random.randint(0, 2, size=(batch, labels)).astype(np.float32)
        elif labels == 1 or config.problem_type == "regression":
            shape = (batch,) if labels == 1 else (batch, labels)
            inputs["labels"] = (random.randint(-8, 9, size=shape) / 4).astype(np.float32)
        else:
            inputs["labels"] = random.randint(0, labels, size=batch)
    if head == "question_answering":
        inputs["start_positions"] = np.array([20 + 9 * s for s in range(batch)])
        inputs["end_positions"] = np.array([25 + 30 * s for s in range(batch)])
    return inputs


def to_torch(inputs, dtype):
    return {name: torch.from_numpy(v).to(dtype) if v.dtype == np.float32 else torch.from_numpy(v).long()
            for name, v in inputs.items()}


def run(case, config, inputs, dtype):
    """Outputs by the names of `bigbird forward`, every hidden state, gradients by full name; all numpy."""
    model = CLASSES[case["head"]](config).to(dtype)
    formula_weights.fill(model)
    model.train(case["mode"] == "train")
    out = model(**to_torch(inputs, dtype), output_hidden_states=True)
    encoder = model if case["head"] == "encoder" else model.bert
    expected = {}
    tokens = inputs["input_ids"].shape[1]
    states = [state[:, :tokens] for state in out.hidden_states]
    expected["last_hidden_state"] = states[-1]
    if case["hidden_states"]:
        expected.update({f"hidden_states.{layer}": state for layer, state in enumerate(states)})
    if case["head"] == "encoder":
        expected["pooler_output"] = out.pooler_output
    if case["head"] == "pretraining":
        expected["pooler_output"] = torch.tanh(encoder.pooler(states[-1][:, 0]))
    for name in ("prediction_logits", "seq_relationship_logits", "start_logits", "end_logits", "logits", "loss"):
        if getattr(out, name, None) is not None:
            expected[name] = out[name]
    gradients = {}
    if case["head"] != "encoder":
        model.zero_grad()
        out.loss.backward()
        gradients = {formula_weights.full_name(name): p.grad.numpy() for name, p in model.named_parameters()
                     if p.grad is not None}
    sparse = encoder.attention_type == "block_sparse"
    return {name: value.detach().numpy() for name, value in expected.items()}, gradients, sparse


def distance(a, b):
    counted = b > MASKED_LOGIT  # the float32 beside 1e6 has no digits left
    return float(np.max(np.abs(a[counted].astype(np.float64) - b[counted]), initial=0.0))


def relative_distance(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def float32_distances(outputs, gradients, exact_outputs, exact_gradients, real):
    """How far Hugging Face's own float32 is from its float64: outputs at real tokens, gradients by relative norm."""
    worst = 0.0
    for name, value in outputs.items():
        by_token = value.ndim == 3
        worst = max(worst, distance(value[real] if by_token else value,
                                    exact_outputs[name][real] if by_token else exact_outputs[name]))
    norms = {name: np.linalg.norm(exact) for name, exact in exact_gradients.items()}
    relative = [relative_distance(gradients[name], exact) for name, exact in exact_gradients.items()
                if norms[name] > ZERO_GRADIENT * max(norms.values())]
    return {"outputs": worst, "gradients": max(relative, default=0.0)}


def chosen_rows(real, width):
    """Row numbers (sequence * tokens + position) whose values are kept: real tokens, spread evenly, both ends in."""
    rows = np.flatnonzero(real.reshape(-1))
    count = min(len(rows), max(8, HIDDEN_VALUES // width))
    return rows[np.unique(np.linspace(0, len(rows) - 1, count).round().astype(int))]


def whole_gradient(gradient, most=WHOLE_GRADIENT):
    """Of one of more than so many values every k-th row."""
    return gradient[:: max(1, -(-gradient.size // most))]


def call_tensors(inputs, outputs, gradients, real, most=WHOLE_GRADIENT):
    """What a golden file keeps of one call (tests/golden/README.md)."""
    rows = chosen_rows(real, outputs["last_hidden_state"].shape[-1])
    tensors = {"in." + name: value if value.dtype == np.float32 else value.astype(np.int32)
               for name, value in inputs.items()}
    tensors["rows"] = rows.astype(np.int32)
    for name, value in outputs.items():
        if value.ndim == 3:
            value = value.reshape(-1, value.shape[-1])[rows]
        tensors["out." + name] = np.ascontiguousarray(value, dtype=np.float32)
    for name, gradient in gradients.items():
        tensors["norm." + name] = np.array(np.linalg.norm(gradient))
        tensors["grad." + name] = np.ascontiguousarray(whole_gradient(gradient, most), dtype=np.float32)
    return tensors


def write(case, folder):
    config = make_config(case)
    inputs = make_inputs(case, config)
    original = BigBirdBlockSparseAttention.bigbird_block_sparse_attention
    if case["random"] == 0:
        BigBirdBlockSparseAttention.bigbird_block_sparse_attention = dense_attention.dense_block_sparse_attention
    outputs, gradients, sparse = run(case, config, inputs, torch.float64)
    single = run(case, config, inputs, torch.float32)
    if case["random"] > 0 and sparse and case["tokens"] <= 512:
        BigBirdBlockSparseAttention.bigbird_block_sparse_attention = dense_attention.dense_block_sparse_attention
        dense, _, _ = run(case, config, inputs, torch.float64)
        assert distance(dense["last_hidden_state"], outputs["last_hidden_state"]) < 1e-10, case["name"]
    BigBirdBlockSparseAttention.bigbird_block_sparse_attention = original

    real = inputs["attention_mask"] == 1
    tensors = call_tensors(inputs, outputs, gradients, real)
    own = {"random_mode": "hf-" + case["mode"]}
    text = json.loads(config.to_json_string())
    text["architectures"] = [CLASSES[case["head"]].__name__]
    text["bigbird"] = own
    far = float32_distances(single[0], single[1], outputs, gradients, real)
    metadata = {
        "config": json.dumps(text),
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float64",
        "peer_float32": json.dumps(far),
    }
    golden_file.save(tensors, folder / (case["name"] + ".safetensors"), metadata)
    size = (folder / (case["name"] + ".safetensors")).stat().st_size
    print(f"{case['name']}\t{'sparse' if sparse else 'full'}\t{size}\t{outputs.get('loss', np.array(0.0)):.4f}\t"
          f"{far['outputs']:.1e}\t{far['gradients']:.1e}", flush=True)


def save_folders(model, folder, name):
    """As save_pretrained writes them: NAME with model.safetensors, NAME_bin with pytorch_model.bin."""
    model.save_pretrained(folder / name)
    model.save_pretrained(folder / (name + "_bin"), safe_serialization=False)
    (folder / name / "model.safetensors").chmod(0o644)


def write_folders(case, folder):
    model = CLASSES[case["head"]](make_config(case))
    formula_weights.fill(model)
    save_folders(model, folder, case["name"])


def make_all(doc, output, columns, cases, write, folders, write_folders):
    """The command line of a maker of golden calls: all cases, or one by its name."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="one case by its name")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=output)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    arguments.output.mkdir(parents=True, exist_ok=True)
    print("\t".join(columns))
    for one in cases:
        if arguments.only in (None, one["name"]):
            write(one, arguments.output)
            if one["name"] in folders:
                write_folders(one, arguments.output)


if __name__ == "__main__":
    make_all(__doc__, OUTPUT, ["case", "attention", "bytes", "loss", "float32 outputs", "float32 gradients"], CASES, write,
             FOLDERS, write_folders)
