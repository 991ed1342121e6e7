#!/usr/bin/env bash
# bench_gpu's step_profile on the emulated device, whose invented clock goes on with products alone: every operation is
# counted, every product has its time, and a graph of the step leaves nothing that is not accounted for.
#   bash tests/gpu/test_step_profile.sh BENCH_GPU_EMULATED
set -euo pipefail
command -v python3 >/dev/null || { echo "SKIPPED: no python3" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
BIGBIRD_EMULATION=fake_clock=1 "$1" --tiny --parts step_profile --json "$work/bench.json" >/dev/null
python3 - "$work/bench.json" <<'PYTHON'
import json, math, sys
rows = json.load(open(sys.argv[1], encoding="utf-8"))["measurements"]
rows = {row["name"].removeprefix("step_profile: "): row for row in rows if row["name"].startswith("step_profile: ")}
def near(name, value):
    assert math.isclose(rows[name]["milliseconds"], value, abs_tol=1e-3), (name, rows[name], value)
# Of the tiny model: two layers, an update of two sequences of 256 tokens. What a product takes by the invented clock:
# 100 microseconds for each number that is summed, and 2,000.
summed = {"linear_forward": 2, "linear_activation_forward": 2, "linear_backward_input": 1,
          "linear_backward_input_activation": 1, "linear_backward_weight": 0}
products = 0
for name, row in rows.items():
    operation, _, shape = name.partition(" ")
    if operation in summed:
        deep = int(shape.split(" x ")[summed[operation]])
        assert row["count"] == int(row["count"]) > 0, row
        near(name, row["count"] * (100 * deep + 2000) / 1000)
        products += row["milliseconds"]
for name, count in {"attention_forward": 2, "attention_backward": 2, "adamw": 1, "embedding_backward": 1, "sums_of_squares": 1,
                    "linear_forward 512 x 192 x 64": 2, "linear_backward_weight 512 x 192 x 64": 2}.items():
    assert rows[name]["count"] == count, (name, rows[name])
for name in ("attention_forward", "adamw", "cross_entropy", "upload", "between operations, without a graph"):
    near(name, 0)
near("all operations", products)
near("the step as a graph", products)
near("not accounted for", 0)
assert products > 0 and math.isclose(rows["all operations"]["fraction"], 1, abs_tol=1e-5)
assert rows["all operations"]["count"] == sum(row["count"] for name, row in rows.items() if "count" in row and name != "all operations")
print(f"{len(rows)} rows of a profile are right")
PYTHON
