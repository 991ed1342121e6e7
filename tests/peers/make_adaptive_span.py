"""Two segments through the published Adaptive-Span, written to tests/golden/neighbours/adaptive_span.safetensors:

    python make_adaptive_span.py FOLDER

FOLDER has adaptive_span.py, models.py, persistent_memory.py and adaptive_io.py of
github.com/facebookresearch/adaptive-span at 27b815f, which want torch alone; nothing of them is kept here. Its caches
are full from the beginning: one that is not would be rows of zeros that take weight. Its masks are clamped, and torch
2.15 has no gradient where a value lies on an end of the range; torch of the paper's time had one (clamp_backward:
min <= x <= max), and a run begins on both ends. So clamp is given that gradient here. Names are those of bigbird's
layout; every tensor of a case stands under the case's number, gradients of its second segment alone, with the loss of
spans."""

import pathlib
import sys

import numpy
import torch
from golden_file import save

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours" / "adaptive_span.safetensors"
WIDTH, HEADS, LAYERS, INNER, WORDS = 8, 2, 2, 10, 13
SPAN_LOSS = 0.001


class ClampWithItsEnds(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.detach().clip(low, high)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0], None, None


torch.Tensor.clamp = lambda self, low, high: ClampWithItsEnds.apply(self, low, high)


def model_of(longest, ramp, spans):
    from models import TransformerSeq

    model = TransformerSeq(
        vocab_size=WORDS, hidden_size=WIDTH, nb_heads=HEADS, nb_layers=LAYERS, attn_span=longest, emb_dropout=0.0,
        adapt_io_params={"adapt_io_enabled": False}, inner_hidden_size=INNER, dropout=0.0,
        adapt_span_params={
            "adapt_span_enabled": True, "adapt_span_loss": SPAN_LOSS, "adapt_span_ramp": ramp, "adapt_span_init": 0.0,
            "adapt_span_cache": False,
        },
        pers_mem_params={"pers_mem_size": 0},
    ).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            wide = 0.5 if "bias" in name or "emb" in name or "key_pe" in name else 0.3
            one = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            tensor.copy_(torch.randn(tensor.shape) * wide + one)
        for layer, of_heads in zip(model.layers, spans):
            mask = layer.attn.attn.adaptive_span._mask
            mask.current_val.copy_(torch.tensor(of_heads, dtype=torch.float32).reshape(HEADS, 1, 1))
    return model


def layout(model):
    """Our names; the two tables of all layers are made of several tensors, or lie otherwise there."""
    names = {"bert.embeddings.word_embeddings.weight": model.in_emb.weight}
    for i, layer in enumerate(model.layers):
        prefix = f"bert.encoder.layer.{i}."
        attention = layer.attn
        names[prefix + "attention.self.query.weight"] = attention.proj_query.weight
        names[prefix + "attention.self.key.weight"] = attention.proj_key.weight
        names[prefix + "attention.self.value.weight"] = attention.proj_val.weight
        names[prefix + "attention.output.dense.weight"] = attention.proj_out.weight
        for ours, module in (
            ("attention.output.LayerNorm", layer.norm1), ("intermediate.dense", layer.ff.fc1),
            ("output.dense", layer.ff.fc2), ("output.LayerNorm", layer.norm2),
        ):
            names[f"{prefix}{ours}.weight"] = module.weight
            names[f"{prefix}{ours}.bias"] = module.bias
    return names


def tables(model, of):
    """The table of distances, row d - 1 of distance d, and all spans."""
    spans = [of(layer.attn.attn.adaptive_span._mask.current_val).reshape(HEADS) for layer in model.layers]
    return {
        "bert.encoder.distances.weight": torch.flip(of(model.key_pe)[0].T, [0]),
        "bert.encoder.spans": torch.stack(spans),
    }


def main():
    sys.path.insert(0, sys.argv[1])
    torch.manual_seed(44)
    tensors, metadata = {}, {"width": str(WIDTH), "heads": str(HEADS), "layers": str(LAYERS), "inner": str(INNER),
                             "vocabulary": str(WORDS), "span_loss": str(SPAN_LOSS)}
    cases = [  # longest span, ramp, spans by layer and head, tokens of the segments
        (16, 4, ((0.0, 0.0), (0.0, 0.0)), (7, 5)),  # as training begins: the ramp ends on a distance
        (16, 4, ((0.25, 0.5), (1.0, 0.0)), (4, 6)),  # whole numbers of tokens
        (16, 8, ((0.13, 0.71), (0.03, 0.97)), (9, 12)),
        (12, 2, ((0.4, 0.0), (0.9, 0.2)), (16, 15)),  # segments longer than the memory
        (160, 32, ((0.107, 0.013), (0.0, 0.21)), (6, 20)),  # keys are left out there too
    ]
    for number, (longest, ramp, spans, lengths) in enumerate(cases):
        model = model_of(longest, ramp, spans)
        states = []
        model.layers[-1].register_forward_hook(lambda module, inputs, output, to=states: to.append(output))
        cache = [torch.randn(1, longest, WIDTH) for _ in range(LAYERS)]
        case = f"{number}."
        metadata[case + "options"] = f"{longest} {ramp}"
        tensors[case + "memory"] = torch.cat(cache).numpy()
        names = layout(model)
        for name, tensor in {**names, **tables(model, lambda tensor: tensor)}.items():
            tensors[case + name] = tensor.detach().numpy().copy()
        for segment, length in enumerate(lengths):
            ids = torch.randint(1, WORDS, (1, length))
            model.zero_grad()
            states.clear()
            _, cache, _ = model(ids, cache)
            weights = torch.randn(1, length, WIDTH)
            loss = (states[0] * weights).sum()
            loss = loss + sum(layer.attn.attn.adaptive_span.get_loss() for layer in model.layers)
            loss.backward()
            place = f"{case}segment{segment}."
            tensors[place + "ids"] = ids[0].to(torch.int32).numpy()
            tensors[place + "state"] = states[0][0].detach().numpy().copy()
            tensors[place + "weights"] = weights[0].numpy()
            if segment:
                gradients = {name: tensor.grad for name, tensor in names.items()}
                for name, gradient in {**gradients, **tables(model, lambda tensor: tensor.grad)}.items():
                    tensors[place + "gradient." + name] = gradient.numpy().copy()
        tensors[case + "memory_after"] = torch.cat(cache).numpy()
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    save({name: numpy.ascontiguousarray(value) for name, value in tensors.items() if value.size}, OUTPUT, metadata)


if __name__ == "__main__":
    main()
