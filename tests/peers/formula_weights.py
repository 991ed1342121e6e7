"""Weights that Python and C++ compute alike (tests/golden/huggingface_file.h has the same formula), so that the
golden files need not hold them. Every value is a multiple of 2^-18 below 2, so float32 holds it exactly."""

import numpy as np

_WORD = 2**64


def _fnv1a(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) % _WORD
    return value


def unit_values(name, count):
    """count values in [-1, 1), multiples of 2^-15: the top 16 bits of splitmix64 of (name, index)."""
    with np.errstate(over="ignore"):
        z = np.uint64(_fnv1a(name)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(48)).astype(np.float64) / 32768.0 - 1.0


def values(name, shape):
    """The tensor `name` (with the `bert.` prefix) in float64: LayerNorm weights around 1, biases around 0, and
    queries and keys large enough for a softmax that is far from uniform."""
    unit = unit_values(name, int(np.prod(shape, dtype=np.int64))).reshape(shape)
    if name.endswith(".bias"):
        return unit / 8
    if name.endswith("LayerNorm.weight"):
        return 1.0 + unit / 4
    if name.endswith("query.weight") or name.endswith("key.weight"):
        return unit / 2
    return unit / 4


# Names of BigBird-Pegasus -> those of the layout (lib/model_folder/pegasus.cpp has the same table), whose formula holds.
_PEGASUS_FRONTS = [
    ("model.shared.", "bert.embeddings.word_embeddings."),
    ("model.encoder.embed_positions.", "bert.embeddings.position_embeddings."),
    ("model.decoder.embed_positions.", "decoder.embeddings.position_embeddings."),
    ("model.encoder.layernorm_embedding.", "bert.encoder.LayerNorm."),
    ("model.decoder.layernorm_embedding.", "decoder.LayerNorm."),
    ("model.encoder.layers.", "bert.encoder.layer."),
    ("model.decoder.layers.", "decoder.layer."),
]
_PEGASUS_PARTS = [
    (".self_attn.self.", ".attention.self."),
    (".self_attn.output.", ".attention.output.dense."),
    (".self_attn_layer_norm.", ".attention.output.LayerNorm."),
    (".self_attn.out_proj.", ".attention.output.dense."),
    (".self_attn.", ".attention.self."),
    (".encoder_attn.out_proj.", ".crossattention.output.dense."),
    (".encoder_attn_layer_norm.", ".crossattention.output.LayerNorm."),
    (".encoder_attn.", ".crossattention.self."),
    (".q_proj.", ".query."),
    (".k_proj.", ".key."),
    (".v_proj.", ".value."),
    (".fc1.", ".intermediate.dense."),
    (".fc2.", ".output.dense."),
    (".final_layer_norm.", ".output.LayerNorm."),
]


def pegasus_name(name):
    """The layout's name of a tensor of BigBirdPegasusForConditionalGeneration."""
    for theirs, ours in _PEGASUS_FRONTS:
        if name.startswith(theirs):
            name = ours + name[len(theirs):]
            break
    for theirs, ours in _PEGASUS_PARTS:
        name = name.replace(theirs, ours)
    return name


def full_name(name):
    """Name with the prefix that a bare BigBirdModel leaves out."""
    return name if name.startswith(("bert.", "cls.", "classifier.", "qa_classifier.")) else "bert." + name


def fill(model):
    """Puts the formula's values into a Hugging Face model."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(values(full_name(name), tuple(parameter.shape))))


def fill_pegasus(model):
    """The same for BigBirdPegasusForConditionalGeneration, its buffer too."""
    import torch

    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), ("final_logits_bias", model.final_logits_bias)]:
            parameter.copy_(torch.from_numpy(values(pegasus_name(name), tuple(parameter.shape))))
