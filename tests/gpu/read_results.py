"""What verify.sh has left, as one page: how each part ended, and the table of benchmarks/gpu.md: each measure
next to what it must be, what is aimed at, what was predicted by counting, and whether it held.
  python3 tests/gpu/read_results.py FOLDER...     the folders of both calls, or of one (parts.tsv, *.json, study.tsv)
  python3 tests/gpu/read_results.py --table       the table of benchmarks/gpu.md, before anything is measured
  python3 tests/gpu/read_results.py --cards       what a step and windows must reach on each card (cards.py)
Bounds in seconds are those of an H200, scaled to the card by its data sheet; of a card that is not listed, an H200's.
Exit code: 0 when every bound held; 1 when one did not, or a part failed; 77 when some were not measured."""
import json
import math
import os
import sys
from collections import namedtuple

import cards

# limit: the value is at most, not at least, what it must be. predicted: by counting what the kernels do, no device.
profile_name = "step_profile: "
Bound = namedtuple("Bound", "measure unit must aim predicted limit value note")


class Rows:
    """The measurements of all programs."""

    def __init__(self, documents):
        # JSON has null for what is no number: that was not measured.
        self.rows = [{key: value for key, value in row.items() if value is not None}
                     for document in documents for row in document.get("measurements", [])]

    def find(self, name, engine, **facts):
        """Rows of an engine, or of all whose names begin with 'engine-' when it is 'engine*'."""
        of = (lambda e: e == engine[:-1] or e.startswith(engine[:-1] + "-")) if engine.endswith("*") else (lambda e: e == engine)
        return [row for row in self.rows if row["name"] == name and of(row["engine"])
                and all(row.get(key) == value for key, value in facts.items())]

    def best(self, name, field, engine, largest=False, **facts):
        """The row with the least (or largest) of a field, or None."""
        found = [row for row in self.find(name, engine, **facts) if row.get(field)]
        return (max if largest else min)(found, key=lambda row: row[field]) if found else None

    def ratio(self, name, ours, theirs, **facts):
        """How many times as long the best of theirs takes; with both times."""
        a, b = (self.best(name, "milliseconds", engine, **facts) for engine in (ours, theirs))
        if not a or not b:
            return None, ""
        return b["milliseconds"] / a["milliseconds"], f"{a['milliseconds']:.3f} ms; {b['engine']} {b['milliseconds']:.3f} ms"


def bounds(rows, study, card=cards.h200):
    """Every bound with its value, or None where it was not measured."""
    table = []
    step_scale, window_scale = (cards.time_over_h200(parts, card) for parts in (cards.step, cards.windows))

    def add(measure, unit, must, aim, predicted, value, note="", limit=False):
        table.append(Bound(measure, unit, must, aim, predicted, limit, value, note))

    step = rows.best("training_step", "tokens_per_second", "bigbird", True)
    add("training step, bf16, masked head", " M tokens/s", 0.66 / step_scale, 0.80 / step_scale,
        "0.70 to 0.73 M tokens/s" if card == cards.h200 else "",
        step and step["tokens_per_second"] / 1e6, f"{step['sequences']:.0f} sequences" if step else "")
    at = {"tokens": 4096}
    add("attention forward against dense FlashAttention, same run", "x", 4, 5.6, "3.7x to 4.3x",
        *rows.ratio("attention_forward", "bigbird", "sdpa*", **at))
    add("attention backward likewise", "x", 3.6, 5.2, "3.8x to 4.1x", *rows.ratio("attention_backward", "bigbird", "sdpa*", **at))
    slower, note = rows.ratio("attention_backward", "bigbird", "bigbird-fast", **at)
    add("attention backward in fixed order, time over the faster one's", "x", 1.5, None, "", slower and 1 / slower, note, True)
    for way in ("forward", "backward"):
        add(f"attention {way} against FlexAttention with the same mask", "x", 1.3, 2, "",
            *rows.ratio(f"attention_{way}", "bigbird", "flex*", **at))
    theirs = rows.best("training_step", "tokens_per_second", "huggingface", True)
    add("training step against Hugging Face BigBird, same device", "x", 4, 8, "",
        step["tokens_per_second"] / theirs["tokens_per_second"] if step and theirs else None,
        f"theirs {theirs['tokens_per_second'] / 1e6:.4f} M tokens/s" if theirs else "")
    mine, other = (rows.best("training_step", "bytes_per_sequence", engine) for engine in ("bigbird", "huggingface"))
    add("memory of one more sequence over Hugging Face's", "x", 0.25, None, "",
        mine["bytes_per_sequence"] / other["bytes_per_sequence"] if mine and other else None,
        f"{mine['bytes_per_sequence'] / 2**20:.0f} MiB; {other['bytes_per_sequence'] / 2**20:.0f} MiB" if mine and other else "", True)
    # Dense grows with the square of the length, the lists with the length: 3.9 and 15.6 times the ratio at 4,096.
    for tokens, must, aim, predicted in ((16384, 15, 23, "14.5x to 17x"), (65536, 60, 90, "58x to 67x")):
        add(f"attention forward against dense at {tokens:,} tokens", "x", must, aim, predicted,
            *rows.ratio("attention_forward", "bigbird", "sdpa*", tokens=tokens))
    pairs = rows.best("windows", "pairs_per_second", "bigbird", True)
    add("variants (REF + ALT, one strand, 8 kb)", "/s", 1000 / window_scale, 2000 / window_scale, "", pairs and pairs["pairs_per_second"],
        f"{pairs['sequences']:.0f} windows of {pairs['tokens']:.0f} tokens at a time" if pairs else "")
    planned = [abs(row["used_bytes"] / row["planned_bytes"] - 1) * 100 for row in rows.find("training_step", "bigbird")
               if row.get("planned_bytes") and row.get("used_bytes")]
    add("memory used against planned, the worst", " %", 5, None, "", max(planned, default=None), "", True)
    kept = rows.best("attention_forward", "kept_bytes_per_sequence", "bigbird", **at)
    add("the gather path's 477 MB over what attention keeps for backward", "x", 15, None, "18.8x",
        kept and 477e6 / kept["kept_bytes_per_sequence"],
        f"{kept['kept_bytes_per_sequence'] / 1e6:.1f} MB a layer and sequence" if kept else "")
    # By count every letter costs two bits to one who knows nothing of a genome.
    last = max((row for row in study if row["run"] == "base" and row["bits_per_base"]), key=lambda row: int(row["step"]), default=None)
    add("training run on human sequence: bits per base, held out", "", 2, None, "", last and float(last["bits_per_base"]),
        f"accuracy {float(last['mlm_accuracy']):.4f} after {int(last['tokens_seen']):,} tokens in {float(last['seconds']):.0f} s"
        if last else "", True)
    return table


