"""A training step of one layer of a system whose work grows as the length (512 wide, 8 heads, 2,048 inside, one sequence):
bigbird beside public packages, fp32, the same threads, in turns. Prints the seconds, those of all threads' processors (which
count on a busy machine) and the peak memory of each.

    python long_layer_speed.py --system performer --bench build/release/tests/bench/bench_long_layers
    python long_layer_speed.py --system reformer --bench build/release/tests/bench/bench_long_layers
    python long_layer_speed.py --system routing --bench build/release/tests/bench/bench_long_layers

performer (256 features): Performer of performer-pytorch 1.1.4 (tests/peers/make_performer.py); with --causal it runs its
function without a CUDA kernel. reformer (chunks of 64, 2 hashes): Reformer of reformer-pytorch 1.4.4 and ReformerModel of
transformers 4.57.1. routing (clusters of 256 tokens, half of the heads local, 768 keys each): RoutingTransformer of
routing-transformer 1.6.1 (tests/peers/make_routing.py). The output is tied to the words, and reads 64 rows."""
import argparse
import statistics
import subprocess
import sys
import time

WIDTH, HEADS, INNER, COUNTS, WORDS, LABELS = 512, 8, 4, {"performer": 256, "reformer": 2, "routing": 256}, 1000, 64


def peak():
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))


# A layer from vectors of words to states, by package.
def performer_pytorch(tokens, causal):
    from performer_pytorch import Performer

    return Performer(dim=WIDTH, depth=1, heads=HEADS, dim_head=WIDTH // HEADS, causal=causal,
                     nb_features=COUNTS["performer"], ff_mult=INNER, feature_redraw_interval=None)


def reformer_pytorch(tokens, causal):
    from reformer_pytorch import Reformer

    return Reformer(dim=WIDTH, depth=1, heads=HEADS, bucket_size=64, n_hashes=COUNTS["reformer"], causal=causal,
                    ff_mult=INNER, ff_chunks=1)


def transformers(tokens, causal):
    import torch
    from transformers import ReformerConfig, ReformerModel

    model = ReformerModel(ReformerConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, attention_head_size=WIDTH // HEADS, attn_layers=["lsh"],
        feed_forward_size=INNER * WIDTH, lsh_attn_chunk_length=64, num_hashes=COUNTS["reformer"], axial_pos_embds=False,
        max_position_embeddings=tokens, is_decoder=causal, vocab_size=2, hidden_dropout_prob=0.0, use_cache=False))

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, vectors):
            return self.model(inputs_embeds=vectors).last_hidden_state[..., :WIDTH]

    return States()


def routing_transformer(tokens, causal):
    import torch
    from routing_transformer import RoutingTransformer

    window = COUNTS["routing"]
    model = RoutingTransformer(dim=WIDTH, depth=1, max_seq_len=tokens, heads=HEADS, window_size=window,
                               local_attn_window_size=window, n_local_attn_heads=HEADS // 2, causal=causal)

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, vectors):
            states, commitment = self.model(vectors)
            return states + commitment * 0  # its loss is small: its gradient is left out

    return States()


PACKAGES = {"performer": [performer_pytorch], "reformer": [reformer_pytorch, transformers], "routing": [routing_transformer]}


def serve(package, threads, tokens, causal):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    words = torch.nn.Embedding(WORDS, WIDTH)
    layer = package(tokens, causal).train()
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
    parser.add_argument("--system", choices=PACKAGES, required=True)
    parser.add_argument("--bench", help="bench_long_layers of a release build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 4096, 16384])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--serve", nargs=2, metavar=("PACKAGE", "TOKENS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(globals()[options.serve[0]], options.threads, int(options.serve[1]), options.causal)
    for tokens in options.tokens:
        commands = {"bigbird": [options.bench, "serve", options.system, str(COUNTS[options.system]), str(tokens),
                                str(options.threads), str(int(options.causal))]}
        for package in PACKAGES[options.system]:
            commands[package.__name__] = [
                sys.executable, __file__, "--system", options.system, "--serve", package.__name__, str(tokens), "--threads",
                str(options.threads), *(["--causal"] if options.causal else [])]
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
        for name in list(sides)[1:]:
            ratios = [statistics.median(of[name]) / statistics.median(of["bigbird"]) for of in (seconds, processors)]
            print(f"{tokens} tokens: {ratios[0]:.2f} times as fast as {name}, {ratios[1]:.2f} by processors, in "
                  f"{most['bigbird'] / most[name]:.2f} of the memory", flush=True)


if __name__ == "__main__":
    main()
