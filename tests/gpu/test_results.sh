#!/usr/bin/env bash
# read_results.py on made-up results of both calls: every bound held, one missed, one only just, files missing or cut off, a
# part that failed, tiny sizes; and benchmarks/gpu.md has its table.  bash tests/gpu/test_results.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v python3 >/dev/null || { echo "SKIPPED: no python3" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed() { echo "FAILED: $*" >&2 && exit 1; }

# make FOLDER [CHANGE]: results in FOLDER/first and FOLDER/second; CHANGE is Python that may alter them.
make() {
  mkdir -p "$1/first" "$1/second"
  CHANGE=${2:-} python3 - "$1" <<'PYTHON'
import json, os, sys
def attention(engine, tokens, forward, backward):
    rows = [("attention_forward", forward), ("attention_backward", backward)]
    return [{"name": name, "engine": engine, "milliseconds": ms, "spread": 0.01, "tokens": float(tokens), "sequences": 8.0,
             "kept_bytes_per_sequence": 25.4e6} for name, ms in rows if ms]
def step(engine, sequences, tokens_per_second, **facts):
    return {"name": "training_step", "engine": engine, "milliseconds": 1.0, "spread": 0.01, "sequences": sequences,
            "tokens_per_second": tokens_per_second, **facts}
ours = [*attention("bigbird", 4096, 1.0, 3.0), *attention("bigbird-fast", 4096, None, 2.5), *attention("bigbird", 16384, 1.0, 3.0),
        *attention("bigbird", 65536, 1.0, 3.0), step("bigbird", 8, 0.5e6, planned_bytes=100.0, used_bytes=97.0),
        step("bigbird", 32, 0.7e6, planned_bytes=100.0, used_bytes=103.0, bytes_per_sequence=1.0e9),
        {"name": "windows", "engine": "bigbird", "milliseconds": 1.0, "spread": 0.01, "sequences": 64.0, "tokens": 960.0, "pairs_per_second": 1500.0}]
theirs = [*attention("sdpa-flash", 4096, 6.0, 12.0), *attention("sdpa-cudnn", 4096, 5.0, 11.0), *attention("sdpa-flash", 16384, 16.0, 50.0),
          *attention("sdpa-flash", 65536, 70.0, 200.0), *attention("flex", 4096, 2.5, 5.0), *attention("flex-tuned", 4096, 2.1, 4.5)]
hf = [step("huggingface", 4, 0.1e6, bytes_per_sequence=5.0e9)]
study = [("base", 400, 1.92), ("base", 200, 2.05), ("probe", 12, 2.3)]
files = {"first/bench.json": {"tiny": False, "measurements": ours, "skipped": []},
         "first/peers.json": [{"torch": "2", "measurements": theirs, "skipped": []}, {"transformers": "5", "measurements": hf, "skipped": []}],
         "first/environment.json": {"call": "first", "device": "made up", "sources": "a"},
         "second/environment.json": {"call": "second", "device": "made up", "sources": "a"}}
texts = {"first/parts.tsv": "tests\tpassed\t9\t300 run, 1 skipped, 0 failed\n", "second/parts.tsv": "resume\tpassed\t9\t\n",
         "second/study.tsv": "part\trun\tlength\tattention\tstep\ttokens_seen\tseconds\tmlm_accuracy\tmlm_loss\tbits_per_base\n" +
         "".join(f"training\t{run}\t4096\tbigbird\t{at}\t{at * 1000}\t{at}\t0.1\t5\t{bits}\n" for run, at, bits in study)}
exec(os.environ["CHANGE"])
texts.update({name: json.dumps(value) for name, value in files.items()})
for name, text in texts.items():
    with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as file:
        file.write(text)
PYTHON
}
cases=0
expect() { # expect NAME STATUS TEXT [CHANGE]: the exit code, and a text that the page must have
  local status=0
  make "$work/$1" "${4:-}"
  python3 "$here/read_results.py" "$work/$1/first" "$work/$1/second" >"$work/$1/page" 2>"$work/$1/messages" || status=$?
  [ $status = "$2" ] || failed "$1: exit code $status, not $2: $(cat "$work/$1/page" "$work/$1/messages")"
  grep -qF -- "$3" "$work/$1/page" || failed "$1: '$3' is not in the page: $(cat "$work/$1/page" "$work/$1/messages")"
  cases=$((cases + 1))
}

