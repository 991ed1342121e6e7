#!/usr/bin/env python3
"""Tiny folders of transformers' esm, of every class that bigbird reads, and of Nucleotide Transformer's second version, whose layers
go on from that code with gates and without biases; and one call of each in float64: tests/golden/dialects/NAME/ and NAME_40.safetensors.
Then ids of EsmTokenizer for a vocabulary of 6-mers, and of DNABERT's words: tests/golden/kmers.json.

    python tests/peers/make_esm.py

Needs: transformers 4.57.1."""
import itertools
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

import formula_weights
import make_dialects

TOKENS, LENGTHS, VOCABULARY, MASK = 40, [40, 29], 24, 2
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
         "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "pad_token_id": 1, "mask_token_id": MASK,
         "max_position_embeddings": 42, "layer_norm_eps": 1e-12}
# NAME: class, fields of the config.
FOLDERS = {
    "esm_absolute": ("EsmForMaskedLM", {"position_embedding_type": "absolute", "token_dropout": True, "tie_word_embeddings": False,
                                        "emb_layer_norm_before": False}),
    "esm_rotary": ("EsmForMaskedLM", {"position_embedding_type": "rotary", "token_dropout": True, "emb_layer_norm_before": True}),
    "esm_gated": ("EsmForMaskedLM", {"position_embedding_type": "rotary", "token_dropout": False, "tie_word_embeddings": False,
                                     "emb_layer_norm_before": False, "add_bias_fnn": False}),
    "esm_gated_biases": ("EsmForMaskedLM", {"position_embedding_type": "absolute", "token_dropout": False, "tie_word_embeddings": False,
                                            "emb_layer_norm_before": False, "add_bias_fnn": True}),
    "esm_classes": ("EsmForSequenceClassification", {"position_embedding_type": "rotary", "token_dropout": False, "num_labels": 3}),
    "esm_encoder": ("EsmModel", {"position_embedding_type": "absolute", "token_dropout": False}),
    "esm_tokens": ("EsmForTokenClassification", {"position_embedding_type": "absolute", "token_dropout": False, "num_labels": 5}),
}


class GatedIntermediate(torch.nn.Module):
    """Nucleotide Transformer's second version (Dalla-Torre et al. 2024): SwiGLU."""

    def __init__(self, config):
        super().__init__()
        self.dense = torch.nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=config.add_bias_fnn)

    def forward(self, hidden_states):
        inner, gate = self.dense(hidden_states).chunk(2, -1)
        return torch.nn.functional.silu(inner) * gate


def gate_layers(model):
    config = model.config
    for layer in model.esm.encoder.layer:
        layer.intermediate = GatedIntermediate(config)
        layer.output.dense = torch.nn.Linear(config.intermediate_size, config.hidden_size, bias=config.add_bias_fnn)


def layout_name(name):
    """The name that bigbird has for a parameter."""
    if name.startswith(("embeddings.", "encoder.", "pooler.", "contact_head.")):
        name = "esm." + name
    name = name.replace("esm.embeddings.layer_norm.", "bert.embeddings.LayerNorm.")
    name = name.replace("esm.encoder.emb_layer_norm_after.", "bert.encoder.LayerNorm.").replace("esm.", "bert.")
    name = name.replace(".attention.LayerNorm.", ".attention.output.LayerNorm.")
    parts = name.split(".")
    if name.startswith("bert.encoder.layer.") and parts[4] == "LayerNorm":
        name = name.replace(".LayerNorm.", ".output.LayerNorm.")
    name = name.replace("lm_head.layer_norm.", "cls.predictions.transform.LayerNorm.").replace("lm_head.dense.", "cls.predictions.transform.dense.")
    return name.replace("lm_head.", "cls.predictions.").replace("pooler.dense.", "pooler.")


def make_inputs(model, seed):
    config = model.config
    random = np.random.RandomState(seed)
    kind = type(model).__name__
    inputs = make_dialects.make_inputs(seed, config.vocab_size, TOKENS, LENGTHS, config.pad_token_id, False)
    del inputs["token_type_ids"]
    if kind == "EsmForMaskedLM":  # as many as token dropout would see, in one sequence more than in the other
        masked = (random.rand(*inputs["input_ids"].shape) < np.array([[0.1], [0.3]])) & (inputs["attention_mask"] == 1)
        inputs["input_ids"] = np.where(masked, MASK, inputs["input_ids"])
    else:
        del inputs["labels"]
    if kind == "EsmForSequenceClassification":
        inputs["labels"] = random.randint(0, config.num_labels, len(LENGTHS))
    if kind == "EsmForTokenClassification":
        labels = random.randint(0, config.num_labels, (len(LENGTHS), TOKENS))
        inputs["labels"] = np.where(inputs["attention_mask"] == 1, labels, -100)
    return inputs


