"""Two segments through transformers' TransfoXLModel, written to tests/golden/neighbours/transformer_xl.safetensors:

    python make_transformer_xl.py

It wants transformers 4.57.1 and torch. The class calls Tensor.type_as(dtype=...), which torch does not have: it is
wrapped. A memory that is not given would be rows of zeros that take weight, so one is always given. Names are those
of bigbird's layout; every tensor of a case stands under the case's number, gradients of its second segment alone."""

import pathlib

import numpy
import torch
from golden_file import save

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours" / "transformer_xl.safetensors"
WIDTH, HEADS, LAYERS, INNER, WORDS = 8, 2, 2, 10, 13

plain_type_as = torch.Tensor.type_as


def type_as(self, other=None, dtype=None):
    return self.to(dtype) if dtype is not None else plain_type_as(self, other)


torch.Tensor.type_as = type_as


def model_of(memory, clamp, same_length, untie):
    from transformers import TransfoXLConfig, TransfoXLModel

    config = TransfoXLConfig(
        vocab_size=WORDS, cutoffs=[], d_model=WIDTH, d_embed=WIDTH, n_head=HEADS, d_head=WIDTH // HEADS, d_inner=INNER,
        n_layer=LAYERS, div_val=1, mem_len=memory, clamp_len=clamp if clamp else -1, same_length=same_length,
        untie_r=untie, dropout=0.0, dropatt=0.0, attn_type=0,
    )
    model = TransfoXLModel(config).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            wide = 0.5 if "bias" in name or "emb" in name else 0.3
            tensor.copy_(torch.randn(tensor.shape) * wide + (1.0 if name.endswith("layer_norm.weight") else 0.0))
    return model


def layout(model, untie):
    """Our names, and how to get a tensor's gradient."""
    names = {"bert.embeddings.word_embeddings.weight": (model.word_emb.emb_layers[0].weight, None)}
    for i, layer in enumerate(model.layers):
        prefix = f"bert.encoder.layer.{i}."
        attention, inner = layer.dec_attn, layer.pos_ff
        for k, which in enumerate(("query", "key", "value")):
            part = slice(k * WIDTH, (k + 1) * WIDTH)
            names[f"{prefix}attention.self.{which}.weight"] = (attention.qkv_net.weight, part)
        names[prefix + "attention.self.position.weight"] = (attention.r_net.weight, None)
        if untie:
            names[prefix + "attention.self.content_bias"] = (attention.r_w_bias, None)
            names[prefix + "attention.self.position_bias"] = (attention.r_r_bias, None)
        names[prefix + "attention.output.dense.weight"] = (attention.o_net.weight, None)
        for ours, module in (
            ("attention.output.LayerNorm", attention.layer_norm), ("intermediate.dense", inner.CoreNet[0]),
            ("output.dense", inner.CoreNet[3]), ("output.LayerNorm", inner.layer_norm),
        ):
            names[f"{prefix}{ours}.weight"] = (module.weight, None)
            names[f"{prefix}{ours}.bias"] = (module.bias, None)
    if not untie:
        names["bert.encoder.content_bias"] = (model.r_w_bias, None)
        names["bert.encoder.position_bias"] = (model.r_r_bias, None)
    return names


def main():
    torch.manual_seed(44)
    tensors, metadata = {}, {"width": str(WIDTH), "heads": str(HEADS), "layers": str(LAYERS), "inner": str(INNER),
                             "vocabulary": str(WORDS)}
    cases = [  # memory, rows that it begins with, clamp, same_length, untie, tokens of the segments
        (5, 0, 0, False, False, (7, 4)),
        (5, 3, 0, False, True, (4, 6)),
        (5, 5, 0, False, False, (3, 3)),
        (6, 4, 3, False, False, (8, 5)),
        (6, 0, 0, True, False, (9, 7)),
        (6, 6, 4, True, True, (5, 8)),
    ]
    for number, (memory, begin, clamp, same_length, untie, lengths) in enumerate(cases):
        model = model_of(memory, clamp, same_length, untie)
        # Every layer its own; of one stream.
        mems = [torch.randn(begin, 1, WIDTH) for _ in range(LAYERS)]
        case = f"{number}."
        metadata[case + "options"] = f"{memory} {clamp} {int(same_length)} {int(untie)}"
        tensors[case + "memory"] = torch.cat([m[:, 0] for m in mems]).reshape(LAYERS, begin, WIDTH).numpy()
        names = layout(model, untie)
        for name, (tensor, part) in names.items():
            values = tensor if part is None else tensor[part]
            tensors[case + name] = values.detach().numpy().copy()
        for segment, length in enumerate(lengths):
            ids = torch.randint(1, WORDS, (1, length))
            model.zero_grad()
            made = model(ids, mems=mems)
            weights = torch.randn(1, length, WIDTH)
            (made.last_hidden_state * weights).sum().backward()
            place = f"{case}segment{segment}."
            tensors[place + "ids"] = ids[0].to(torch.int32).numpy()
            tensors[place + "state"] = made.last_hidden_state[0].detach().numpy().copy()
            tensors[place + "weights"] = weights[0].numpy()
            for name, (tensor, part) in (names.items() if segment else ()):
                values = tensor.grad if part is None else tensor.grad[part]
                tensors[place + "gradient." + name] = values.numpy().copy()
            mems = made.mems
        tensors[case + "memory_after"] = torch.stack([m[:, 0] for m in mems]).numpy()
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    save({name: numpy.ascontiguousarray(value) for name, value in tensors.items() if value.size}, OUTPUT, metadata)


if __name__ == "__main__":
    main()
