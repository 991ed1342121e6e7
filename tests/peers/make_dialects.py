"""Models of other kinds that bigbird reads, tiny, as their own programs save them, and one call of each in float64:
tests/golden/dialects/NAME/ (the model folder) and tests/golden/dialects/CALL.safetensors (inputs, outputs, gradients).

- gena: GENA-LM's sparse BERT (gena_model.py), at its full length and shorter, where the layouts are cropped;
- bert, roberta: transformers' BertForMaskedLM and RobertaForMaskedLM as a warm start for BigBird. The call is that of
  transformers' BigBirdForMaskedLM with their weights, the position table repeated 8 times here (without RoBERTa's first two
  rows);
- pegasus: transformers' PegasusForConditionalGeneration, without biases of attention as the published ones, as a warm start
  for BigBird-Pegasus. The call is its own: so short that BigBird's attention is full.

    python make_dialects.py"""

import json
import pathlib

import numpy as np
import torch
import transformers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BigBirdConfig,
    BigBirdForMaskedLM,
    PegasusConfig,
    PegasusForConditionalGeneration,
    RobertaConfig,
    RobertaForMaskedLM,
)

import formula_weights
import golden_file
import make_golden
from gena_model import GenaModel, draw_layout, layout_name

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "dialects"
PEER = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, float64"

GENA_CONFIG = {
    "architectures": ["BertForPreTraining"], "model_type": "bert", "vocab_size": 40, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 160, "type_vocab_size": 2,
    "initializer_range": 0.02, "layer_norm_eps": 1e-12, "pad_token_id": 3, "pre_layer_norm": True,
    "last_layer_norm": True, "position_embedding_type": "rotary", "rotary_dim": 8, "rotary_base": 10000,
    "sparse_config_cls": "deepspeed.ops.sparse_attention:BigBirdSparsityConfig",
    "sparse_attention": {"num_heads": 2, "block": 16, "different_layout_per_head": True, "num_sliding_window_blocks": 3,
                         "num_global_blocks": 1, "num_random_blocks": 1},
}


