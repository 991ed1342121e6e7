"""Speed of bigbird beside transformers for encoders of DNA that people have, by their shapes: DNABERT, Nucleotide Transformer 1 and 2.
Random weights, the same on both sides; forward passes over full-length inputs, in turns, the vocabulary's head left out.

    python dna_speed.py --bench build/release/tests/bench/bench_peer --work FOLDER [--rounds 5] [--precision fp32|bf16]

Layers are cut to 6 of each, so that a round takes seconds. Version 2's layers are transformers' esm with the gates that
make_esm.py puts in, as its publisher's code has them."""

import argparse
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import speed  # noqa: E402

SHAPES = {  # class, config, tokens, sequences
    "dnabert": ("Bert", {"vocab_size": 4101, "max_position_embeddings": 512}, 512, 8),
    "nt-v1-500m": ("Esm", {"hidden_size": 1280, "num_attention_heads": 20, "intermediate_size": 5120, "max_position_embeddings": 1002,
                           "position_embedding_type": "absolute", "token_dropout": True}, 1000, 2),
    "nt-v2-500m": ("Esm", {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 2050,
                           "position_embedding_type": "rotary", "token_dropout": False, "add_bias_fnn": False}, 2048, 1),
}
ESM = {"vocab_size": 4107, "pad_token_id": 1, "mask_token_id": 2, "emb_layer_norm_before": False, "tie_word_embeddings": False,
       "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def model_of(shape):
    """For masked tokens; what is timed is the encoder in it."""
    import make_esm
    import transformers

    kind, fields, _, _ = SHAPES[shape]
    fields = {**(ESM if kind == "Esm" else {}), **fields, "num_hidden_layers": 6}
    config = getattr(transformers, kind + "Config")(**fields)
    config._attn_implementation = "sdpa"
    model = getattr(transformers, kind + "ForMaskedLM")(config)
    if "add_bias_fnn" in fields:
        make_esm.gate_layers(model)
    return model


def prepare(shape, work):
    import torch
    from safetensors.torch import save_file

    folder = f"{work}/{shape}"
    if os.path.exists(f"{folder}/input.safetensors"):
        return folder
    torch.manual_seed(1)
    model_of(shape).save_pretrained(folder)
    _, _, tokens, sequences = SHAPES[shape]
    ids = torch.randint(5, 4101, (sequences, tokens))
    save_file({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, f"{folder}/input.safetensors")
    return folder


class Peer:
    def __init__(self, shape, folder, precision, threads):
        import torch
        from safetensors.torch import load_file

        torch.set_num_threads(threads)
        self.torch = torch
        model = model_of(shape)
        state = load_file(f"{folder}/model.safetensors")
        missing, surplus = model.load_state_dict(state, strict=False)
        assert not surplus and all("decoder" in name or "contact" in name for name in missing), (missing, surplus)
        model = model.bert if shape == "dnabert" else model.esm
        self.model = model.to(torch.bfloat16 if precision == "bf16" else torch.float32).eval()
        self.batch = load_file(f"{folder}/input.safetensors")

    def run(self):
        with self.torch.no_grad():
            return self.model(**self.batch).last_hidden_state

    def write(self, path):
        from safetensors.torch import save_file
        save_file({"hidden": self.run().float().flatten(0, 1).contiguous()}, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bench")
    parser.add_argument("--work")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        shape, folder, precision, threads = options.serve
        return speed.answer(Peer(shape, folder, precision, int(threads)), shape)
    print("| shape | tokens | bigbird | transformers | times | CPU times | difference |\n|---|---|---|---|---|---|---|")
    for shape in options.shapes.split(","):
        folder = prepare(shape, options.work)
        _, _, tokens, sequences = SHAPES[shape]
        ours = speed.Process([options.bench, folder, f"{folder}/input.safetensors", "forward", options.precision, str(sequences),
                              str(options.threads)])
        theirs = speed.Process([sys.executable, __file__, "--serve", shape, folder, options.precision, str(options.threads)])
        ours.ask(f"write {folder}/ours.safetensors")
        theirs.ask(f"write {folder}/theirs.safetensors")
        far, _ = speed.difference(f"{folder}/ours.safetensors", f"{folder}/theirs.safetensors")
        times = [(ours.ask("run"), theirs.ask("run")) for _ in range(options.rounds)]
        middle = [[statistics.median(run[side][key] for run in times) for side in (0, 1)] for key in ("wall", "cpu")]
        (wall, wall_peer), (cpu, cpu_peer) = middle
        print(f"| {shape} | {sequences} x {tokens} | {wall:.2f} s | {wall_peer:.2f} s | {wall_peer / wall:.2f} | {cpu_peer / cpu:.2f} "
              f"| {far:.1e} |", flush=True)
        ours.close(), theirs.close()


if __name__ == "__main__":
    main()