expect all-held 0 '14 of 14 bounds held, 0 did not, 0 were not measured'
grep -qF 'against dense FlashAttention, same run | 4x | 5.6x | 3.7x to 4.3x | 5x (1.000 ms; sdpa-cudnn 5.000 ms) | yes |' "$work/all-held/page" || failed "the faster of the dense ones is not taken"
grep -qF 'fixed order, time over the faster one'"'"'s | at most 1.5x |  |  | 1.2x (3.000 ms; bigbird-fast 2.500 ms) | yes |' "$work/all-held/page" || failed "the fixed order's price is wrong"
grep -qF '0.7 M tokens/s (32 sequences) | yes |' "$work/all-held/page" || failed "not the fastest step"
grep -qF '| 1.92 (accuracy 0.1000 after 400,000 tokens in 400 s) | yes |' "$work/all-held/page" || failed "not the last point of the training run"
expect aim 0 '| 6x (1.000 ms; sdpa-flash 6.000 ms) | yes, and the aim |' 'theirs[2]["milliseconds"] = 8.0'
expect one-missed 1 '| 3.5x (1.000 ms; sdpa-cudnn 3.500 ms) | **no** |' 'theirs[2]["milliseconds"] = 3.5'
grep -qF '13 of 14 bounds held, 1 did not' "$work/one-missed/page" || failed "the count of a missed bound"
expect only-just 0 '| 4x (1.000 ms; sdpa-cudnn 4.000 ms) | yes |' 'theirs[2]["milliseconds"] = 4.0'
expect too-much-memory 1 '| 6 % | **no** |' 'ours[8]["used_bytes"] = 94.0'
expect no-peers 77 '6 of 14 bounds held, 0 did not, 8 were not measured' 'del files["first/peers.json"]'
expect no-study 77 '13 of 14 bounds held' 'del texts["second/study.tsv"]'
expect no-bench 77 '1 of 14 bounds held, 0 did not, 13 were not measured' 'del files["first/bench.json"]'
expect cut-off 77 '1 of 14 bounds held' 'del files["first/bench.json"]; texts["first/bench.json"] = "{\"measurements\": [{"'
grep -q 'bench.json' "$work/cut-off/messages" || failed "a file that was cut off is not named"
expect no-number 77 '12 of 14 bounds held, 0 did not, 2 were not measured' 'ours[0]["milliseconds"] = None'
expect failed-part 1 'failed: resume' 'texts["second/parts.tsv"] = "resume\tfailed\t9\t\n"'
expect late-part 1 'failed: bench' 'texts["first/parts.tsv"] = "bench\tout of time\t150\t\n"'
expect rehearsal 77 '0 of 14 bounds held, 0 did not, 14 were not measured' 'files["first/bench.json"]["tiny"] = True'
expect other-sources 0 'different sources' 'files["second/environment.json"]["sources"] = "b"'

# Which instructions attention takes, by turns of both.
turns() { # turns MMA_FORWARD MMA_BACKWARD WGMMA_FORWARD WGMMA_BACKWARD [MORE]
  printf '%s\n' "files['first/attention.json'] = [{'way': way, 'measurements': attention('bigbird', 4096, f + add, b + add)} for add in (0.0, 0.1) for way, f, b in (('mma', $1, $2), ('wgmma', $3, $4))]; texts['first/parts.tsv'] += ''.join(name + '\tpassed\t9\t\n' for name in ('conformance', 'warps', 'warpgroups', 'soak', 'checked')); ${5:-}"
}
expect wgmma-by-time 0 '**auto becomes wgmma** on compute capability 9.0.' "$(turns 0.266 0.7 0.21 0.65)"
grep -qF '| forward | 0.266 | 0.210 | 0.79 |' "$work/wgmma-by-time/page" || failed "not the least of the turns"
expect wgmma-by-ratio 0 '**auto becomes wgmma**' "$(turns 0.4 1.0 0.32 0.8)"
expect wgmma-too-slow 0 'auto stays mma: wgmma is not fast enough.' "$(turns 0.266 0.84 0.22 0.5)"
expect wgmma-other-card 0 'auto stays mma: wgmma is not fast enough.' "$(turns 0.25 0.7 0.21 0.65 "files['first/environment.json']['device'] = 'NVIDIA H100 80GB HBM3'")"
expect wgmma-unsound 0 'auto stays mma: soak skipped, checked not run.' "$(turns 0.4 1.0 0.2 0.5 "texts['first/parts.tsv'] = texts['first/parts.tsv'].replace('soak\tpassed', 'soak\tskipped').replace('checked\tpassed\t9\t\n', '')")"
expect wgmma-not-measured 0 '| forward | 0.266 | nan | nan |' "$(turns 0.266 0.84 None None "files['first/attention.json'] = [one for one in files['first/attention.json'] if one['way'] == 'mma']" | sed 's/None/0.0/g')"

