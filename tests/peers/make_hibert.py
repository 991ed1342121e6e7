"""HIBERT on torch's nn.TransformerEncoder, written to tests/golden/neighbours/hibert.safetensors:

    pip install torch numpy safetensors
    python make_hibert.py

Both encoders are nn.TransformerEncoder (norm_first=False, relu, no dropout), in double, sentence by sentence and document by
document, without padding. The decoder's layers are nn.MultiheadAttention with a causal mask, nn.LayerNorm of the sum with the
sentence's vector, and the feed-forward part by hand. Two documents, of 3 and 2 sentences; sentences 1 and 3 are written.
"masked." is the loss of the decoder, "labels." that of labels of the sentences (one has none). Tensors go by the names that
bigbird has for them, gradients behind "gradient."."""

import math
import pathlib

import torch
from golden_file import save
from torch import nn

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours" / "hibert.safetensors"
VOCABULARY, WIDTH, HEADS, INNER, LAYERS, POSITIONS = 23, 16, 2, 20, 2, 16
SENTENCES = [[5, 9, 11, 2], [7, 2], [12, 13, 14, 15, 16, 2], [8, 8, 3, 2], [21, 4, 19, 20, 2]]
DOCUMENTS = [3, 2]
WRITTEN = {1: [6, 17, 2], 3: [10, 18, 22, 7, 2]}
START = 1
LABELS = [1, 0, -100, 0, 1]


def sinusoids():
    place = torch.arange(POSITIONS, dtype=torch.float64)[:, None]
    rate = torch.exp(-math.log(10000.0) * torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)
    table = torch.zeros(POSITIONS, WIDTH, dtype=torch.float64)
    table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
    return table


def encoder():
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, activation="relu", layer_norm_eps=1e-5, batch_first=True, norm_first=False)
    return nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).double()


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm1, self.sentence, self.norm2 = (nn.LayerNorm(WIDTH, eps=1e-5) for _ in range(3))
        self.linear1, self.linear2 = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)

    def forward(self, x, vector):
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        x = self.norm1(x + self.self_attn(x, x, x, attn_mask=hidden, need_weights=False)[0])
        x = self.sentence(x + vector)
        return self.norm2(x + self.linear2(torch.relu(self.linear1(x))))


class Hibert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.sentences, self.documents = encoder(), encoder()
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.labels = nn.Linear(WIDTH, 2)
        self.double()
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.3)
        for name, parameter in self.named_parameters():
            if "norm" in name or "sentence.weight" in name or "sentence.bias" in name:
                nn.init.normal_(parameter, mean=1.0 if name.endswith("weight") else 0.0, std=0.2)

    def embedded(self, ids):
        ids = torch.tensor([ids])
        return math.sqrt(WIDTH) * self.word(ids) + sinusoids()[: ids.shape[1]]

    def states(self):
        tokens = [self.sentences(self.embedded(ids)) for ids in SENTENCES]
        ends, states, first = [rows[:, -1] for rows in tokens], [], 0
        for count in DOCUMENTS:
            rows = torch.stack(ends[first : first + count], dim=1) + sinusoids()[:count]
            states.append(self.documents(rows)[0])
            first += count
        return torch.cat([rows[0] for rows in tokens]), torch.cat(states)

    def written(self, states):
        logits, labels = [], []
        for sentence, ids in WRITTEN.items():
            x = self.embedded([START] + ids[:-1])
            for layer in self.decoder:
                x = layer(x, states[sentence])
            logits.append(x[0] @ self.word.weight.T)
            labels += ids
        return torch.cat(logits), torch.tensor(labels)


def name_of(name):
    if name == "word.weight":
        return "bert.embeddings.word_embeddings.weight"
    if name.startswith("labels."):
        return "sentence_labels." + name.split(".")[1]
    stack, rest = name.split(".", 1)
    rest = rest.removeprefix("layers.")
    number, part = rest.split(".", 1)
    prefix = {"sentences": "bert.encoder.layer.", "documents": "documents.layer.", "decoder": "decoder.layer."}[stack]
    parts = {
        "self_attn.out_proj": "attention.output.dense", "norm1": "attention.output.LayerNorm",
        "sentence": "sentence.LayerNorm", "linear1": "intermediate.dense", "linear2": "output.dense",
        "norm2": "output.LayerNorm"}
    module, kind = part.rsplit(".", 1)
    return f"{prefix}{number}.{parts[module]}.{kind}"


def tensors_of(name, values):
    if "in_proj_" not in name:
        yield name_of(name), values
        return
    stack, rest = name.split(".", 1)
    number = rest.removeprefix("layers.").split(".")[0]
    prefix = {"sentences": "bert.encoder.layer.", "documents": "documents.layer.", "decoder": "decoder.layer."}[stack]
    for part, rows in zip(("query", "key", "value"), values.chunk(3)):
        yield f"{prefix}{number}.attention.self.{part}.{name.rsplit('_', 1)[1]}", rows


def numbers(values):
    return values.detach().float().contiguous().numpy()


def main():
    torch.manual_seed(45)
    model = Hibert()
    tensors = {}
    for name, parameter in model.named_parameters():
        for ours, rows in tensors_of(name, parameter):
            tensors[ours] = numbers(rows)
            # What is written is what was computed with.
            with torch.no_grad():
                rows.copy_(torch.from_numpy(tensors[ours]).double())
    for kind in ("masked", "labels"):
        model.zero_grad()
        tokens, states = model.states()
        if kind == "masked":
            logits, labels = model.written(states)
        else:
            logits, labels = model.labels(states), torch.tensor(LABELS)
        loss = nn.functional.cross_entropy(logits, labels)
        loss.backward()
        tensors |= {f"{kind}.tokens": numbers(tokens), f"{kind}.states": numbers(states),
                    f"{kind}.logits": numbers(logits), f"{kind}.loss": numbers(loss[None])}
        for name, parameter in model.named_parameters():
            if parameter.grad is None:
                continue
            for ours, rows in tensors_of(name, parameter.grad):
                tensors[f"{kind}.gradient.{ours}"] = numbers(rows)
    save(tensors, OUTPUT, {"made by": f"torch {torch.__version__}"})


if __name__ == "__main__":
    main()
