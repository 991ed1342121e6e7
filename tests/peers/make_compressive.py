"""The reconstruction loss of Compressive Transformer out of labml-nn, written to tests/golden/neighbours/compressive.safetensors:

    python make_compressive.py

It wants labml-nn 0.5.1 (with labml and labml-helpers) and torch. Each case has two layers: inputs h, rows that leave the
memory, projections, a convolution; the loss of both, and its gradients. labml-nn normalises rows before attention, and its
values have a bias; our layers are post-LN without such biases, so its norm is left out here and its bias is 0. Weights of
convolutions are turned into our order (out, row, in)."""

import pathlib

import numpy
import torch
from golden_file import save

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours" / "compressive.safetensors"
LAYERS = 2


def layer_of(width, heads, rate):
    from labml_nn.transformers.compressive import CompressiveTransformerLayer, Conv1dCompression
    from labml_nn.transformers.feed_forward import FeedForward
    from labml_nn.transformers.xl.relative_mha import RelativeMultiHeadAttention

    layer = CompressiveTransformerLayer(
        d_model=width, self_attn=RelativeMultiHeadAttention(heads, width, 0.0), feed_forward=FeedForward(width, width, 0.0),
        dropout_prob=0.0, compress=Conv1dCompression(rate, width),
    )
    with torch.no_grad():
        for tensor in layer.parameters():
            tensor.copy_((torch.randn(tensor.shape) * 0.4).float())
        layer.self_attn.value.linear.bias.zero_()
    return layer


def main():
    from labml_nn.transformers.compressive import AttentionReconstructionLoss

    torch.manual_seed(51)
    torch.set_default_dtype(torch.float64)
    tensors, metadata = {}, {"layers": str(LAYERS)}
    cases = [(8, 2, 2, 5, 6), (6, 1, 3, 4, 9), (8, 4, 1, 3, 3), (4, 2, 4, 7, 8)]  # width, heads, rate, tokens, old rows
    for number, (width, heads, rate, length, rows) in enumerate(cases):
        layers = torch.nn.ModuleList([layer_of(width, heads, rate) for _ in range(LAYERS)])
        loss_of = AttentionReconstructionLoss(layers)
        loss_of.norm = lambda norm, rows: rows
        h = [torch.randn(length, 1, width).float().double().requires_grad_() for _ in range(LAYERS)]
        old = [torch.randn(rows, 1, width).float().double().requires_grad_() for _ in range(LAYERS)]
        loss = loss_of(h, old)
        loss.backward()
        for tensor in h + old:
            assert tensor.grad is None
        case = f"{number}."
        metadata[case + "sizes"] = f"{width} {heads} {rate}"
        tensors[case + "loss"] = loss.detach().reshape(1)
        for i, layer in enumerate(layers):
            place = f"{case}{i}."
            learned = {name for name, tensor in layer.named_parameters() if tensor.grad is not None}
            assert learned == {"compress.conv.weight", "compress.conv.bias"}, learned
            tensors[place + "h"], tensors[place + "old"] = h[i][:, 0].detach(), old[i][:, 0].detach()
            for which in ("query", "key", "value"):
                tensors[place + which] = getattr(layer.self_attn, which).linear.weight.detach()
            conv = layer.compress.conv
            tensors[place + "weight"], tensors[place + "bias"] = conv.weight.detach().permute(0, 2, 1), conv.bias.detach()
            tensors[place + "fresh"] = layer.compress(old[i])[:, 0].detach()
            tensors[place + "gradient.weight"] = conv.weight.grad.permute(0, 2, 1)
            tensors[place + "gradient.bias"] = conv.bias.grad
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    save({name: numpy.ascontiguousarray(value.float().numpy()) for name, value in tensors.items()}, OUTPUT, metadata)


if __name__ == "__main__":
    main()