def make_inputs(seed, vocabulary, tokens, lengths, pad, next_sentence):
    random = np.random.RandomState(seed)
    shape = (len(lengths), tokens)
    mask = (np.arange(tokens) < np.array(lengths)[:, None]).astype(np.int64)
    labelled = (random.rand(*shape) < 0.15) & (mask == 1)
    inputs = {
        "input_ids": np.where(mask == 1, random.randint(5, vocabulary, shape), pad),
        "token_type_ids": (np.arange(tokens) >= tokens // 3).astype(np.int64) * np.ones_like(mask),
        "attention_mask": mask,
        "labels": np.where(labelled, random.randint(5, vocabulary, shape), -100),
    }
    if next_sentence:
        inputs["next_sentence_label"] = random.randint(0, 2, len(lengths))
    return inputs


def write_call(name, folder, inputs, outputs, gradients, random_mode):
    real = inputs["attention_mask"] == 1
    tensors = make_golden.call_tensors(inputs, outputs, gradients, real)
    golden_file.save(tensors, OUTPUT / (name + ".safetensors"),
                     {"folder": folder, "random_mode": random_mode, "peer": PEER})
    print(name, (OUTPUT / (name + ".safetensors")).stat().st_size, f"loss {outputs.get('loss', np.nan):.4f}")


def make_gena():
    folder = OUTPUT / "gena"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.RandomState(3)
    layouts = [draw_layout(random, 2, 10) for _ in range(2)]
    (folder / "config.json").write_text(json.dumps(GENA_CONFIG, indent=2) + "\n")
    torch.save(GenaModel(GENA_CONFIG, layouts, torch.float32).state_dict(), folder / "pytorch_model.bin")
    for name, tokens, lengths in (("gena_160", 160, [160, 121]), ("gena_128_cropped", 128, [128, 77])):
        model = GenaModel(GENA_CONFIG, layouts, torch.float64)
        inputs = make_inputs(tokens, 40, tokens, lengths, 3, True)
        outputs = model(**{key: torch.from_numpy(value) for key, value in inputs.items()})
        outputs["loss"].backward()
        gradients = {layout_name(key): value.grad.numpy() for key, value in model.parameters.items()}
        write_call(name, "gena", inputs, {key: value.detach().numpy() for key, value in outputs.items()}, gradients, "file")


def to_big_bird(state, roberta):
    """BigBirdForMaskedLM's state from BERT's or RoBERTa's."""
    result = {}
    for name, value in state.items():
        if roberta:
            name = name.replace("roberta.", "bert.").replace("lm_head.dense.", "cls.predictions.transform.dense.")
            name = name.replace("lm_head.layer_norm.", "cls.predictions.transform.LayerNorm.")
            name = name.replace("lm_head.", "cls.predictions.")
        if name.endswith("position_embeddings.weight"):
            value = torch.cat([value[2:] if roberta else value] * 8)
        if roberta and name.endswith("token_type_embeddings.weight"):
            value = torch.cat([value] * 2)
        result[name] = value
    return result


def make_warm_start(name, config_class, model_class, positions, **fields):
    roberta = name == "roberta"
    config = config_class(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
        max_position_embeddings=positions, hidden_act="gelu", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        **fields)
    source = model_class(config)
    with torch.no_grad():
        for key, parameter in source.named_parameters():
            parameter.copy_(torch.from_numpy(formula_weights.values(key, tuple(parameter.shape))))
    source.save_pretrained(OUTPUT / name)
    (OUTPUT / name / "model.safetensors").chmod(0o644)
    target = BigBirdForMaskedLM(BigBirdConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
        max_position_embeddings=1024, hidden_act="gelu", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        layer_norm_eps=config.layer_norm_eps, pad_token_id=config.pad_token_id, block_size=64, num_random_blocks=3))
    missing, surplus = target.load_state_dict(to_big_bird(source.state_dict(), roberta), strict=False)
    assert set(missing) <= {"bert.pooler.weight", "bert.pooler.bias"} and not surplus, (missing, surplus)
    target.double().eval()
    inputs = make_inputs(9, 40, 1024, [1000], config.pad_token_id, False)
    out = target(**{key: torch.from_numpy(value) for key, value in inputs.items()}, output_hidden_states=True)
    out.loss.backward()
    outputs = {"last_hidden_state": out.hidden_states[-1], "logits": out.logits, "loss": out.loss}
    gradients = {key: value.grad.numpy() for key, value in target.named_parameters() if value.grad is not None}
    write_call(name + "_1024", name, inputs, {key: value.detach().numpy() for key, value in outputs.items()}, gradients,
               "hf-eval")


def make_pegasus():
    """The position tables are not trained there: of this call no gradient is kept."""
    model = PegasusForConditionalGeneration(PegasusConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=2,
        encoder_ffn_dim=37, decoder_ffn_dim=24, max_position_embeddings=48, activation_function="relu", dropout=0.0,
        scale_embedding=True))
    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), ("final_logits_bias", model.final_logits_bias)]:
            if name.endswith("_proj.bias"):
                parameter.zero_()
            elif "embed_positions" not in name:
                ours = formula_weights.pegasus_name(name.replace("coder.layer_norm.", "coder.layernorm_embedding."))
                parameter.copy_(torch.from_numpy(formula_weights.values(ours, tuple(parameter.shape))))
    model.save_pretrained(OUTPUT / "pegasus")
    (OUTPUT / "pegasus" / "model.safetensors").chmod(0o644)
    model.double().eval()
    inputs = {name: value for name, value in make_inputs(21, 99, 40, [40, 33], 0, False).items()
              if name in ("input_ids", "attention_mask")}
    inputs["decoder_input_ids"] = np.random.RandomState(22).randint(3, 99, (2, 9))
    inputs["decoder_input_ids"][:, 0] = 0  # what Pegasus begins with
    out = model(**{key: torch.from_numpy(value) for key, value in inputs.items()}, output_hidden_states=True, use_cache=False)
    outputs = {"last_hidden_state": out.encoder_last_hidden_state,
               "decoder_last_hidden_state": out.decoder_hidden_states[-1].flatten(0, 1), "logits": out.logits.flatten(0, 1)}
    write_call("pegasus_40", "pegasus", inputs, {key: value.detach().numpy() for key, value in outputs.items()}, {},
               "google")


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    make_gena()
    make_warm_start("bert", BertConfig, BertForMaskedLM, 128)
    make_warm_start("roberta", RobertaConfig, RobertaForMaskedLM, 130, type_vocab_size=1, layer_norm_eps=1e-5)
    make_pegasus()


if __name__ == "__main__":
    main()
