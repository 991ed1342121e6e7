"""What the programs of this folder share: timing, and the JSON that bench_gpu writes too (see ../README.md)."""
import argparse
import json
import statistics
import sys
import time

HEADS, HEAD_SIZE, BLOCK = 12, 64, 64


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", required=True, help="file to write")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: to try the program, with --tiny")
    parser.add_argument("--tiny", action="store_true", help="sizes of seconds on a CPU; the numbers mean nothing")
    parser.add_argument("--rounds", type=int, default=20, help="runs of which the median is taken")
    return parser


def import_torch():
    """torch, or the end of the program with one line: exit code 77 is 'skipped'."""
    try:
        import torch
        return torch
    except ImportError as error:
        print(f"SKIPPED: {error}", file=sys.stderr)
        sys.exit(77)


class Measurements:
    """Collects rows and writes them even when a later case fails."""

    def __init__(self, options, engine):
        self.torch = import_torch()
        self.options, self.engine = options, engine
        if options.device == "cuda" and not self.torch.cuda.is_available():
            print("SKIPPED: torch sees no CUDA device", file=sys.stderr)
            sys.exit(77)
        on_cuda = options.device == "cuda"
        self.document = {
            "program": engine,
            "device": self.torch.cuda.get_device_name() if on_cuda else "cpu",
            "torch": self.torch.__version__,
            "tiny": options.tiny,
            "measurements": [],
            "skipped": [],
        }

    def milliseconds(self, work, rounds=None):
        """Median and spread (the middle 80 % over the median) of work(i), i = 0, 1, ...; three runs warm up."""
        torch, times = self.torch, []
        rounds = rounds or self.options.rounds
        for i in range(3):
            work(i)
        if self.options.device == "cpu":
            for i in range(rounds):
                start = time.perf_counter()
                work(i)
                times.append((time.perf_counter() - start) * 1e3)
        else:
            torch.cuda.synchronize()
            events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(rounds)]
            for i, (begin, end) in enumerate(events):
                begin.record()
                work(i)
                end.record()
            torch.cuda.synchronize()
            times = [begin.elapsed_time(end) for begin, end in events]
        times.sort()
        middle = statistics.median(times)
        return middle, (times[int(0.9 * (len(times) - 1))] - times[int(0.1 * (len(times) - 1))]) / middle

    def add(self, name, milliseconds, spread, engine=None, **facts):
        row = {"name": name, "engine": engine or self.engine, "milliseconds": milliseconds, "spread": spread, **facts}
        self.document["measurements"].append(row)
        print("  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()),
              flush=True)
        self.write()

    def attempt(self, what, work):
        """Runs one case; what goes wrong is noted with its reason, and the others go on."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - anything a library may throw
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            self.document["skipped"].append({"name": what, "reason": reason})
            print(f"SKIPPED: {what}: {reason}", file=sys.stderr, flush=True)
            self.write()
        if self.options.device == "cuda":
            self.torch.cuda.empty_cache()

    def write(self):
        with open(self.options.json, "w", encoding="utf-8") as file:
            json.dump(self.document, file, indent=1)

    def attention_inputs(self, sequences, tokens, sets):
        """(q, k, v, dout) as (sequences, heads, tokens, head size), each set with numbers of its own."""
        torch = self.torch
        dtype = torch.bfloat16 if self.options.device == "cuda" else torch.float32
        heads = 2 if self.options.tiny else HEADS
        generator = torch.Generator(self.options.device).manual_seed(1)
        return [tuple(torch.randn(sequences, heads, tokens, HEAD_SIZE, device=self.options.device, dtype=dtype,
                                  generator=generator) for _ in range(4)) for _ in range(sets)]

    def attention_sizes(self):
        """(sequences, tokens): as many tokens in all as bench_gpu takes."""
        return [(1, 512)] if self.options.tiny else [(8, 4096), (2, 16384), (1, 65536)]

    def attention_both_ways(self, engine, attention, sequences, tokens, rounds=None):
        """Forward without a graph, and backward alone, of attention(q, k, v)."""
        torch, sets = self.torch, self.attention_inputs(sequences, tokens, 2)
        facts = {"sequences": sequences, "tokens": tokens}
        with torch.no_grad():
            self.add("attention_forward", *self.milliseconds(lambda i: attention(*sets[i % 2][:3]), rounds), engine=engine, **facts)
        leaves = [tuple(x.requires_grad_() for x in one[:3]) for one in sets]
        outs = [attention(*one) for one in leaves]
        self.add("attention_backward", *self.milliseconds(
            lambda i: torch.autograd.grad(outs[i % 2], leaves[i % 2], sets[i % 2][3], retain_graph=True), rounds),
                 engine=engine, **facts)
