"""Runs small transformers LED models (Longformer-Encoder-Decoder) in float64 and writes inputs, outputs and gradients to
tests/golden/led/*.safetensors, which the C++ tests read, one folder as save_pretrained makes it, and what generate() writes with it
(beams.json). Weights are the formula of formula_weights.py under the layout's names.

    python make_led.py [--only NAME]"""

import json
import pathlib

import numpy as np
import torch
import transformers
from transformers import LEDConfig, LEDForConditionalGeneration

import formula_weights
import golden_file
from make_golden import call_tensors, float32_distances, make_all, save_folders
from make_longformer import own_softmax

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "led"
VOCABULARY, BOS, PAD, EOS = 48, 0, 1, 2


def case(name, *, windows, tokens, lengths=None, globals="task", targets=9, positions=48, decoder_positions=24, width=16,
         heads=4, decoder_heads=4, decoder_layers=2, inner=24, decoder_inner=24, block=16, **config):
    return dict(name=name, windows=windows, tokens=tokens, lengths=lengths or [tokens], globals=globals, targets=targets,
                positions=positions, decoder_positions=decoder_positions, width=width, heads=heads,
                decoder_heads=decoder_heads, decoder_layers=decoder_layers, inner=inner, decoder_inner=decoder_inner,
                block=block, config=config)


CASES = [
    case("summary_29", windows=[4, 8], tokens=29, lengths=[29, 21]),
    case("no_globals", windows=[4, 8], tokens=29, lengths=[29, 21], globals="none"),
    case("chosen_globals", windows=[8, 4], tokens=29, lengths=[29, 21], globals="chosen", block=8),
    case("stacks_differ", windows=[6], tokens=100, lengths=[100, 61, 7], targets=12, positions=128, decoder_positions=12,
         heads=2, decoder_heads=8, decoder_layers=3, inner=20, decoder_inner=36, activation_function="relu", block=8),
    case("untied", windows=[4, 8], tokens=29, targets=5, tie_word_embeddings=False),
]
FOLDERS = ("summary_29", "untied")
SEARCHES = [dict(num_beams=1, max_length=20), dict(num_beams=4, max_length=20, length_penalty=2.0, early_stopping=True),
            dict(num_beams=4, max_length=24, no_repeat_ngram_size=3, min_length=5)]

# Names of LED -> those of the layout (lib/model_folder/led.cpp has the same table), whose formula holds.
_FRONTS = [
    ("led.shared.", "bert.embeddings.word_embeddings."),
    ("led.encoder.embed_tokens.", "bert.embeddings.word_embeddings."),
    ("led.decoder.embed_tokens.", "bert.embeddings.word_embeddings."),
    ("led.encoder.embed_positions.", "bert.embeddings.position_embeddings."),
    ("led.decoder.embed_positions.", "decoder.embeddings.position_embeddings."),
    ("led.encoder.layernorm_embedding.", "bert.embeddings.LayerNorm."),
    ("led.decoder.layernorm_embedding.", "decoder.embeddings.LayerNorm."),
    ("led.encoder.layers.", "bert.encoder.layer."),
    ("led.decoder.layers.", "decoder.layer."),
]
_PARTS = [
    (".self_attn.longformer_self_attn.", ".attention.self."),
    (".self_attn.output.", ".attention.output.dense."),
    *formula_weights._PEGASUS_PARTS[2:],
]


def layout_name(name):
    for theirs, ours in _FRONTS:
        if name.startswith(theirs):
            name = ours + name[len(theirs):]
            break
    for theirs, ours in _PARTS:
        name = name.replace(theirs, ours)
    return name


def make_config(case):
    return LEDConfig(
        vocab_size=VOCABULARY, d_model=case["width"], encoder_layers=len(case["windows"]),
        decoder_layers=case["decoder_layers"], encoder_attention_heads=case["heads"],
        decoder_attention_heads=case["decoder_heads"], encoder_ffn_dim=case["inner"], decoder_ffn_dim=case["decoder_inner"],
        max_encoder_position_embeddings=case["positions"], max_decoder_position_embeddings=case["decoder_positions"],
        attention_window=list(case["windows"]), dropout=0.0, **case["config"])


def make_model(case, dtype=torch.float32):
    torch.nn.functional.softmax = own_softmax
    torch.set_default_dtype(dtype)  # of the mask of the decoder too
    model = LEDForConditionalGeneration(make_config(case)).to(dtype)
    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), ("final_logits_bias", model.final_logits_bias)]:
            parameter.copy_(torch.from_numpy(formula_weights.values(layout_name(name), tuple(parameter.shape))))
    return model