def number(value):
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def holds(bound, goal):
    return bound.value <= goal if bound.limit else bound.value >= goal


def table_of(table, tiny=False, unmeasured="not measured"):
    lines = ["| measure | must | aim | predicted | measured | held? |", "|---|---|---|---|---|---|"]
    for bound in table:
        shown = [("at most " if bound.limit else "") + number(goal) + bound.unit if goal is not None else "" for goal in (bound.must, bound.aim)]
        measured, held = unmeasured, ""
        if bound.value is not None:
            measured = number(bound.value) + bound.unit + (f" ({bound.note})" if bound.note else "")
            if not tiny:
                held = "**no**" if not holds(bound, bound.must) else "yes, and the aim" if bound.aim and holds(bound, bound.aim) else "yes"
        lines.append(f"| {bound.measure} | {shown[0]} | {shown[1]} | {bound.predicted} | {measured} | {held} |")
    return lines


def card_table():
    lines = ["| card | step must | aim | variants must | aim |", "|---|---|---|---|---|"]
    for card in cards.cards:
        table = {bound.measure: bound for bound in bounds(Rows([]), [], card)}
        step, variants = (next(bound for measure, bound in table.items() if measure.startswith(begin)) for begin in ("training step, bf16", "variants"))
        lines.append(f"| {card.name} | " + " | ".join(number(goal) + bound.unit for bound in (step, variants) for goal in (bound.must, bound.aim)) + " |")
    return lines


def profile_of(rows):
    """Where a training step goes: operations by what they take; what is no operation below them."""
    named = [(row["name"].removeprefix(profile_name), row) for row in rows.rows if row["name"].startswith(profile_name)]
    if not named:
        return []
    lines = ["", "## Where a training step goes", "", "Between two marks on the device, without a graph; the step as a graph is 100 %.",
             "", "| operation | count | ms | % |", "|---|---|---|---|"]
    for name, row in named:
        count = f"{row['count']:.0f}" if "count" in row else ""
        lines.append(f"| {name} | {count} | {row.get('milliseconds', math.nan):.3f} | {100 * row.get('fraction', math.nan):.1f} |")
    return lines


def attention_choice(turns, parts, h200):
    """Whether wgmma takes mma.sync's place, by the rule of device_run.sh: lines of the page; none without turns."""
    if not turns:
        return []
    best = {}  # (way, direction): milliseconds
    for turn in turns:
        for row in turn.get("measurements", []):
            if row["name"] in ("attention_forward", "attention_backward") and row["engine"] == "bigbird" and row.get("tokens") == 4096:
                key = turn["way"], row["name"].removeprefix("attention_")
                if row.get("milliseconds"):
                    best[key] = min(best.get(key, math.inf), row["milliseconds"])
    lines = ["", "## Attention by mma.sync and by wgmma", "", "8 sequences of 4,096 tokens, the least of the turns.", "",
             "| | mma.sync, ms | wgmma, ms | ratio |", "|---|---|---|---|"]
    ratios, fast = [], []
    for way, most in (("forward", 0.21), ("backward", 0.65)):
        mma, wgmma = (best.get((name, way)) for name in ("mma", "wgmma"))
        ratio = wgmma / mma if mma and wgmma else None
        ratios.append(ratio)
        fast.append(wgmma is not None and wgmma <= most)
        lines.append(f"| {way} | {mma or math.nan:.3f} | {wgmma or math.nan:.3f} | {ratio if ratio is not None else math.nan:.2f} |")
    results = {line[0]: line[1] for line in parts}
    missing = [name for name in ("conformance", "warps", "warpgroups", "soak", "checked") if results.get(name) != "passed"]
    quick = (h200 and all(fast)) or all(ratio is not None and ratio <= 0.8 for ratio in ratios)
    if missing:
        verdict = "auto stays mma: " + ", ".join(f"{name} {results.get(name, 'not run')}" for name in missing)
    elif quick:
        verdict = "**auto becomes wgmma** on compute capability 9.0"
    else:
        verdict = "auto stays mma: wgmma is not fast enough"
    return [*lines, "", verdict + "."]


