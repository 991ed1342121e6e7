"""A training step of one layer of Performer (512 wide, 8 heads, 2,048 inside, 256 features, one sequence): bigbird beside
performer-pytorch's Performer of one layer with a tied output, fp32, the same threads, in turns. Prints the seconds, those
of all threads' processors (which count on a busy machine) and the peak memory of both.

    python performer_speed.py --bench build/release/tests/bench/bench_performer

It wants torch and performer-pytorch 1.1.4 (tests/peers/make_performer.py). With --causal that one runs its function without
a CUDA kernel."""
import argparse
import statistics
import subprocess
import sys
import time

WIDTH, HEADS, INNER, FEATURES, WORDS, LABELS = 512, 8, 4, 256, 1000, 64


def peak():
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def serve(threads, tokens, causal):
    import torch
    from performer_pytorch import Performer

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    words = torch.nn.Embedding(WORDS, WIDTH)
    layer = Performer(dim=WIDTH, depth=1, heads=HEADS, dim_head=WIDTH // HEADS, causal=causal, nb_features=FEATURES,
                      ff_mult=INNER, feature_redraw_interval=None).train()
    parameters = [*words.parameters(), *layer.parameters()]

    def step():
        ids, labels = torch.randint(1, WORDS, (1, tokens)), torch.randint(1, WORDS, (LABELS,))
        start, before = time.perf_counter(), time.process_time()
        states = layer(words(ids))
        logits = torch.nn.functional.linear(states[0, :: tokens // LABELS][:LABELS], words.weight)
        loss = torch.nn.functional.cross_entropy(logits, labels)
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        return time.perf_counter() - start, time.process_time() - before

    step()
    for _ in sys.stdin:
        wall, cpu = step()
        print(f"{wall:.4f} {cpu:.4f} {peak()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="bench_performer of a release build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 4096, 16384])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.threads, options.serve, options.causal)
    for tokens in options.tokens:
        commands = {"bigbird": [options.bench, "serve", str(FEATURES), str(tokens), str(options.threads),
                                str(int(options.causal))],
                    "performer-pytorch": [sys.executable, __file__, "--serve", str(tokens), "--threads", str(options.threads),
                                          *(["--causal"] if options.causal else [])]}
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
            print(f"{tokens} tokens, {name}: {statistics.median(seconds[name]):.3f} s a step ({min(seconds[name]):.3f} to "
                  f"{max(seconds[name]):.3f}), {statistics.median(processors[name]):.3f} s of processors, "
                  f"{most[name] / 1e6:.0f} MB")
        ratios = [statistics.median(of["performer-pytorch"]) / statistics.median(of["bigbird"])
                  for of in (seconds, processors)]
        print(f"{tokens} tokens: {ratios[0]:.2f} times as fast, {ratios[1]:.2f} by processors, in "
              f"{most['bigbird'] / most['performer-pytorch']:.2f} of the memory", flush=True)


if __name__ == "__main__":
    main()
