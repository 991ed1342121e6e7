#!/usr/bin/env bash
# Everything that only a device can show, in one run of at most ten minutes: tests of kernels, gradients and models,
# benchmarks, other programs beside them, a resume test, compute-sanitizer. Leaves summary.md and the numbers as JSON.
#   bash tests/gpu/verify.sh [PART]...
# Parts, in this order: environment programs tests bench peers resume sanitizer resources. Default: all.
# Without a device every part that needs one is said to be skipped, and the exit code is 77. A part that fails does not
# stop the others: exit code 1. Clocks and settings of the card are left alone.
# Environment: OUT (results; build/gpu-results), SECONDS_IN_ALL (590), DEVICE (cuda; cpu rehearses the benchmarks at tiny
# sizes), BUILD (build/gpu), PACK (gpu-pack: see pack.sh), PYTHON (python3: for the peers; needs torch, and transformers
# for one of them).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
case ${1:-} in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
out=${OUT:-$root/build/gpu-results}
pack=${PACK:-$root/gpu-pack}
device=${DEVICE:-cuda}
python=${PYTHON:-python3}
deadline=$((SECONDS + ${SECONDS_IN_ALL:-590}))
work=$(mktemp -d)
mkdir -p "$out"
rm -f "$out"/{summary.md,parts.tsv,environment.json,tests.json,bench.json,peers.json,resources.tsv,verify.log}
export PYTHONUNBUFFERED=1

say() { printf '%s\n' "$*" | tee -a "$out/verify.log" >&2; }
skip() { say "SKIPPED: $*" && return 77; }
left() { echo $((deadline - SECONDS - 10)); } # ten seconds are for the summary

# within SECONDS COMMAND...: at most so long, and never past the end of the run; 124 when it took longer.
within() {
  local most=$1
  shift
  if [ "$(left)" -lt "$most" ]; then most=$(left); fi
  if [ "$most" -lt 5 ]; then skip "no time left for $1" || return 77; fi
  timeout --kill-after=5 "$most" "$@" >>"$out/verify.log" 2>&1
}

part() { # part NAME: runs part_NAME and notes how it ended; the log says why
  local name=$1 begin=$SECONDS result=passed
  say "== $name"
  "part_$name"
  case $? in
    0) ;;
    77) result=skipped ;;
    124 | 137) result='out of time' ;;
    *) result=failed ;;
  esac
  printf '%s\t%s\t%d\n' "$name" "$result" $((SECONDS - begin)) | tee -a "$out/parts.tsv" >&2
}

finish() {
  if command -v "$python" >/dev/null; then
    "$python" "$here/summarize.py" "$out" >>"$out/verify.log" 2>&1 || say "summarize.py failed; the JSON files hold the results"
    [ ! -e "$out/summary.md" ] || cat "$out/summary.md"
  else
    say "no python: the results are in the JSON files of $out"
  fi
  rm -rf "$work"
}
trap finish EXIT

tiny=() peer_device=cuda
if [ "$device" = cpu ]; then tiny=(--tiny) peer_device=cpu; fi

have_device() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }
need_device() { have_device || [ "$device" = cpu ] || skip "no NVIDIA device or driver on this machine"; }

# What runs where: read only.
part_environment() {
  local query='' nvcc
  if have_device; then
    query=$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit --format=csv,noheader)
  fi
  nvcc=$("$(find_nvcc)" --version 2>/dev/null | sed -n 's/^Cuda compilation.*release //p')
  printf '{\n "date": "%s",\n "device": "%s",\n "nvcc": "%s",\n "kernel": "%s",\n "processor": "%s",\n "cores": %d,\n "sources": "%s",\n "commit": "%s"\n}\n' \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$query" "$nvcc" "$(uname -r)" \
    "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(bash "$here/source_stamp.sh")" \
    "$(git -C "$root" rev-parse --short HEAD 2>/dev/null)" | tee "$out/environment.json" >>"$out/verify.log"
}

find_nvcc() { command -v nvcc || echo /usr/local/cuda/bin/nvcc; }