def load(folders, name):
    """The JSON of this name from every folder that has it; a file that was cut off is named and left out."""
    found = []
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            try:
                with open(path, encoding="utf-8") as file:
                    found.append(json.load(file))
            except ValueError as error:
                print(f"{path}: {error}", file=sys.stderr)
    return found


def load_table(folders, name):
    """Lines of a table from every folder that has it, each a list."""
    lines = []
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines += [line.rstrip("\n").split("\t") for line in file]
    return lines


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    if sys.argv[1] == "--table":
        print("\n".join(table_of(bounds(Rows([]), []), unmeasured="not measured: no device")))
        return 0
    if sys.argv[1] == "--cards":
        print("\n".join(card_table()))
        return 0
    folders = sys.argv[1:]
    for folder in folders:
        if not os.path.isdir(folder):
            print(f"read_results.py: {folder} is not a folder", file=sys.stderr)
            return 2
    environment, bench = load(folders, "environment.json"), load(folders, "bench.json")
    peers = [one for document in load(folders, "peers.json") for one in document]
    parts = load_table(folders, "parts.tsv")
    study = load_table(folders, "study.tsv")
    study = [dict(zip(study[0], line)) for line in study[1:] if line != study[0]] if study else []
    rows = Rows(bench + peers)
    tiny = any(one.get("tiny") for one in bench + peers + environment)

    lines = ["# Results of tests/gpu/verify.sh", ""]
    for one in environment:
        lines.append(f"{one.get('call') or 'Parts by name'}: {one.get('date', 'no date')}, device: {one.get('device') or 'none'}, sources "
                     f"{one.get('sources', '?')} (commit {one.get('commit') or 'unknown'}), nvcc {one.get('nvcc') or 'none'}")
    if len({one.get("sources") for one in environment}) > 1:
        lines.append("\n**The calls were of different sources.**")
    versions = [f"{name} {one[name]}" for one in peers for name in ("torch", "transformers") if name in one]
    if versions:
        lines.append("Peers: " + ", ".join(dict.fromkeys(versions)))
    if tiny:
        lines.append("\n**Tiny sizes: these numbers mean nothing.**")
    lines += ["", "| part | result | seconds | |", "|---|---|---|---|"]
    lines += ["| " + " | ".join((line + [""])[:4]) + " |" for line in parts]
    card = next((found for found in map(cards.find, (one.get("device") or "" for one in environment)) if found), None)
    table = bounds(rows, study, card or cards.h200)
    if not tiny:
        lines.append(f"\nBounds of {'an H200: this card is not in tests/gpu/cards.py' if card is None else card.name}"
                     + (", by its data sheet" if card not in (None, cards.h200) else ""))
    lines += ["", *table_of(table, tiny)]

    measured = [bound for bound in table if bound.value is not None]
    missed = [] if tiny else [bound for bound in measured if not holds(bound, bound.must)]
    failed = [line[0] for line in parts if line[1] in ("failed", "out of time")]
    lines += ["", f"{0 if tiny else len(measured) - len(missed)} of {len(table)} bounds held, {len(missed)} did not, "
              f"{len(table) if tiny else len(table) - len(measured)} were not measured"
              + (f"; failed: {', '.join(failed)}" if failed else "")]
    turns = [one for document in load(folders, "attention.json") for one in document]
    lines += attention_choice([] if tiny else turns, parts, card in (None, cards.h200))
    lines += profile_of(rows)
    if rows.rows:
        lines += ["", "| what | engine | ms | spread | more |", "|---|---|---|---|---|"]
        for row in rows.rows:
            if row["name"].startswith(profile_name):
                continue
            more = ", ".join(f"{key} {number(value)}" if isinstance(value, (int, float)) else f"{key} {value}" for key, value in row.items()
                             if key not in ("name", "engine", "milliseconds", "spread"))
            lines.append(f"| {row['name']} | {row['engine']} | {row.get('milliseconds', math.nan):.4f} | {100 * row.get('spread', math.nan):.1f} % | {more} |")
    missing = [f"{one['name']}: {one['reason']}" for document in bench + peers for one in document.get("skipped", [])]
    if missing:
        lines += ["", "Left out:", *[f"- {one}" for one in missing]]
    print("\n".join(lines))
    if missed or failed:
        return 1
    return 77 if tiny or len(measured) < len(table) else 0


if __name__ == "__main__":
    sys.exit(main())
