#!/usr/bin/env python3
"""A tiny BERT with BERT's vocab.txt as a folder of sentence-transformers, and the vectors of its own encode() for every pooling that
bigbird reads: tests/golden/sentences/model/ (without modules.json) and tests/golden/sentences/vectors.json, with the settings of each
case in both spellings of 1_Pooling/config.json.

    python tests/peers/make_sentences.py

Needs: sentence-transformers 6.2, transformers 4.57.1."""
import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from sentence_transformers import SentenceTransformer

import formula_weights
import make_bert
import make_wordpiece

OUTPUT = pathlib.Path(__file__).resolve().parents[1] / "golden" / "sentences"
TEXTS = ["the cat sat.", "", "Unwanted, unwantedx caf\u00e9", "\u4f60\u597d the CAT!", "the cat sat the cat sat the cat sat the cat sat the cat sat.", "A", " [MASK] a b "]
MODULES = [("", "sentence_transformers.models.Transformer"), ("1_Pooling", "sentence_transformers.models.Pooling"),
           ("2_Normalize", "sentence_transformers.models.Normalize")]
OLD = {"word_embedding_dimension": 8, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False,
       "pooling_mode_mean_sqrt_len_tokens": False}
CASES = {  # 1_Pooling/config.json, whether vectors get length 1, sentence_bert_config.json
    "mean": ({**OLD, "pooling_mode_mean_tokens": True}, False, {"max_seq_length": 12, "do_lower_case": False}),
    "mean-normalized": ({**OLD, "pooling_mode_mean_tokens": True}, True, {"max_seq_length": 12, "do_lower_case": False}),
    "cls": ({**OLD, "pooling_mode_cls_token": True}, False, {"max_seq_length": 16}),
    "max": ({**OLD, "pooling_mode_max_tokens": True}, True, {"max_seq_length": 9, "do_lower_case": True}),
    "new-spelling": ({"embedding_dimension": 8, "pooling_mode": "max", "include_prompt": True}, False, {}),
}


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    model_folder = OUTPUT / "model"
    shutil.rmtree(OUTPUT, ignore_errors=True)
    model_folder.mkdir(parents=True)
    config = transformers.BertConfig(**{**make_bert.SIZES, "vocab_size": len(make_wordpiece.SPECIALS + make_wordpiece.PIECES)}, max_position_embeddings=16)
    model = transformers.BertModel(config)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(formula_weights.values(make_bert.layout_name(key, True), tuple(parameter.shape))))
    model.save_pretrained(model_folder)
    (model_folder / "model.safetensors").chmod(0o644)
    make_wordpiece.write_folder(model_folder, {"do_lower_case": True, "model_max_length": 16})
    written = {"texts": TEXTS, "cases": {}}
    for name, (pooling, normalize, limits) in CASES.items():
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work) / "model"
            shutil.copytree(model_folder, folder)
            modules = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(MODULES[:3 if normalize else 2])]
            (folder / "modules.json").write_text(json.dumps(modules))
            (folder / "1_Pooling").mkdir()
            (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
            (folder / "2_Normalize").mkdir()
            (folder / "sentence_bert_config.json").write_text(json.dumps(limits))
            vectors = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, batch_size=1)
        written["cases"][name] = {"modules": modules, "pooling": pooling, "limits": limits, "vectors": vectors.tolist()}
    (OUTPUT / "vectors.json").write_text(json.dumps(written, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    print(OUTPUT, {name: len(case["vectors"]) for name, case in written["cases"].items()})


if __name__ == "__main__":
    main()
