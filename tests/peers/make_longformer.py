"""Runs small transformers Longformer models in float64 and writes inputs, outputs and gradients to
tests/golden/longformer/*.safetensors, which the C++ tests read. Weights are the formula of formula_weights.py under the
layout's names. The header holds our config.json of the same model: positions count from 0 there, from pad + 1 here.

    python make_longformer.py [--only NAME]"""

import json
import pathlib

import numpy as np
import torch
import transformers
from transformers import (
    LongformerConfig,
    LongformerForMaskedLM,
    LongformerForQuestionAnswering,
    LongformerForSequenceClassification,
    LongformerModel,
)

import formula_weights
import golden_file
import make_golden

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "longformer"
PAD, SEPARATOR = 1, 2
CLASSES = {
    "encoder": LongformerModel,
    "masked_lm": LongformerForMaskedLM,
    "classification": LongformerForSequenceClassification,
    "question_answering": LongformerForQuestionAnswering,
}
OUR_CLASSES = {
    "encoder": "BigBirdModel",
    "masked_lm": "BigBirdForMaskedLM",
    "classification": "BigBirdForSequenceClassification",
    "question_answering": "BigBirdForQuestionAnswering",
}


def case(name, head, *, windows, tokens, globals=0, lengths=None, block=16, heads=4, head_size=4):
    return dict(name=name, head=head, windows=windows, tokens=tokens, globals=globals, lengths=lengths or [tokens],
                block=block, heads=heads, head_size=head_size)


CASES = [
    case("masked_lm_29_no_globals", "masked_lm", windows=[4, 8], tokens=29, lengths=[29, 21]),
    case("masked_lm_29_one_global", "masked_lm", windows=[4, 8], tokens=29, lengths=[29, 21], globals=1),
    case("masked_lm_29_five_globals", "masked_lm", windows=[4, 8], tokens=29, lengths=[29, 21], globals=5, block=8),
    case("masked_lm_512_wide", "masked_lm", windows=[64, 512], tokens=512, lengths=[512, 400], globals=5),
    case("encoder_512", "encoder", windows=[64, 128], tokens=512, lengths=[500], globals=20),
    case("encoder_4096", "encoder", windows=[64, 512], tokens=4096, lengths=[4096], globals=1, block=64, heads=2),
    # Tokens that each call names: several, none, one.
    case("masked_lm_29_chosen_globals", "masked_lm", windows=[4, 8], tokens=29, lengths=[29, 21, 17], globals="chosen",
         block=8),
    # Global tokens that the class makes by itself: the first token, and the question before its separator.
    case("classification_29", "classification", windows=[4, 8], tokens=29, lengths=[29, 21, 25], globals="task", block=8),
    case("classification_29_several_labels", "classification", windows=[4, 8], tokens=29, lengths=[29, 21], globals=3),
    case("question_answering_29", "question_answering", windows=[4, 8], tokens=29, lengths=[29, 29], globals="task",
         block=8),
    case("question_answering_512", "question_answering", windows=[64, 512], tokens=512, lengths=[512], globals="task"),
]


FOLDERS = ("masked_lm_29_no_globals", "classification_29", "question_answering_29")


def layout_name(name):
    """The layout's name of a tensor of Longformer."""
    name = name.replace("longformer.", "")
    for theirs, ours in (("lm_head.dense.", "cls.predictions.transform.dense."),
                         ("lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."),
                         ("lm_head.bias", "cls.predictions.bias"), ("lm_head.decoder.bias", "cls.predictions.bias"),
                         ("lm_head.decoder.weight", "cls.predictions.decoder.weight"),
                         ("pooler.dense.", "pooler.")):
        if name.startswith(theirs):
            name = ours + name[len(theirs):]
    return name if name.startswith(("cls.", "classifier.", "qa_outputs.")) else "bert." + name


