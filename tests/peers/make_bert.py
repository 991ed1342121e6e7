#!/usr/bin/env python3
"""Tiny BERT and RoBERTa folders of every class that bigbird reads as it is, and a BigBird's that gives classes to tokens, as transformers saves them, and one call of each in
float64: tests/golden/dialects/NAME/ and tests/golden/dialects/NAME_40.safetensors. `bert` and `roberta` themselves (masked tokens)
are make_dialects.py's: of them only the call is made.

    python tests/peers/make_bert.py

Needs: transformers 4.57.1."""
import numpy as np
import torch
import transformers

import formula_weights
import make_dialects

TOKENS, LENGTHS, VOCABULARY = 40, [40, 29], 24
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
         "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
ROBERTA = {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
# NAME: class, positions, further fields of the config, arguments of the class.
FOLDERS = {
    "bert_encoder": ("BertModel", 40, {}, {}),
    "bert_without_pooler": ("BertModel", 48, {}, {"add_pooling_layer": False}),
    "bert_pretraining": ("BertForPreTraining", 40, {}, {}),
    "bert_classes": ("BertForSequenceClassification", 40, {"num_labels": 3}, {}),
    "bert_tokens": ("BertForTokenClassification", 40, {"num_labels": 5}, {}),
    "bert_answers": ("BertForQuestionAnswering", 40, {}, {}),
    "roberta_encoder": ("RobertaModel", 42, ROBERTA, {}),
    "roberta_pad_0": ("RobertaForMaskedLM", 41, {**ROBERTA, "pad_token_id": 0}, {}),
    "roberta_classes": ("RobertaForSequenceClassification", 42, {**ROBERTA, "num_labels": 3}, {}),
    "roberta_tokens": ("RobertaForTokenClassification", 42, {**ROBERTA, "num_labels": 5}, {}),
    "roberta_answers": ("RobertaForQuestionAnswering", 42, ROBERTA, {}),
    "bigbird_tokens": ("BigBirdForTokenClassification", 40, {"num_labels": 5, "block_size": 8, "attention_type": "original_full"}, {}),
}
CONFIGS = {"Bert": transformers.BertConfig, "Robe": transformers.RobertaConfig, "BigB": transformers.BigBirdConfig}


def layout_name(name, bert):
    """The name that bigbird has for a parameter."""
    if name.startswith(("embeddings.", "encoder.", "pooler.")):
        name = "bert." + name
    name = name.replace("roberta.", "bert.").replace("lm_head.layer_norm.", "cls.predictions.transform.LayerNorm.")
    name = name.replace("lm_head.dense.", "cls.predictions.transform.dense.").replace("lm_head.", "cls.predictions.")
    if bert:
        name = name.replace("classifier.", "classifier.out_proj.")
    return name.replace("pooler.dense.", "pooler.")


def is_sequence_head(kind):
    """Whether the classes are those of a BERT, whose one layer bigbird has behind the pooler."""
    return kind.startswith("Bert") and "Token" not in kind


def make_inputs(model, seed):
    config = model.config
    random = np.random.RandomState(seed)
    kind = type(model).__name__
    # RoBERTa gives all padding one position, and padding has logits of answers there.
    lengths = [TOKENS] * 2 if kind == "RobertaForQuestionAnswering" else LENGTHS
    inputs = make_dialects.make_inputs(seed, config.vocab_size, TOKENS, lengths, config.pad_token_id, False)
    if config.type_vocab_size == 1:
        inputs["token_type_ids"] *= 0
    if kind.endswith(("Model", "Classification", "Answering")):
        del inputs["labels"]
    if kind.endswith("PreTraining"):
        inputs["next_sentence_label"] = random.randint(0, 2, len(LENGTHS))
    if kind.endswith("TokenClassification"):
        labels = random.randint(0, config.num_labels, (len(LENGTHS), TOKENS))
        labels[random.rand(len(LENGTHS), TOKENS) < 0.3] = -100
        inputs["labels"] = np.where(inputs["attention_mask"] == 1, labels, -100)
    elif kind.endswith("Classification"):
        inputs["labels"] = random.randint(0, config.num_labels, len(LENGTHS))
    if kind.endswith("Answering"):
        inputs["start_positions"] = random.randint(1, min(LENGTHS), len(LENGTHS))
        inputs["end_positions"] = random.randint(1, min(LENGTHS), len(LENGTHS))
    return inputs


def call(name, model, seed):
    model.double().eval()
    inputs = make_inputs(model, seed)
    out = model(**{key: torch.from_numpy(value) for key, value in inputs.items()}, output_hidden_states=True)
    outputs = {"last_hidden_state": out.hidden_states[-1]}
    for theirs, ours in (("loss", "loss"), ("logits", "logits"), ("prediction_logits", "prediction_logits"), ("start_logits", "start_logits"),
                         ("end_logits", "end_logits"), ("seq_relationship_logits", "seq_relationship_logits"), ("pooler_output", "pooler_output")):
        if getattr(out, theirs, None) is not None:
            outputs[ours] = getattr(out, theirs)
    gradients = {}
    if "loss" in outputs:
        out.loss.backward()
        kind = type(model).__name__
        bert = not kind.startswith("Roberta")
        classes = type(model).__name__ == "BertForSequenceClassification"
        for key, value in model.named_parameters():
            if value.grad is None:
                continue
            gradient = value.grad.numpy()
            ours = layout_name(key, is_sequence_head(kind))
            if not bert and ours.endswith("position_embeddings.weight"):
                gradient = gradient[model.config.pad_token_id + 1:]
            if classes and ours.startswith("bert.pooler."):  # the dense layer before the classes
                ours = ours.replace("bert.pooler.", "classifier.dense.")
            gradients[ours] = gradient
    make_dialects.write_call(f"{name}_{TOKENS}", name, inputs, {key: value.detach().numpy() for key, value in outputs.items()}, gradients, "none")


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for seed, (name, (kind, positions, fields, arguments)) in enumerate(sorted(FOLDERS.items(), key=lambda item: "tokens" in item[0])):
        model = getattr(transformers, kind)(CONFIGS[kind[:4]](**SIZES, max_position_embeddings=positions, **fields), **arguments)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parameter.copy_(torch.from_numpy(formula_weights.values(layout_name(key, is_sequence_head(kind)), tuple(parameter.shape))))
        folder = make_dialects.OUTPUT / name
        model.save_pretrained(folder)
        (folder / "model.safetensors").chmod(0o644)
        call(name, model, 100 + seed)
    for seed, (name, kind) in enumerate((("bert", transformers.BertForMaskedLM), ("roberta", transformers.RobertaForMaskedLM))):
        call(name, kind.from_pretrained(make_dialects.OUTPUT / name), 200 + seed)


if __name__ == "__main__":
    main()