def make_inputs(case):
    random = np.random.RandomState(sum(map(ord, case["name"])))
    batch, tokens = len(case["lengths"]), case["tokens"]
    mask = (np.arange(tokens)[None, :] < np.array(case["lengths"])[:, None]).astype(np.int64)
    ids = np.where(mask == 1, random.randint(4, VOCABULARY, size=(batch, tokens)), PAD)
    ids[:, 0] = BOS
    labels = random.randint(0, VOCABULARY, size=(batch, case["targets"]))
    labels[:, 2] = PAD  # as an input its row is not taught, as a label it counts
    labels[-1, -3:] = -100
    inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    if case["globals"] == "chosen":
        inputs["global_attention_mask"] = np.zeros_like(mask)
        inputs["global_attention_mask"][[0, 0, 0], [3, 9, 28]] = 1
    return inputs


def global_mask(case, inputs):
    if case["globals"] == "chosen":
        return torch.from_numpy(inputs["global_attention_mask"])
    mask = torch.zeros(inputs["input_ids"].shape, dtype=torch.long)
    mask[:, 0] = case["globals"] == "task"
    return mask


def run(case, inputs, dtype):
    model = make_model(case, dtype)
    model.train()
    given = {name: torch.from_numpy(value).long() for name, value in inputs.items()}
    given["global_attention_mask"] = global_mask(case, inputs)
    out = model(**given, output_hidden_states=True, use_cache=False)
    tokens = case["tokens"]
    expected = {"last_hidden_state": out.encoder_last_hidden_state[:, :tokens],
                "decoder_last_hidden_state": out.decoder_hidden_states[-1].flatten(0, 1),
                "logits": out.logits.flatten(0, 1), "loss": out.loss}
    out.loss.backward()
    gradients = {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}
    return {name: value.detach().numpy() for name, value in expected.items()}, gradients


def own_fields(case):
    return {"block_size": case["block"],
            "attention_options": {"global": "none" if case["globals"] in ("none", "chosen") else "task"}}


def write(case, folder):
    inputs = make_inputs(case)
    outputs, gradients = run(case, inputs, torch.float64)
    single = run(case, inputs, torch.float32)
    real = inputs["attention_mask"] == 1
    tensors = call_tensors(inputs, outputs, gradients, real, 512)
    text = json.loads(make_config(case).to_json_string())
    text["architectures"] = [LEDForConditionalGeneration.__name__]
    text["bigbird"] = {"random_mode": "google", **own_fields(case)}
    far = float32_distances(single[0], single[1], outputs, gradients, real)
    metadata = {
        "config": json.dumps(text),
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float64",
        "peer_float32": json.dumps(far),
    }
    golden_file.save(tensors, folder / (case["name"] + ".safetensors"), metadata)
    size = (folder / (case["name"] + ".safetensors")).stat().st_size
    print(f"{case['name']}\t{size}\t{outputs['loss']:.4f}\t{far['outputs']:.1e}\t{far['gradients']:.1e}", flush=True)


def generated(case, inputs, search, dtype, documents):
    """Tokens behind the start token, up to the first end. Every document by itself: no padding."""
    model = make_model(case, dtype).eval()
    found = []
    for ids in documents:
        mask = torch.zeros(1, len(ids), dtype=torch.long)
        mask[0, 0] = 1
        result = model.generate(torch.tensor([ids]), global_attention_mask=mask, do_sample=False, output_scores=True,
                                return_dict_in_generate=True, **search)
        tokens = result.sequences[0].tolist()[1:]
        score = result.sequences_scores[0].item() if search["num_beams"] > 1 else None
        found.append({"tokens": tokens[:tokens.index(EOS) + 1] if EOS in tokens else tokens, "score": score})
    return found


def write_beams(case, folder):
    random = np.random.RandomState(5)
    documents = [[BOS, *random.randint(4, VOCABULARY, size=length - 2).tolist(), EOS] for length in (29, 7, 40, 18, 23, 33)]
    cases = []
    for search in SEARCHES:
        found = generated(case, None, search, torch.float64, documents)
        single = generated(case, None, search, torch.float32, documents)
        assert [one["tokens"] for one in found] == [one["tokens"] for one in single], search
        cases.append({**search, "found": found})
        print(f"beams\t{search}\t{[len(one['tokens']) for one in found]}", flush=True)
    text = json.dumps({"made_by": "tests/peers/make_led.py", "folder": case["name"], "documents": documents, "cases": cases})
    (folder / "beams.json").write_text(text.replace('{"num_beams"', '\n{"num_beams"') + "\n")


def write_folders(case, folder):
    save_folders(make_model(case), folder, case["name"])
    if case["name"] == "untied":  # one whose tables are tied repeats what it reads
        write_beams(case, folder)


if __name__ == "__main__":
    make_all(__doc__, OUTPUT, ["case", "bytes", "loss", "float32 outputs", "float32 gradients"], CASES, write, FOLDERS,
             write_folders)
