"""The results of verify.sh as one page: how each part ended, and each measure of docs/gpu.md beside what it must be.
  python3 tests/gpu/summarize.py RESULTS_FOLDER      reads parts.tsv and *.json there, writes summary.md"""
import json
import os
import sys


def load(folder, name, otherwise):
    path = os.path.join(folder, name)
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return otherwise
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Rows:
    """The measurements of all programs."""

    def __init__(self, documents):
        self.rows = [row for document in documents for row in document.get("measurements", [])]

    def best(self, name, field, engines, largest, **facts):
        """(value, row) of the best row whose engine begins with one of `engines` and that has these facts, or None."""
        found = [row for row in self.rows
                 if row["name"] == name and any(row["engine"] == e or row["engine"].startswith(e + "-") for e in engines)
                 and all(row.get(key) == value for key, value in facts.items()) and row.get(field)]
        if not found:
            return None
        row = (max if largest else min)(found, key=lambda one: one[field])
        return row[field], row


def ratio(rows, name, ours, theirs, **facts):
    """How many times the best of theirs takes as long as the best of ours; with both times."""
    a, b = rows.best(name, "milliseconds", [ours], False, **facts), rows.best(name, "milliseconds", theirs, False, **facts)
    if ours == "bigbird" and a:  # the fixed order only, not bigbird-fast
        exact = [row for row in rows.rows if row["name"] == name and row["engine"] == ours
                 and all(row.get(k) == v for k, v in facts.items())]
        a = min(((row["milliseconds"], row) for row in exact), default=None, key=lambda pair: pair[0])
    if not a or not b:
        return None, ""
    return b[0] / a[0], f"{a[0]:.3f} ms; {b[1]['engine']} {b[0]:.3f} ms"


def measures(rows):
    """(measure, value, unit, must, aim, note, whether less is better)"""
    table = []

    def add(measure, value, unit, must, aim, note="", less=False):
        table.append((measure, value, unit, must, aim, note, less))

    step = rows.best("training_step", "tokens_per_second", ["bigbird"], True)
    add("training step, bf16, masked head", step and step[0] / 1e6, "M tokens/s", 0.66, 0.80,
        f"{step[1]['sequences']:.0f} sequences" if step else "")
    dense, flex = ["sdpa"], ["flex"]
    for what, must, aim in (("forward", 4, 5.6), ("backward", 3.6, 5.2)):
        for engine in ["bigbird"] if what == "forward" else ["bigbird", "bigbird-fast"]:
            name = f"attention {what}" + (" (not in fixed order)" if engine != "bigbird" else "")
            value, note = ratio(rows, f"attention_{what}", engine, dense, tokens=4096)
            add(f"{name} against dense, 4,096 tokens", value, "x", must, aim, note)
            value, note = ratio(rows, f"attention_{what}", engine, flex, tokens=4096)
            add(f"{name} against FlexAttention, same mask", value, "x", 1.3, 2, note)
    for tokens, must, aim in ((16384, 15, 23), (65536, 60, 90)):
        value, note = ratio(rows, "attention_forward", "bigbird", dense, tokens=tokens)
        add(f"attention forward against dense, {tokens:,} tokens", value, "x", must, aim, note)
    fixed = rows.best("attention_backward", "milliseconds", ["bigbird-fast"], False, tokens=4096)
    value, note = ratio(rows, "attention_backward", "bigbird", ["bigbird-fast"], tokens=4096)
    add("attention backward: time in fixed order over the faster one", value and 1 / value if fixed else None, "x", 1.5, 1.5, note, True)
    theirs = rows.best("training_step", "tokens_per_second", ["huggingface"], True)
    add("training step against Hugging Face BigBird", step[0] / theirs[0] if step and theirs else None, "x", 4, 8,
        f"theirs {theirs[0] / 1e6:.4f} M tokens/s" if theirs else "")
    mine, other = (rows.best("training_step", "bytes_per_sequence", [e], False) for e in ("bigbird", "huggingface"))
    add("memory of one more sequence against Hugging Face", mine[0] / other[0] if mine and other else None, "x", 0.25, 0.25,
        f"{mine[0] / 2**20:.0f} MiB; {other[0] / 2**20:.0f} MiB" if mine and other else "", True)
    kept = rows.best("attention_forward", "kept_bytes_per_sequence", ["bigbird"], False, tokens=4096)
    add("attention: kept for backward, over the 477 MB of the gather path", kept and kept[0] / 477e6, "x", 1 / 15, 1 / 15,
        f"{kept[0] / 1e6:.1f} MB a layer and sequence" if kept else "", True)
    planned = [abs(row["used_bytes"] / row["planned_bytes"] - 1) * 100 for row in rows.rows
               if row["name"] == "training_step" and row.get("planned_bytes") and row.get("used_bytes")]
    add("memory used against planned, worst", max(planned, default=None), "%", 5, 5, "", True)
    pairs = rows.best("windows", "pairs_per_second", ["bigbird"], True)
    add("variants (REF + ALT, one strand, 8 kb)", pairs and pairs[0], "/s", 1000, 2000,
        f"{pairs[1]['sequences']:.0f} windows of {pairs[1]['tokens']:.0f} tokens at a time" if pairs else "")
    return table


