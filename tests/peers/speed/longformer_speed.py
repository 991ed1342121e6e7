"""A forward pass of Longformer-base over 4,096 tokens: bigbird beside transformers' LongformerModel, the same random weights,
tokens and threads, in turns; windows of 512, the first token global. Prints times, peak memory, and how far the states are
apart.

    python longformer_speed.py --bench build/release/tests/bench/bench_peer --program build/release/bin/bigbird --work DIR"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import speed

LENGTH, WINDOW = 4096, 512


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="bench_peer of a release build")
    parser.add_argument("--program", required=True, help="bigbird of the same build")
    parser.add_argument("--work", required=True, help="folder for the models and the input; made when missing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def prepare(options):
    import torch
    from safetensors.torch import save_file
    from transformers import LongformerConfig, LongformerModel

    if os.path.exists(f"{options.work}/ours"):
        return
    os.makedirs(options.work, exist_ok=True)
    torch.manual_seed(1)
    LongformerModel(LongformerConfig(
        vocab_size=50265, max_position_embeddings=LENGTH + 2, attention_window=WINDOW, type_vocab_size=1, pad_token_id=1,
        layer_norm_eps=1e-5)).save_pretrained(f"{options.work}/theirs")
    ids = torch.randint(100, 50265, (1, LENGTH))
    save_file({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, f"{options.work}/one.safetensors")
    subprocess.run([options.program, "convert", f"{options.work}/theirs", f"{options.work}/ours", "--attention", "longformer",
                    "--window", str(WINDOW), "--global", "first:1"], check=True)


class Longformer:
    """transformers' side; answers the requests that bench_peer answers."""

    def __init__(self, folder, threads):
        import torch
        from safetensors.torch import load_file
        from transformers import LongformerModel

        torch.set_num_threads(threads)
        self.torch = torch
        self.model = LongformerModel.from_pretrained(f"{folder}/theirs").eval()
        self.inputs = load_file(f"{folder}/one.safetensors")
        self.inputs["global_attention_mask"] = torch.zeros_like(self.inputs["input_ids"])
        self.inputs["global_attention_mask"][:, 0] = 1

    def run(self):
        with self.torch.no_grad():
            return self.model(**self.inputs).last_hidden_state

    def write(self, path):
        from safetensors.torch import save_file
        save_file({"hidden": self.run()[0].contiguous()}, path)


def main():
    options = arguments()
    if options.serve:
        speed.answer(Longformer(options.serve[0], int(options.serve[1])), "longformer")
        return
    prepare(options)
    threads = str(options.threads)
    processes = {
        "bigbird": speed.Process([options.bench, f"{options.work}/ours", f"{options.work}/one.safetensors", "forward", "fp32",
                                  "8", threads]),
        "transformers": speed.Process([sys.executable, __file__, "--bench", "", "--program", "", "--work", "", "--serve",
                                       options.work, threads])}
    for name, process in processes.items():
        process.ask(f"write {options.work}/{name}.safetensors")
    apart, cosine = speed.difference(f"{options.work}/bigbird.safetensors", f"{options.work}/transformers.safetensors")
    print(f"states: at most {apart:.1e} apart, cosine at least {cosine:.9f}")
    runs = {name: [] for name in processes}
    for _ in range(options.rounds):
        for name, process in processes.items():
            runs[name].append(process.ask("run"))
    median = {name: statistics.median(run["wall"] for run in runs[name]) for name in runs}
    peak = {name: runs[name][-1]["peak_gb"] for name in runs}
    for name in runs:
        print(f"{name}\t{median[name]:.3f} s\t{peak[name]:.2f} GB peak")
    print(f"{median['transformers'] / median['bigbird']:.2f} times as fast, {peak['bigbird'] / peak['transformers']:.2f} of "
          f"the memory; {time.strftime('%Y-%m-%d')}, {processes['bigbird'].ready}")


if __name__ == "__main__":
    main()