# Programs of this machine's own build, or those of the pack when the packages to build with are missing.
part_programs() {
  local build=${BUILD:-$root/build/gpu} log=$work/configure.log
  if timeout 60 cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBIGBIRD_CUDA=ON >"$log" 2>&1; then
    within 300 cmake --build "$build" --parallel "$(nproc)" --target test_gpu bench_gpu bigbird || return
    test_gpu=$build/tests/test_gpu bench_gpu=$build/tests/bench/bench_gpu bigbird=$build/bin/bigbird
  else
    cat "$log" >>"$out/verify.log"
    [ -x "$pack/bin/test_gpu" ] || { say "cannot build here: $(grep -m1 -A2 'CMake Error' "$log" | tr '\n' ' '); and no pack: run tests/gpu/pack.sh where it builds" && return 1; }
    [ "$(cat "$pack/source-stamp")" = "$(bash "$here/source_stamp.sh")" ] || { say "the pack in $pack was made of other sources: run tests/gpu/pack.sh again" && return 1; }
    say "not built here (packages are missing): the programs of $pack"
    test_gpu=$pack/bin/test_gpu bench_gpu=$pack/bin/bench_gpu bigbird=$pack/bin/bigbird
  fi
  # cuBLASLt may lie beside the compiler or in a Python package only.
  # Of the major version that the programs were built with: 12 is of no use to one that needs 13.
  local major
  major=$("$bigbird" devices 2>/dev/null | sed -n 's/.*runtime \([0-9]*\)\..*/\1/p' | head -n 1)
  if ! ldconfig -p 2>/dev/null | grep -q "libcublasLt\.so\.${major:-1[23]}"; then
    local folder
    for folder in "$(dirname "$(find_nvcc)")/../lib64" \
      "$("$python" -c 'import os, nvidia; print(os.path.join(list(nvidia.__path__)[0], "cu13", "lib"))' 2>/dev/null)"; do
      if compgen -G "$folder/libcublasLt.so.${major:-*}" >/dev/null; then
        export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
        break
      fi
    done
  fi
  within 20 "$bigbird" devices
}

need_programs() { [ -n "${bigbird:-}" ] || skip "the programs are missing"; }

part_tests() {
  need_device && need_programs || return
  within 120 "$test_gpu" --gtest_output="json:$out/tests.json" --gtest_brief=1
}

part_bench() {
  need_device && need_programs || return
  within 160 "$bench_gpu" --device "$device" "${tiny[@]}" --json "$out/bench.json"
}

part_peers() {
  need_device || return
  "$python" -c 'import torch' 2>/dev/null || skip "$python has no torch: no other programs to compare with" || return
  local result=0 tokens plans=()
  if [ -n "${bigbird:-}" ]; then # the very lists of the first layer
    for tokens in 4096 16384 65536; do
      within 20 "$bigbird" attention --length $tokens --max-positions $tokens --json "$work/plan-$tokens.json" && plans+=(--plan "$tokens=$work/plan-$tokens.json")
    done
  fi
  within 60 "$python" "$here/peers/dense_attention.py" --device "$peer_device" "${tiny[@]}" --json "$work/dense.json" || result=$?
  within 90 "$python" "$here/peers/huggingface_step.py" --device "$peer_device" "${tiny[@]}" --json "$work/huggingface.json" || result=$?
  within 120 "$python" "$here/peers/flex_attention.py" --device "$peer_device" "${tiny[@]}" --tune "${plans[@]}" --json "$work/flex.json" || result=$?
  local files=()
  for tokens in dense huggingface flex; do [ ! -e "$work/$tokens.json" ] || files+=("$work/$tokens.json"); done
  [ ${#files[@]} = 0 ] || "$python" -c 'import json, sys; json.dump([json.load(open(f)) for f in sys.argv[2:]], open(sys.argv[1], "w"), indent=1)' \
    "$out/peers.json" "${files[@]}"
  return $result
}

part_resume() {
  need_device && need_programs || return
  if [ "$device" = cpu ]; then local -x STEPS=40 LENGTH=128 BIGBIRD_THREADS=1; fi
  within 90 bash "$here/resume.sh" "$bigbird" "$device"
}

part_sanitizer() {
  need_device && need_programs || return
  local sanitizer result=0 tool
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  [ -x "$sanitizer" ] || skip "compute-sanitizer was not found" || return
  have_device || skip "no NVIDIA device for it" || return
  for tool in memcheck racecheck initcheck; do
    say "-- $tool"
    # Kernels of every family at tiny shapes; cuBLASLt's own kernels stay outside.
    within 70 "$sanitizer" --tool "$tool" --error-exitcode 1 --print-limit 20 "$test_gpu" --gtest_brief=1 \
      --gtest_filter="${SANITIZER_FILTER:-Attention*SmallTiles*:Attention*Cut*:Elementwise*:ColumnSum*:LayerNorm*:Embedding*:*Loss*:Optimizer*:*BackendOperations.*bf16-*Linear*}" || result=$?
  done
  return $result
}

part_resources() {
  local reports=${BUILD:-$root/build/gpu}/kernels/CMakeFiles/bigbird_cuda.dir/cuda
  if [ -d "$reports" ]; then # the build has kept what the compiler said
    within 60 bash "$here/resources.sh" -o "$out/resources.tsv" --reports "$reports"
    return
  fi
  [ -x "$(find_nvcc)" ] || skip "nvcc was not found" || return
  within 120 bash "$here/resources.sh" -o "$out/resources.tsv" --cache "$root/build/gpu-resources" sm_90
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(environment programs tests bench peers resume sanitizer resources)
for name in "${parts[@]}"; do
  declare -F "part_$name" >/dev/null || { echo "verify.sh: no part '$name'" >&2 && exit 2; }
done
for name in "${parts[@]}"; do part "$name"; done
if grep -q -P '\t(failed|out of time)\t' "$out/parts.tsv"; then exit 1; fi
if grep -q -P '\tskipped\t' "$out/parts.tsv"; then exit 77; fi
