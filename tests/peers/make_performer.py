"""Performer's attention by performer-pytorch, written to tests/golden/neighbours/performer.safetensors:

    pip install torch numpy safetensors einops
    pip install --no-deps performer-pytorch==1.1.4 local-attention axial-positional-embedding hyper-connections
    python make_performer.py

Its functions in double, of projections that are handed over: softmax_kernel, generalized_kernel (without its D^-1/4,
which our relu and elu1 do not have), linear_attention, and causal_linear_attention_noncuda. That one takes the largest
exponent over all keys, later ones too: the case "causal" has the key with it in front, and "prefixes" has, for each token,
linear_attention over the tokens up to it. It adds 1e-6 to the sums of keys: with it is "published", without it all else.
Every tensor of a case stands under the case's number: queries, keys, values [T, D], the projection, the output, the weights
of its sum, and the gradients."""

import pathlib

import numpy
import torch
from golden_file import save
from performer_pytorch.performer_pytorch import (
    causal_linear_attention_noncuda, gaussian_orthogonal_random_matrix, generalized_kernel, linear_attention,
    softmax_kernel,
)

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours" / "performer.safetensors"
EPSILON = 1e-4  # its own of softmax_kernel


def features(kernel, projection):
    def softmax(x, is_query):
        return softmax_kernel(x, projection_matrix=projection, is_query=is_query, eps=EPSILON)

    def general(function, added):
        def of(x, is_query):
            return generalized_kernel(
                x, projection_matrix=projection, kernel_fn=function, kernel_epsilon=added, normalize_data=False)

        return of

    return {"softmax+": softmax, "relu": general(torch.nn.ReLU(), 0.001), "elu1": general(torch.nn.ELU(), 1.0)}[kernel]


def attention(how, of, q, k, v, added=0.0):
    if how == "both":
        return linear_attention(of(q, True), of(k, False), v)
    if how == "causal":
        return causal_linear_attention_noncuda(of(q, True), of(k, False), v, chunk_size=3, eps=added)
    rows = []
    for end in range(1, q.shape[-2] + 1):
        part = linear_attention(of(q[:, :, :end], True), of(k[:, :, :end], False), v[:, :, :end])
        rows.append(part[:, :, -1:])
    return torch.cat(rows, dim=-2)


def main():
    torch.manual_seed(45)
    cases = [  # kernel, direction, tokens, columns of a head, rows of the projection; 0: none
        ("softmax+", "both", 21, 8, 24), ("softmax+", "causal", 21, 8, 24), ("softmax+", "prefixes", 21, 8, 24),
        ("softmax+", "both", 13, 16, 5), ("relu", "both", 17, 6, 0), ("relu", "causal", 17, 6, 10),
        ("elu1", "causal", 17, 6, 0), ("elu1", "both", 9, 4, 7),
    ]
    tensors, metadata = {}, {"epsilon": str(EPSILON), "cases": str(len(cases))}
    for number, (kernel, how, tokens, size, rows) in enumerate(cases):
        draw = lambda: torch.randn(1, 1, tokens, size).float().double()
        q, k, v, weights = draw(), draw(), draw(), draw()
        projection = gaussian_orthogonal_random_matrix(rows, size).float().double() if rows else None
        if kernel == "softmax+" and how == "causal":
            largest = (k[0, 0] @ projection.T).amax(dim=1).argmax()
            k[0, 0, [0, int(largest)]] = k[0, 0, [int(largest), 0]]
        for x in (q, k, v):
            x.requires_grad_(True)
        out = attention(how, features(kernel, projection), q, k, v)
        (out * weights).sum().backward()
        place = f"{number}."
        metadata[place + "case"] = f"{kernel} {how} {tokens} {size} {rows}"
        named = {"q": q, "k": k, "v": v, "weights": weights, "out": out, "dq": q.grad, "dk": k.grad, "dv": v.grad}
        if rows:
            named["projection"] = projection[None, None]
        if how == "causal":
            named["published"] = attention(how, features(kernel, projection), q, k, v, 1e-6)
        for name, tensor in named.items():
            tensors[place + name] = numpy.ascontiguousarray(tensor[0, 0].detach().numpy().astype(numpy.float32))
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    save(tensors, OUTPUT, metadata)


if __name__ == "__main__":
    main()