def number(value):
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def verdict(value, must, aim, less):
    reached = (lambda goal: value <= goal) if less else (lambda goal: value >= goal)
    return "aim reached" if reached(aim) else "reached" if reached(must) else "NOT reached"


def main():
    folder = sys.argv[1]
    environment, bench, peers = load(folder, "environment.json", {}), load(folder, "bench.json", {}), load(folder, "peers.json", [])
    rows = Rows([bench, *peers])
    lines = ["# Results of tests/gpu/verify.sh", "",
             f"{environment.get('date', 'no date')}, device: {environment.get('device') or 'none'}, sources {environment.get('sources', '?')}"
             f" (commit {environment.get('commit') or 'unknown'}), nvcc {environment.get('nvcc') or 'none'}"]
    versions = [f"{name} {one[name]}" for one in peers for name in ("torch", "transformers") if name in one]
    if versions:
        lines.append("Peers: " + ", ".join(dict.fromkeys(versions)))
    tiny = bench.get("tiny") or any(one.get("tiny") for one in peers)
    if tiny:
        lines.append("\n**Tiny sizes: these numbers mean nothing.**")
    lines += ["", "| part | result | seconds |", "|---|---|---|"]
    path = os.path.join(folder, "parts.tsv")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            lines += ["| " + " | ".join(line.rstrip("\n").split("\t")) + " |" for line in file]
    tests = load(folder, "tests.json", None)
    if tests:
        skipped = sum(1 for suite in tests["testsuites"] for one in suite["testsuite"] if one.get("result") == "SKIPPED")
        lines += ["", f"test_gpu: {tests['tests']} tests, {tests['failures']} failed, {skipped} skipped"]
    lines += ["", "| measure | measured | must | aim | | |", "|---|---|---|---|---|---|"]
    for measure, value, unit, must, aim, note, less in measures(rows):
        at = "at most " if less else ""
        shown = "not measured" if value is None else f"{number(value)} {unit}"
        result = "" if value is None or tiny else verdict(value, must, aim, less)
        lines.append(f"| {measure} | {shown} | {at}{number(must)} | {at}{number(aim)} | {result} | {note} |")
    if rows.rows:
        lines += ["", "| what | engine | ms | spread | more |", "|---|---|---|---|---|"]
        for row in rows.rows:
            more = ", ".join(f"{key} {number(value)}" if isinstance(value, (int, float)) else f"{key} {value}" for key, value in row.items()
                             if key not in ("name", "engine", "milliseconds", "spread"))
            lines.append(f"| {row['name']} | {row['engine']} | {row['milliseconds']:.4f} | {100 * row['spread']:.1f} % | {more} |")
    missing = [f"{one['name']}: {one['reason']}" for document in [bench, *peers] for one in document.get("skipped", [])]
    if missing:
        lines += ["", "Left out:", *[f"- {one}" for one in missing]]
    with open(os.path.join(folder, "summary.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