def call(name, model, seed):
    model.double().eval()
    inputs = make_inputs(model, seed)
    out = model(**{key: torch.from_numpy(value) for key, value in inputs.items()}, output_hidden_states=True)
    # esm's last hidden state is behind the LayerNorm of the stack.
    outputs = {"last_hidden_state": out.hidden_states[-1]}
    for key in ("loss", "logits", "pooler_output"):
        if getattr(out, key, None) is not None:
            outputs[key] = getattr(out, key)
    gradients = {}
    if "loss" in outputs:
        out.loss.backward()
        for key, value in model.named_parameters():
            if value.grad is None:
                continue
            gradient = value.grad.numpy()
            if key.endswith("position_embeddings.weight"):
                gradient = gradient[model.config.pad_token_id + 1:]
            gradients[layout_name(key)] = gradient
    make_dialects.write_call(f"{name}_{TOKENS}", name, inputs, {key: value.detach().numpy() for key, value in outputs.items()}, gradients, "none")


def write_folders():
    for seed, (name, (kind, fields)) in enumerate(FOLDERS.items()):
        config = transformers.EsmConfig(**{**SIZES, **fields})
        model = getattr(transformers, kind)(config)
        gated = "add_bias_fnn" in fields
        if gated:
            gate_layers(model)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parameter.copy_(torch.from_numpy(formula_weights.values(layout_name(key), tuple(parameter.shape))))
        folder = make_dialects.OUTPUT / name
        model.save_pretrained(folder)
        (folder / "model.safetensors").chmod(0o644)
        if gated:  # as the publisher's config.json, which names code of its own and no kind of model
            stored = json.loads((folder / "config.json").read_text())
            del stored["model_type"]
            stored["auto_map"] = {"AutoConfig": "esm_config.EsmConfig", "AutoModelForMaskedLM": "modeling_esm.EsmForMaskedLM"}
            (folder / "config.json").write_text(json.dumps(stored, indent=2) + "\n")
        call(name, model, 300 + seed)


def write_ids():
    random = np.random.RandomState(1)
    pieces = ["<unk>", "<pad>", "<mask>", "<cls>"] + ["".join(kmer) for kmer in itertools.product("ATCG", repeat=6)] + list("ATCGN")
    texts = ["", "A", "ACGTA", "ACGTAC", "ACGTACG", "N" * 7, "ACGNACGTACGT", "ACGTNNACGTACGTTTGCA", "ACGTACRYACGTACG", "TTTTTTXACGTACA"]
    texts += ["".join(random.choice(list("ACGT"), random.randint(1, 90))) for _ in range(20)]
    texts += ["".join(random.choice(list("ACGTN"), random.randint(1, 90), p=[0.23, 0.23, 0.23, 0.23, 0.08])) for _ in range(20)]
    made = {"peer": f"transformers {transformers.__version__}", "texts": texts}
    with tempfile.TemporaryDirectory() as folder:
        for name, more, end in (("version_1", [], None), ("version_2", ["<eos>", "<bos>"], None), ("with_end", ["<eos>"], "<eos>")):
            (Path(folder) / "vocab.txt").write_text("\n".join(pieces + more))
            tokenizer = transformers.EsmTokenizer(str(Path(folder) / "vocab.txt"), eos_token=end)
            made[name] = {"more": more, "end": end, "ids": [tokenizer(text)["input_ids"] for text in texts]}
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + ["".join(kmer) for kmer in itertools.product("ATCG", repeat=3)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vocab.txt").write_text("\n".join(words) + "\n")
        tokenizer = transformers.BertTokenizer(str(Path(folder) / "vocab.txt"), do_lower_case=False)
        made["words_of_3"] = [tokenizer(" ".join(text[i:i + 3] for i in range(len(text) - 2)))["input_ids"] for text in texts]
    (make_dialects.OUTPUT.parent / "kmers.json").write_text(json.dumps(made) + "\n")


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    write_folders()
    write_ids()


if __name__ == "__main__":
    main()
