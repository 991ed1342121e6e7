"""The sparse GENA-LM architecture in plain torch, after its published description: BERT with pre-LN, rotary positions in halves
over the first part of every head, gelu in the erf form, LayerNorm before dropout in the embeddings, and a 0/1 layout of key
blocks for every head and layer (DeepSpeed's BigBirdSparsityConfig). Attention is computed dense, under the layout's mask,
because DeepSpeed's own kernels need old GPUs' stacks. Parameters carry GENA-LM's names; weights by formula."""

import math

import numpy as np
import torch
from torch.nn import functional

import formula_weights


def draw_layout(random, heads, blocks, random_blocks=1):
    """Window of 3, first and last block global, and random blocks, another choice in every head: 0/1 [heads, n, n]."""
    layout = np.zeros((heads, blocks, blocks), dtype=np.int64)
    for head in range(heads):
        for row in range(blocks):
            layout[head, row, max(0, row - 1) : row + 2] = 1
            layout[head, row, random.permutation(blocks)[:random_blocks]] = 1
    layout[:, [0, -1], :] = 1
    layout[:, :, [0, -1]] = 1
    return layout


def shapes(config):
    """GENA-LM's parameter names and shapes, for MLM and NSP."""
    c, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    linear = lambda name, out, into: {name + ".weight": (out, into), name + ".bias": (out,)}
    norm = lambda name: {name + ".weight": (c,), name + ".bias": (c,)}
    result = {"bert.embeddings.word_embeddings.weight": (v, c),
              "bert.embeddings.token_type_embeddings.weight": (config["type_vocab_size"], c)}
    result |= norm("bert.embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        prefix = f"bert.encoder.layer.{layer}."
        for name in ("query", "key", "value"):
            result |= linear(prefix + "attention.self." + name, c, c)
        result |= linear(prefix + "attention.output.dense", c, c)
        result |= norm(prefix + "pre_attention_ln") | norm(prefix + "post_attention_ln")
        result |= linear(prefix + "intermediate.dense", f, c) | linear(prefix + "output.dense", c, f)
    result |= norm("bert.encoder.last_layer_ln") | linear("bert.pooler.dense", c, c)
    result |= linear("cls.predictions.transform.dense", c, c) | norm("cls.predictions.transform.LayerNorm")
    return result | {"cls.predictions.bias": (v,)} | linear("cls.seq_relationship", 2, c)


def layout_name(name):
    """The name that `bigbird forward` gives the gradient of a parameter."""
    name = name.replace(".pre_attention_ln.", ".attention.output.LayerNorm.")
    name = name.replace(".post_attention_ln.", ".output.LayerNorm.")
    return name.replace("encoder.last_layer_ln.", "encoder.LayerNorm.").replace("pooler.dense.", "pooler.")


class GenaModel:
    def __init__(self, config, layouts, dtype):
        self.config, self.layouts = config, layouts
        self.parameters = {name: torch.from_numpy(formula_weights.values(layout_name(name), shape)).to(dtype)
                           .requires_grad_() for name, shape in shapes(config).items()}

    def linear(self, x, name):
        return functional.linear(x, self.parameters[name + ".weight"], self.parameters[name + ".bias"])

    def norm(self, x, name):
        return functional.layer_norm(x, x.shape[-1:], self.parameters[name + ".weight"], self.parameters[name + ".bias"],
                                     self.config["layer_norm_eps"])

    def rotate(self, x):
        """x [B, heads, T, d]: pairs (i, i + rotary_dim / 2) turned by position / base^(2i / rotary_dim)."""
        turned = self.config["rotary_dim"]
        angle = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * torch.pow(
            float(self.config["rotary_base"]), -torch.arange(0, turned, 2, dtype=torch.float64) / turned)
        cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
        first, second, rest = x[..., : turned // 2], x[..., turned // 2 : turned], x[..., turned:]
        return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], dim=-1)

    def attention(self, x, mask, layer):
        batch, tokens, width = x.shape
        heads, block = self.config["num_attention_heads"], self.config["sparse_attention"]["block"]
        prefix = f"bert.encoder.layer.{layer}.attention."
        split = lambda name: self.linear(x, prefix + "self." + name).view(batch, tokens, heads, -1).transpose(1, 2)
        query, key, value = self.rotate(split("query")), self.rotate(split("key")), split("value")
        blocks = tokens // block
        seen = torch.from_numpy(self.layouts[layer][:, :blocks, :blocks]).bool()
        seen = seen.repeat_interleave(block, 1).repeat_interleave(block, 2)[None] & mask[:, None, None, :].bool()
        scores = (query @ key.transpose(-1, -2) / math.sqrt(width // heads)).masked_fill(~seen, -1e30)
        context = (torch.softmax(scores, dim=-1) @ value).transpose(1, 2).reshape(batch, tokens, width)
        return self.linear(context, prefix + "output.dense")

    def __call__(self, input_ids, token_type_ids, attention_mask, labels, next_sentence_label):
        table = self.parameters["bert.embeddings.word_embeddings.weight"]
        x = functional.embedding(input_ids, table) + functional.embedding(
            token_type_ids, self.parameters["bert.embeddings.token_type_embeddings.weight"])
        x = self.norm(x, "bert.embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
            prefix = f"bert.encoder.layer.{layer}."
            x = x + self.attention(self.norm(x, prefix + "pre_attention_ln"), attention_mask, layer)
            inner = functional.gelu(self.linear(self.norm(x, prefix + "post_attention_ln"), prefix + "intermediate.dense"))
            x = x + self.linear(inner, prefix + "output.dense")
        x = self.norm(x, "bert.encoder.last_layer_ln")
        pooled = torch.tanh(self.linear(x[:, 0], "bert.pooler.dense"))
        inner = functional.gelu(self.linear(x, "cls.predictions.transform.dense"))
        prediction = functional.linear(self.norm(inner, "cls.predictions.transform.LayerNorm"), table,
                                       self.parameters["cls.predictions.bias"])
        relation = self.linear(pooled, "cls.seq_relationship")
        loss = functional.cross_entropy(prediction.flatten(0, 1), labels.flatten()) + functional.cross_entropy(
            relation, next_sentence_label)
        return {"last_hidden_state": x, "pooler_output": pooled, "prediction_logits": prediction,
                "seq_relationship_logits": relation, "loss": loss}

    def state_dict(self):
        """As GENA-LM's checkpoints hold it: float32, the tied decoder, positions, angles and layouts."""
        state = {name: value.detach().float() for name, value in self.parameters.items()}
        state["cls.predictions.decoder.weight"] = state["bert.embeddings.word_embeddings.weight"]
        state["cls.predictions.decoder.bias"] = state["cls.predictions.bias"]
        state["bert.embeddings.position_ids"] = torch.arange(self.config["max_position_embeddings"])[None]
        turned = self.config["rotary_dim"]
        angles = 1.0 / (self.config["rotary_base"] ** (torch.arange(0, turned, 2).float() / turned))
        for layer, layout in enumerate(self.layouts):
            prefix = f"bert.encoder.layer.{layer}.attention.self."
            state[prefix + "rotary_emb.inv_freq"] = angles
            state[prefix + "sparse_self_attention.master_layout"] = torch.from_numpy(layout)
        return state
