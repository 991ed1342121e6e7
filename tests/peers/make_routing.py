"""Routed attention by the package routing-transformer, written to tests/golden/neighbours/routing.safetensors:

    pip install torch numpy safetensors einops local-attention
    pip install --no-deps routing-transformer==1.6.1 product-key-memory mixture-of-experts colt5-attention hyper-connections
    python make_routing.py

KmeansAttention in double, both directions, its memory keys left out. It takes queries and keys as they are, with a scale of
1 / sqrt(D); Google's have mean 0 and variance 1, and no scale. So they are handed over normalised, queries times sqrt(D), and
gradients go through that. What a query has of its clusters is divided by their number plus 1e-5 there; it is brought to plus
0.01.

Under the case's number: queries, keys and values [T, C] of two heads, centroids [H, k, D], the output, the weights of its
sum, and the gradients."""

import pathlib

import numpy
import torch
from golden_file import save
from routing_transformer.routing_transformer import KmeansAttention, distribution

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours" / "routing.safetensors"
HEADS, SIZE = 2, 6
CASES = ((12, 3, 5), (33, 4, 8), (20, 2, 20), (40, 5, 16))  # tokens, clusters, window


def by_head(rows):
    return rows.reshape(1, rows.shape[0], HEADS, SIZE).transpose(1, 2)


def normalised(rows):
    return torch.nn.functional.layer_norm(by_head(rows), (SIZE,), eps=1e-6)


def routed(q, k, v, centroids, window):
    clusters = centroids.shape[1]
    layer = KmeansAttention(clusters, window, HEADS, SIZE, num_mem_kv=0).double().eval()
    layer.kmeans.means.copy_(centroids)
    layer.kmeans.initted.fill_(True)
    queries = SIZE ** 0.5 * normalised(q)
    out, _ = layer(queries, normalised(k), by_head(v))
    places = distribution(torch.einsum("bhld,hcd->bhlc", queries, centroids), min(window, q.shape[0]))
    counts = torch.zeros(1, HEADS, q.shape[0], dtype=torch.double)
    counts.scatter_add_(2, places, torch.ones_like(places, dtype=torch.double))
    out = out * ((counts + 1e-5) / (counts + 1e-2))[..., None]
    return out.transpose(1, 2).reshape(q.shape[0], HEADS * SIZE)


def main():
    torch.manual_seed(48)
    tensors, words = {}, {"cases": str(len(CASES)), "heads": str(HEADS)}
    for number, (tokens, clusters, window) in enumerate(CASES):
        q, k, v, weights = (torch.randn(tokens, HEADS * SIZE).double() for _ in range(4))
        centroids = torch.randn(HEADS, clusters, SIZE).double()
        for rows in (q, k, v):
            rows.requires_grad_(True)
        out = routed(q, k, v, centroids, window)
        (out * weights).sum().backward()
        named = {"q": q, "k": k, "v": v, "centroids": centroids, "out": out, "weights": weights, "dq": q.grad, "dk": k.grad,
                 "dv": v.grad}
        words[f"{number}.case"] = f"{tokens} {clusters} {window}"
        for name, tensor in named.items():
            tensors[f"{number}.{name}"] = tensor.detach().numpy().astype(numpy.float32)
    save(tensors, OUTPUT, words)


if __name__ == "__main__":
    main()