# Each card has bounds of its own: by the name that the driver gives, the whole of it.
card() { echo "files['first/environment.json']['device'] = '$1, 580.65.06, 0 MiB'; ours[8]['tokens_per_second'] = $2; ours[7]['tokens_per_second'] = 0.1e6; hf[0]['tokens_per_second'] = $2 / 8"; }
expect h200-step 1 '| 0.66 M tokens/s | 0.8 M tokens/s | 0.70 to 0.73 M tokens/s | 0.63 M tokens/s (32 sequences) | **no** |' "$(card 'NVIDIA H200' 0.63e6)"
expect h100-step 0 '| 0.62 M tokens/s | 0.752 M tokens/s |  | 0.63 M tokens/s (32 sequences) | yes |' "$(card 'NVIDIA H100 80GB HBM3' 0.63e6)"
grep -qx 'Bounds of H100 SXM, by its data sheet' "$work/h100-step/page" || failed "the page does not say whose bounds it has"
grep -qF '| variants (REF + ALT, one strand, 8 kb) | 961/s | 1,923/s |' "$work/h100-step/page" || failed "not the card's variants"
expect a100-step 0 '| 0.25 M tokens/s (32 sequences) | yes |' "$(card 'NVIDIA A100-SXM4-80GB' 0.25e6)"
expect b200-step 1 '| 0.9 M tokens/s (32 sequences) | **no** |' "$(card 'NVIDIA B200' 0.9e6)"
for unknown in 'NVIDIA H200 MIG 1g.18gb' 'NVIDIA GeForce RTX 4090'; do
  expect "${unknown##* }" 1 'Bounds of an H200: this card is not in tests/gpu/cards.py' "$(card "$unknown" 0.63e6)"
done
# Rates that the program knows too are the same.
PYTHONPATH=$here python3 - "$here/../../lib/model/network/model_operations.cpp" <<'PYTHON' || failed "cards.py and model_operations.cpp have different rates"
import re, sys, cards
known = re.findall(r'\{"([^"]+)", ([0-9.]+)e12\}', open(sys.argv[1], encoding="utf-8").read())
same = [cards.find("NVIDIA " + name).bf16 == float(rate) for name, rate in known if cards.find("NVIDIA " + name)]
sys.exit(0 if len(same) >= 4 and all(same) else 1)
PYTHON

# A profile of a step is a table of its own.
expect profile 0 '| attention_backward | 12 | 10.080 | 20.4 |' 'ours += [{"name": "step_profile: " + name, "engine": "bigbird", "milliseconds": ms, "fraction": ms / 49.3, **more} for name, ms, more in (("attention_backward", 10.08, {"count": 12.0}), ("not accounted for", 2.9, {}))]'
grep -qF '| not accounted for |  | 2.900 | 5.9 |' "$work/profile/page" || failed "what is not accounted for is not in the profile"
if grep -q 'step_profile:' "$work/profile/page"; then failed "the profile's rows are listed twice"; fi

# A measured table may differ from the document's only in what was measured and held.
cut -d '|' -f 2-5 "$here/../../benchmarks/gpu.md" >"$work/document"
python3 "$here/read_results.py" --table | cut -d '|' -f 2-5 >"$work/table"
while IFS= read -r line; do
  grep -qxF -- "$line" "$work/document" || failed "benchmarks/gpu.md has no row '|$line|'"
done <"$work/table"
while IFS= read -r line; do
  grep -qxF -- "$line" "$here/../../benchmarks/gpu.md" || failed "benchmarks/gpu.md has no row '$line'"
done < <(python3 "$here/read_results.py" --cards)
echo "$cases made-up results are read as they should be"
