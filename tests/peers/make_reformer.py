"""Reformer's attention by transformers, written to tests/golden/neighbours/reformer.safetensors:

    pip install torch numpy safetensors transformers==4.57.1
    python make_reformer.py

LSHSelfAttention in double, behind its two projections: queries and values are handed over, and so are the rotations of
its hashes, which it draws from its seed. One sequence of two heads for each case; where it has padding, the mask that
hides it. Under the case's number: queries and values [T, C] of the real tokens, the rotations [H, hashes, columns, D], the
output, the weights of its sum, the gradients, and the buckets [H, hashes, T].

Two whole models in fp32 beside them, within one chunk, so that nothing is hashed: "classes" is
ReformerForSequenceClassification, "next" ReformerModelWithLMHead, with their tensors by our names, ids, last hidden state,
logits, and the gradients of their loss, which their reversible layers compute."""

import pathlib
from unittest import mock

import numpy
import torch
from golden_file import save
from transformers import ReformerConfig, ReformerForSequenceClassification, ReformerModelWithLMHead
from transformers.models.reformer.modeling_reformer import LSHSelfAttention

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours" / "reformer.safetensors"
HEADS, SIZE = 2, 6


class Given(torch.nn.Module):
    """A projection whose result is there already."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, _):
        return self.rows


OUR_NAMES = (  # in this order
    ("reformer.embeddings.position_embeddings.embedding.", "bert.embeddings.position_embeddings."),
    ("reformer.embeddings.", "bert.embeddings."), ("reformer.encoder.layers.", "bert.encoder.layer."),
    ("reformer.encoder.layer_norm.", "bert.encoder.LayerNorm."), ("attention.layer_norm.", "attention.output.LayerNorm."),
    ("self_attention.query_key.", "self.query."), ("self_attention.value.", "self.value."),
    ("feed_forward.layer_norm.", "output.LayerNorm."), ("feed_forward.dense.dense.", "intermediate.dense."),
    ("feed_forward.output.dense.", "output.dense."), ("lm_head.decoder.weight", "cls.predictions.decoder.weight"),
    ("lm_head.bias", "cls.predictions.bias"),
)


def our_name(name):
    for old, new in OUR_NAMES:
        name = name.replace(old, new)
    return name


def add_model(kind, tensors):
    config = ReformerConfig(
        num_attention_heads=HEADS, attention_head_size=SIZE, hidden_size=HEADS * SIZE, vocab_size=19, num_labels=3,
        attn_layers=["lsh", "lsh"], lsh_attn_chunk_length=16, feed_forward_size=20, axial_pos_embds=False,
        max_position_embeddings=32, is_decoder=kind == "next", hidden_dropout_prob=0.0, classifier_dropout=0.0,
        lsh_attention_probs_dropout_prob=0.0, use_cache=False, initializer_range=0.4)
    model = (ReformerModelWithLMHead if kind == "next" else ReformerForSequenceClassification)(config).train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    ids = torch.randint(1, 19, (1, 11))
    labels = ids if kind == "next" else torch.tensor([2])
    result = model(ids, labels=labels)
    result.loss.backward()
    hidden = model.reformer(ids).last_hidden_state
    named = {"ids": ids[0].int(), "hidden": hidden[0], "logits": result.logits[0], "loss": result.loss.reshape(1)}
    for name, parameter in model.named_parameters():
        if name == "lm_head.decoder.bias":
            continue  # the same as lm_head.bias
        named[our_name(name)] = parameter
        named["gradient." + our_name(name)] = parameter.grad
    for name, tensor in named.items():
        tensors[f"{kind}.{name}"] = numpy.ascontiguousarray(tensor.detach().numpy())


def main():
    torch.manual_seed(46)
    cases = [  # tokens, padding behind them, chunk, hashes, buckets (none: by the length), causal
        (32, 0, 8, 1, None, False), (32, 0, 8, 2, None, True), (32, 0, 8, 4, [2, 4], False), (24, 0, 4, 8, 6, True),
        (29, 3, 8, 2, None, False), (29, 3, 8, 3, 4, True), (9, 0, 16, 2, None, False), (9, 0, 16, 2, None, True),
    ]
    tensors, metadata = {}, {"cases": str(len(cases)), "heads": str(HEADS)}
    for number, (tokens, padding, chunk, hashes, buckets, causal) in enumerate(cases):
        length = tokens + padding
        config = ReformerConfig(
            num_attention_heads=HEADS, attention_head_size=SIZE, hidden_size=HEADS * SIZE, num_hashes=hashes,
            lsh_attn_chunk_length=chunk, num_buckets=buckets, is_decoder=causal, max_position_embeddings=64,
            lsh_attention_probs_dropout_prob=0.0)
        module = LSHSelfAttention(config).double().eval()
        normal = torch.randn  # which the patch below takes the place of
        draw = lambda *shape: normal(*shape).float().double()
        queries, values = draw(1, length, HEADS * SIZE), draw(1, length, HEADS * SIZE)
        weights = draw(1, tokens, HEADS * SIZE)
        queries.requires_grad_(True)
        values.requires_grad_(True)
        module.query_key, module.value = Given(queries), Given(values)
        mask = None
        if padding:
            mask = torch.ones(1, length, dtype=torch.long)
            mask[0, tokens:] = 0
        drawn = []

        def randn(shape, *args, **kwargs):
            drawn.append(draw(*shape))  # heads, D, hashes, columns
            return drawn[-1]

        with mock.patch("transformers.models.reformer.modeling_reformer.torch.randn", randn):
            result = module(torch.zeros(1, length, HEADS * SIZE).double(), attention_mask=mask)
        out = result.hidden_states[:, :tokens]
        (out * weights).sum().backward()
        used = module.num_buckets if module.num_buckets is not None else 0
        factors = [used, 0] if isinstance(used, int) else list(used)
        place = f"{number}."
        metadata[place + "case"] = f"{tokens} {chunk} {hashes} {factors[0]} {factors[1]} {int(causal)}"
        named = {
            "q": queries[0, :tokens], "v": values[0, :tokens], "weights": weights[0], "out": out[0],
            "dq": queries.grad[0, :tokens], "dv": values.grad[0, :tokens],
        }
        if drawn:
            named["rotations"] = drawn[0].permute(0, 2, 3, 1)
            # Of all rounds: the offset of a round is its number times the buckets, one more with padding.
            of_round = (numpy.prod([f for f in factors if f]) + (1 if padding else 0))
            found = result.buckets.reshape(HEADS, hashes, length)[:, :, :tokens] % of_round
            named["buckets"] = found.double()
        for name, tensor in named.items():
            tensors[place + name] = numpy.ascontiguousarray(tensor.detach().numpy().astype(numpy.float32))
    for kind in ("classes", "next"):
        add_model(kind, tensors)
    save(tensors, OUTPUT, metadata)


if __name__ == "__main__":
    main()
