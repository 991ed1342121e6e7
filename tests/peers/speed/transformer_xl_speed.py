"""A training step of Transformer-XL small (12 layers x 512, 8 heads, inner 2,048, segments and memory of 512, 4 streams, 256
words): bigbird beside transformers' TransfoXLModel with a tied output, dropout .1, AdamW, fp32, the same threads, in turns.
Prints the seconds, those of all threads' processors (which count on a busy machine) and the peak memory of both.

    python transformer_xl_speed.py --bench build/release/tests/bench/bench_transformer_xl

It wants transformers 4.57.1 and torch; the class's call of Tensor.type_as is made good as in make_transformer_xl.py."""
import argparse
import statistics
import subprocess
import sys
import time

LAYERS, WIDTH, HEADS, INNER, LENGTH, MEMORY, STREAMS, WORDS = 12, 512, 8, 2048, 512, 512, 4, 256


def peak():
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def serve(threads, layers):
    import torch
    from transformers import TransfoXLConfig, TransfoXLModel

    plain_type_as = torch.Tensor.type_as
    torch.Tensor.type_as = lambda self, other=None, dtype=None: self.to(dtype) if dtype else plain_type_as(self, other)
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = TransfoXLModel(TransfoXLConfig(
        vocab_size=WORDS, cutoffs=[], d_model=WIDTH, d_embed=WIDTH, n_head=HEADS, d_head=WIDTH // HEADS, d_inner=INNER,
        n_layer=layers, div_val=1, mem_len=MEMORY, clamp_len=-1, same_length=False, untie_r=False, dropout=0.1, dropatt=0.0,
        attn_type=0)).train()
    bias = torch.nn.Parameter(torch.zeros(WORDS))
    optimizer = torch.optim.AdamW([*model.parameters(), bias], lr=1e-4)
    mems = None

    def step():
        nonlocal mems
        ids, labels = torch.randint(1, WORDS, (STREAMS, LENGTH)), torch.randint(1, WORDS, (STREAMS, LENGTH))
        start = time.perf_counter()
        made = model(ids, mems=mems)
        mems = made.mems
        logits = torch.nn.functional.linear(made.last_hidden_state, model.word_emb.emb_layers[0].weight, bias)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return time.perf_counter() - start

    for _ in range(0, MEMORY + 1, LENGTH):
        step()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    for _ in sys.stdin:
        before = time.process_time()
        took = step()
        print(f"{took:.4f} {time.process_time() - before:.4f} {peak()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="bench_transformer_xl of a release build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.layers)
    for threads in options.threads:
        sizes = [options.layers, WIDTH, HEADS, INNER, LENGTH, MEMORY, STREAMS, WORDS, threads]
        commands = {"bigbird": [options.bench, *map(str, sizes)], "transformers": [sys.executable, __file__, "--serve", str(threads), "--layers",
                                     str(options.layers)]}
        sides = {name: subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                 for name, command in commands.items()}
        seconds, processors, most = {name: [] for name in sides}, {name: [] for name in sides}, {}
        for _ in range(options.rounds):
            for name, side in sides.items():
                side.stdin.write("step\n")
                side.stdin.flush()
                wall, cpu, peak_bytes = side.stdout.readline().split()
                seconds[name].append(float(wall))
                processors[name].append(float(cpu))
                most[name] = int(peak_bytes)
        for name, side in sides.items():
            side.stdin.close()
            side.wait()
            print(f"{threads} threads, {name}: {statistics.median(seconds[name]):.2f} s a step ({min(seconds[name]):.2f} to "
                  f"{max(seconds[name]):.2f}), {statistics.median(processors[name]):.2f} s of processors, {most[name] / 1e9:.2f} GB")
        ratios = [statistics.median(of["transformers"]) / statistics.median(of["bigbird"]) for of in (seconds, processors)]
        print(f"{threads} threads: {ratios[0]:.2f} times as fast, {ratios[1]:.2f} by processors, in "
              f"{most['bigbird'] / most['transformers']:.2f} of the memory", flush=True)


if __name__ == "__main__":
    main()