def positions(case):
    """As many as fill whole blocks."""
    return -(-case["tokens"] // case["block"]) * case["block"]


def labels_of(case):
    """Arguments of a config: how many classes there are, and of which kind."""
    if case["head"] != "classification":
        return {}
    several = case["name"].endswith("several_labels")
    return {"num_labels": 4 if several else 3,
            "problem_type": "multi_label_classification" if several else "single_label_classification"}


def make_config(case):
    width = case["heads"] * case["head_size"]
    return LongformerConfig(
        vocab_size=40, hidden_size=width, num_hidden_layers=len(case["windows"]), num_attention_heads=case["heads"],
        intermediate_size=2 * width, max_position_embeddings=positions(case) + PAD + 1, type_vocab_size=1,
        attention_window=case["windows"], pad_token_id=PAD, bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-5,
        sep_token_id=SEPARATOR, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **labels_of(case))


def own_config(case, config):
    """The same model as ours: config.json of a folder."""
    labels, form = {}, {} if case["head"] in ("encoder", "masked_lm") else {"head_form": "roberta"}
    if case["head"] == "classification":
        labels = {"problem_type": config.problem_type, "id2label": config.id2label}
    globals = {"task": "task", "chosen": "none", 0: "none"}.get(case["globals"], f"first:{case['globals']}")
    return {
        "architectures": [OUR_CLASSES[case["head"]]], **labels,
        "model_type": "bigbird_extended", "vocab_size": config.vocab_size, "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_hidden_layers, "num_attention_heads": config.num_attention_heads,
        "intermediate_size": config.intermediate_size, "max_position_embeddings": positions(case),
        "type_vocab_size": 1, "block_size": case["block"], "pad_token_id": PAD, "bos_token_id": 0, "eos_token_id": 2,
        "sep_token_id": 2, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "layer_norm_eps": 1e-5,
        "hidden_act": "gelu",
        "bigbird": {"random_mode": "google", "attention": "longformer", "embedding_norm": "before-dropout",
                    "attention_options": {"window": case["windows"], "global": globals}, **form},
    }


def make_inputs(case, config):
    random = np.random.RandomState(sum(map(ord, case["name"])))
    batch, tokens = len(case["lengths"]), case["tokens"]
    mask = (np.arange(tokens)[None, :] < np.array(case["lengths"])[:, None]).astype(np.int64)
    ids = np.where(mask == 1, random.randint(4, config.vocab_size, size=(batch, tokens)), PAD)
    if case["head"] == "question_answering":  # <s> question </s></s> context </s>, which transformers insists on
        for s, length in enumerate(case["lengths"]):
            question = 6 + 3 * s
            ids[s, 0] = config.bos_token_id
            ids[s, [question, question + 1, length - 1]] = SEPARATOR
    inputs = {"input_ids": ids, "attention_mask": mask}
    if case["globals"] == "chosen":
        inputs["global_attention_mask"] = np.zeros_like(mask)
        inputs["global_attention_mask"][[0, 0, 0, 2], [3, 9, 28, 0]] = 1
    if case["head"] == "classification":
        labels = config.num_labels
        inputs["labels"] = (random.randint(0, 2, size=(batch, labels)).astype(np.float32)
                            if config.problem_type.startswith("multi") else random.randint(0, labels, size=batch))
    if case["head"] == "question_answering":
        inputs["start_positions"] = np.array([12 + 3 * s for s in range(batch)])
        inputs["end_positions"] = np.array([20 + 5 * s for s in range(batch)])
    if case["head"] == "masked_lm":
        predicted = (random.rand(batch, tokens) < 0.15) & (mask == 1)
        inputs["labels"] = np.where(predicted, random.randint(0, config.vocab_size, size=ids.shape), -100)
    return inputs


def fill(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            shape = list(parameter.shape)
            positions = "position_embeddings" in name
            if positions:
                shape[0] -= PAD + 1
                parameter.zero_()
            target = parameter[PAD + 1:] if positions else parameter
            target.copy_(torch.from_numpy(formula_weights.values(layout_name(name), tuple(shape))))


def own_softmax(scores, dim=-1, dtype=None, softmax=torch.nn.functional.softmax):
    """transformers asks for float32 whatever the model has; what the golden files hold is float64 throughout."""
    return softmax(scores, dim=dim)


def run(case, config, inputs, dtype):
    torch.nn.functional.softmax = own_softmax
    model = CLASSES[case["head"]](config).to(dtype)
    fill(model)
    model.train()
    given = make_golden.to_torch(inputs, dtype)
    if isinstance(case["globals"], int):  # else what the class takes by itself, or the inputs name
        given["global_attention_mask"] = torch.zeros(inputs["input_ids"].shape, dtype=torch.long)
        given["global_attention_mask"][:, :case["globals"]] = 1
    out = model(**given, output_hidden_states=True)
    tokens = inputs["input_ids"].shape[1]
    expected = {"last_hidden_state": out.hidden_states[-1][:, :tokens]}
    expected.update({f"hidden_states.{layer}": state[:, :tokens] for layer, state in enumerate(out.hidden_states)})
    gradients = {}
    if case["head"] == "encoder":
        expected["pooler_output"] = out.pooler_output
    else:
        for name in ("logits", "start_logits", "end_logits", "loss"):
            if getattr(out, name, None) is not None:
                expected[name] = out[name]
        out.loss.backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                own = parameter.grad[PAD + 1:] if "position_embeddings" in name else parameter.grad
                gradients[layout_name(name)] = own.numpy()
    return {name: value.detach().numpy() for name, value in expected.items()}, gradients


def write(case, folder):
    config = make_config(case)
    inputs = make_inputs(case, config)
    outputs, gradients = run(case, config, inputs, torch.float64)
    single = run(case, config, inputs, torch.float32)
    real = inputs["attention_mask"] == 1
    far = make_golden.float32_distances(single[0], single[1], outputs, gradients, real)
    tensors = make_golden.call_tensors(inputs, outputs, gradients, real)
    metadata = {
        "config": json.dumps(own_config(case, config)),
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float64",
        "peer_float32": json.dumps(far),
    }
    golden_file.save(tensors, folder / (case["name"] + ".safetensors"), metadata)
    size = (folder / (case["name"] + ".safetensors")).stat().st_size
    print(f"{case['name']}\t{size}\t{outputs.get('loss', np.array(0.0)):.4f}\t{far['outputs']:.1e}\t{far['gradients']:.1e}",
          flush=True)


def write_folders(case, folder):
    model = CLASSES[case["head"]](make_config(case))
    fill(model)
    make_golden.save_folders(model, folder, case["name"])


if __name__ == "__main__":
    make_golden.make_all(__doc__, OUTPUT, ["case", "bytes", "loss", "float32 outputs", "float32 gradients"], CASES, write,
                         FOLDERS, write_folders)
