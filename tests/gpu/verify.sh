#!/usr/bin/env bash
# Everything that only a device can show, in two calls of less than 590 seconds each, of which the second does not need the
# first, and in one of 400 (device_run.sh) what decides how attention multiplies. Leaves summary.md and the numbers in at
# most eight files a call.
#   bash tests/gpu/verify.sh first|second|attention|[PART]...
# first: environment programs conformance tests bench peers; second: environment programs resume sanitizer training;
# attention: environment programs conformance warps warpgroups soak turns checked profile flex.
# Every part has so many seconds that a call's fit (--caps prints them). Parts may be named one by one, resources too.
# Programs: those of the pack (pack.sh), else of BUILD. They are compiled there in no call, only when parts are named or none.
# Without a device every part that needs one is said to be skipped, and the exit code is 77. A part that fails does not
# stop the others: exit code 1. Clocks and settings of the card are read, never set.
# Environment: OUT (results; build/gpu-results-CALL), DEVICE (cuda; cpu rehearses the whole at tiny sizes), BUILD
# (build/gpu), PACK (gpu-pack/gpu-pack.tar.xz), UNPACKED (build/gpu-unpacked), PYTHON (python3: for the peers, which need
# torch, and transformers for one of them, and for the summary), TEST_FILTER, SANITIZER_FILTER (as --gtest_filter).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

declare -A cap=([environment]=15 [programs]=60 [conformance]=60 [tests]=120 [bench]=150 [peers]=165
  [resume]=90 [sanitizer]=190 [training]=210 [resources]=120
  [warps]=40 [warpgroups]=40 [soak]=25 [turns]=70 [checked]=45 [profile]=40 [flex]=35)
first=(environment programs conformance tests bench peers)
second=(environment programs resume sanitizer training)
attention=(environment programs conformance warps warpgroups soak turns checked profile flex)
declare -A short=([programs]=40 [conformance]=25) # in the call of 400 seconds
call='' whole=2300
case ${1:-} in
  -h | --help) sed -n '2,16s/^# \{0,1\}//p' "$0" && exit 0 ;;
  --caps) # CALL <tab> PART <tab> SECONDS
    for name in "${first[@]}"; do printf 'first\t%s\t%d\n' "$name" "${cap[$name]}"; done
    for name in "${second[@]}"; do printf 'second\t%s\t%d\n' "$name" "${cap[$name]}"; done
    for name in "${attention[@]}"; do printf 'attention\t%s\t%d\n' "$name" "${short[$name]:-${cap[$name]}}"; done
    exit 0 ;;
  attention) call=attention parts=("${attention[@]}") whole=400 cap[programs]=${short[programs]} cap[conformance]=${short[conformance]} ;;
  first) call=first parts=("${first[@]}") whole=585 ;;
  second) call=second parts=("${second[@]}") whole=585 ;;
  '') parts=("${first[@]}" "${second[@]:2}" resources) cap[programs]=900 ;; # there may be something to compile
  *)
    parts=("$@")
    for name in "${parts[@]}"; do
      [ -n "${cap[$name]:-}" ] || { echo "verify.sh: no part '$name'" >&2 && exit 2; }
      [ "$name" != programs ] || cap[programs]=900
    done ;;
esac
out=${OUT:-$root/build/gpu-results${call:+-$call}}
device=${DEVICE:-cuda}
python=${PYTHON:-python3}
deadline=$((SECONDS + whole - 10)) # ten seconds are for the summary
work=$(mktemp -d)
mkdir -p "$out"
rm -f "$out"/{summary.md,parts.tsv,environment.json,tests.json,bench.json,peers.json,clocks.tsv,resources.tsv,verify.log,study.tsv,study.md,metrics.tsv,attention.json}
export PYTHONUNBUFFERED=1

say() { printf '%s\n' "$*" | tee -a "$out/verify.log" >&2; }
skip() { say "SKIPPED: $*" && note=$* && return 77; }
wrong() { say "FAILED: $*" && note=$* && return 1; }

# within SECONDS COMMAND...: at most so long, and never past the part's time or the call's; 124 when it took longer.
within() {
  local most=$1 end=$part_end
  shift
  [ "$end" -le "$deadline" ] || end=$deadline
  [ $((SECONDS + most)) -le "$end" ] || most=$((end - SECONDS))
  if [ "$most" -lt 3 ]; then say "no time left for $1" && return 124; fi
  timeout --kill-after=5 "$most" "$@" >>"$out/verify.log" 2>&1
}

part() { # part NAME: runs part_NAME and notes how it ended and what it says of itself; the log says why
  local name=$1 begin=$SECONDS result=passed
  note='' part_end=$((SECONDS + cap[$name]))
  say "== $name"
  "part_$name"
  case $? in
    0) ;;
    77) result=skipped ;;
    124 | 137) result='out of time' ;;
    *) result=failed ;;
  esac
  printf '%s\t%s\t%d\t%s\n' "$name" "$result" $((SECONDS - begin)) "$note" | tee -a "$out/parts.tsv" >&2
}

finish() {
  if command -v "$python" >/dev/null; then
    "$python" "$here/read_results.py" "$out" >"$out/summary.md" 2>>"$out/verify.log"
    [ -s "$out/summary.md" ] || say "read_results.py failed; the files of $out hold the results"
    cat "$out/summary.md"
  else
    say "no python: the results are in the files of $out"
  fi
  rm -rf "$work"
}
trap finish EXIT

tiny=() peer_device=cuda training_seconds=$((cap[training] - 10))
if [ "$device" = cpu ]; then
  tiny=(--tiny) peer_device=cpu training_seconds=15
  # Where nothing is measured: one thread, one suite of kernels, and the tests of a device's size, small.
  export BIGBIRD_THREADS=1
  export BIGBIRD_DEVICE_SIZE_TESTS=${BIGBIRD_DEVICE_SIZE_TESTS-small}
  : "${TEST_FILTER:=Optimizer*:DeviceSize*}"
fi

have_device() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }
need_device() { have_device || [ "$device" = cpu ] || skip "no NVIDIA device or driver on this machine"; }
need_programs() { [ -n "${bigbird:-}" ] || skip "the programs are missing"; }

# with_clocks NAME COMMAND...: clocks, temperature and power every second beside it, read only.
with_clocks() {
  local name=$1 sampler='' status fields=timestamp,clocks.sm,clocks.mem,temperature.gpu,power.draw,utilization.gpu
  shift
  if command -v nvidia-smi >/dev/null; then
    if nvidia-smi --query-gpu=clocks_event_reasons.active --format=csv,noheader >/dev/null 2>&1; then
      fields+=,clocks_event_reasons.active
    fi
    nvidia-smi --query-gpu=$fields --format=csv,noheader,nounits --loop=1 >"$work/clocks" 2>/dev/null &
    sampler=$!
  fi
  "$@"
  status=$?
  [ -n "$sampler" ] || return $status
  { kill "$sampler" && wait "$sampler"; } 2>/dev/null
  [ -e "$out/clocks.tsv" ] || printf '#part\ttime\tsm_mhz\tmemory_mhz\tcelsius\twatts\tutilization\treasons\n' >"$out/clocks.tsv"
  awk -F', *' -v OFS='\t' -v name="$name" '{ print name, $1, $2, $3, $4, $5, $6, $7 }' "$work/clocks" >>"$out/clocks.tsv"
  # Of the seconds in which the device worked.
  note+=$(awk -F'\t' -v name="$name" '
    $1 != name || $7 < 10 { next }
    !count++ { low = high = $3; cold = hot = $5 }
    { if ($3 < low) low = $3; if ($3 > high) high = $3; if ($5 < cold) cold = $5; if ($5 > hot) hot = $5; if ($6 > watts) watts = $6 }
    END { if (count) printf "SM %d to %d MHz, %d to %d C, at most %d W in %d s of work", low, high, cold, hot, watts, count }' "$out/clocks.tsv")
  return $status
}

# What runs where: read only.
part_environment() {
  local query='' nvcc
  if have_device; then
    query=$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit --format=csv,noheader)
  fi
  nvcc=$("$(find_nvcc)" --version 2>/dev/null | sed -n 's/^Cuda compilation.*release //p')
  printf '{\n "date": "%s",\n "call": "%s",\n "tiny": %s,\n "device": "%s",\n "nvcc": "%s",\n "kernel": "%s",\n "processor": "%s",\n "cores": %d,\n "sources": "%s",\n "commit": "%s"\n}\n' \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$call" "$([ "$device" = cpu ] && echo true || echo false)" "$query" "$nvcc" "$(uname -r)" \
    "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(bash "$here/source_stamp.sh")" \
    "$(git -C "$root" rev-parse --short HEAD 2>/dev/null)" | tee "$out/environment.json" >>"$out/verify.log"
}

find_nvcc() { command -v nvcc || echo /usr/local/cuda/bin/nvcc; }

# from_pack: the programs of the archive, if it was made of these sources.
from_pack() {
  local archive=${PACK:-$root/gpu-pack/gpu-pack.tar.xz} place=${UNPACKED:-$root/build/gpu-unpacked}
  [ -e "$archive" ] || { say "no pack at $archive" && return 1; }
  rm -rf "$place" && mkdir -p "$place"
  if command -v xz >/dev/null; then
    within 60 tar -C "$place" -xJf "$archive" || return
  else
    within 60 "$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$archive" "$place" || return
  fi
  pack=$place/gpu-pack
  [ "$(cat "$pack/source-stamp")" = "$stamp" ] || { say "$archive was made of other sources: run tests/gpu/pack.sh again" && return 1; }
  test_gpu=$pack/bin/test_gpu bench_gpu=$pack/bin/bench_gpu bigbird=$pack/bin/bigbird
}

# from_build: those of this machine's own build, compiled now unless a call has no time for that.
from_build() {
  local build=${BUILD:-$root/build/gpu} log=$work/configure.log
  if [ "$(cat "$build/source-stamp" 2>/dev/null)" != "$stamp" ]; then
    [ -z "$call" ] || { say "nothing was built in $build of these sources" && return 1; }
    timeout 60 cmake -S "$root" -B "$build" --preset release -DBIGBIRD_TESTS=ON -DBIGBIRD_BENCH=ON -DBIGBIRD_CUDA=ON >"$log" 2>&1 ||
      { cat "$log" >>"$out/verify.log" && say "cannot build here: $(grep -m1 -A2 'CMake Error' "$log" | tr '\n' ' ')" && return 1; }
    within 840 cmake --build "$build" --parallel "$(nproc)" --target test_gpu bench_gpu bigbird || return
    echo "$stamp" >"$build/source-stamp"
  fi
  test_gpu=$build/tests/test_gpu bench_gpu=$build/tests/bench/bench_gpu bigbird=$build/bin/bigbird
}

part_programs() {
  local stamp
  stamp=$(bash "$here/source_stamp.sh")
  from_pack || from_build || wrong "no programs: run tests/gpu/pack.sh where it builds, or verify.sh programs here" || return
  # cuBLASLt may lie beside the compiler or in a Python package only.
  # Of the major version that the programs were built with: 12 is of no use to one that needs 13.
  local major
  major=$("$bigbird" devices 2>&1 | sed -n 's/.*runtime \([0-9]*\)\..*/\1/p' | head -n 1)
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
  note="$(dirname "$test_gpu")${pack:+, of commit $(cat "$pack/commit")}"
  if [ "$device" != cpu ] && have_device; then
    within 20 "$bigbird" devices || return
    "$bigbird" devices 2>/dev/null | grep -q '^cuda' || wrong "nvidia-smi lists a device, bigbird none: see verify.log"
  else
    within 20 "$bigbird" --version
  fi
}

# run_tests FILE FILTER: a run that has failed, that matched nothing, or that skipped most of what it matched is a failure (a
# few tests need no device, and run where all others are skipped for want of one).
run_tests() {
  local file=$1 status=0 completed skipped
  rm -f "$file"
  within 600 "$test_gpu" --gtest_output="json:$file" --gtest_brief=1 --gtest_filter="$2" || status=$?
  [ -e "$file" ] || return $((status ? status : 1)) # cut off, or it did not start
  completed=$(grep -c '"result": "COMPLETED"' "$file") skipped=$(grep -c '"result": "SKIPPED"' "$file")
  note="$completed run, $skipped skipped, $(sed -n 's/^  "failures": \([0-9]*\),/\1/p' "$file" | head -n 1) failed"
  [ $status -eq 0 ] || return $status
  [ $((completed + skipped)) -gt 0 ] || wrong "no test is named $2" || return
  [ "$completed" -gt "$skipped" ] || wrong "$skipped of $((completed + skipped)) tests were skipped"
}

part_conformance() {
  need_device && need_programs || return
  if [ "$device" = cpu ] && ! "$test_gpu" --gtest_list_tests --gtest_filter='Conformance*' 2>/dev/null | grep -q '^Conformance'; then
    skip "not in this build"
    return
  fi
  run_tests "$work/conformance.json" 'Conformance*'
}

part_tests() {
  need_device && need_programs || return
  run_tests "$out/tests.json" "${TEST_FILTER:--Conformance*}"
}

part_bench() {
  need_device && need_programs || return
  local status=0
  with_clocks bench within 600 "$bench_gpu" --device "$device" "${tiny[@]}" --json "$out/bench.json" || status=$?
  [ $status -ne 77 ] || wrong "bench_gpu finds no device" || return
  return $status
}

part_peers() {
  need_device || return
  "$python" -c 'import torch' 2>/dev/null || skip "$python has no torch: no other programs to compare with" || return
  local result=0 tokens plans=()
  if [ -n "${bigbird:-}" ]; then # the very lists of the first layer
    for tokens in 4096 16384 65536; do
      within 20 "$bigbird" attention --length $tokens --max-positions $tokens -o "$work/plan-$tokens.json" && plans+=(--plan "$tokens=$work/plan-$tokens.json")
    done
  fi
  within 45 "$python" "$here/peers/dense_attention.py" --device "$peer_device" "${tiny[@]}" --json "$work/dense.json" || result=$?
  within 55 "$python" "$here/peers/huggingface_step.py" --device "$peer_device" "${tiny[@]}" --json "$work/huggingface.json" || result=$?
  within 600 "$python" "$here/peers/flex_attention.py" --device "$peer_device" "${tiny[@]}" --tune "${plans[@]}" --json "$work/flex.json" || result=$?
  local files=()
  for tokens in dense huggingface flex; do [ ! -e "$work/$tokens.json" ] || files+=("$work/$tokens.json"); done
  [ ${#files[@]} = 0 ] || "$python" -c 'import json, sys; json.dump([json.load(open(f)) for f in sys.argv[2:]], open(sys.argv[1], "w"), indent=1)' \
    "$out/peers.json" "${files[@]}"
  return $result
}

part_resume() {
  need_device && need_programs || return
  if [ "$device" = cpu ]; then local -x STEPS=40 LENGTH=128; fi
  within 600 bash "$here/resume.sh" "$bigbird" "$device"
}

part_sanitizer() {
  need_device && need_programs || return
  local sanitizer result=0 tool tools=${1:-memcheck racecheck initcheck} seconds=${2:-63}
  [ "$device" != cpu ] && have_device || skip "no NVIDIA device for it" || return
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  [ -x "$sanitizer" ] || skip "compute-sanitizer was not found" || return
  for tool in $tools; do
    say "-- $tool"
    # Kernels of every family at tiny shapes; cuBLASLt's own kernels stay outside.
    within "$seconds" "$sanitizer" --tool "$tool" --error-exitcode 1 --print-limit 20 "$test_gpu" --gtest_brief=1 \
      --gtest_filter="${SANITIZER_FILTER:-Attention*SmallTiles*:Attention*Cut*:Elementwise*:ColumnSum*:LayerNorm*:Embedding*:*Loss*:Optimizer*:*BackendOperations.*bf16-*Linear*}" || result=$?
  done
  return $result
}

# Pretraining on human sequence for as long as the part has, and what the model then knows of the part held out.
part_training() {
  need_device && need_programs || return
  local data=() file status=0
  for file in "${pack:-}"/data/*.fa.gz; do [ ! -r "$file" ] || data+=(--data "$file"); done
  BIGBIRD=$bigbird DEVICE=$device with_clocks training within 600 bash "$root/pipelines/gpu_study.sh" --part training \
    --seconds $training_seconds -o "$work/study" "${tiny[@]}" "${data[@]}" || status=$?
  [ ! -e "$work/study/study.log" ] || tail -n 40 "$work/study/study.log" >>"$out/verify.log"
  for file in study.tsv study.md training/metrics.tsv; do
    [ ! -e "$work/study/$file" ] || cp "$work/study/$file" "$out/"
  done
  return $status
}

# Attention by mma.sync and by wgmma (BIGBIRD_ATTENTION), for read_results.py to decide by. What conformance refuted is not
# tried: its output says which descriptor would be right.
need_conformance() {
  if grep -q -P '^conformance\t(failed|out of time)\t' "$out/parts.tsv"; then skip "conformance did not hold"; fi
}
part_warps() {
  need_device && need_programs || return
  BIGBIRD_ATTENTION=mma run_tests "$out/tests.json" "${TEST_FILTER:-Attention*:DeviceSize*}"
}
part_warpgroups() {
  need_device && need_programs && need_conformance || return
  [ "$device" != cpu ] || local -x BIGBIRD_EMULATION=compute_capability=90
  BIGBIRD_ATTENTION=wgmma run_tests "$work/warpgroups.json" "${TEST_FILTER:-Attention*:DeviceSize*}"
}
part_soak() {
  need_device && need_programs && need_conformance || return
  local seconds=20
  [ "$device" != cpu ] || seconds=1
  BIGBIRD_SOAK_SECONDS=$seconds run_tests "$work/soak.json" 'AttentionSoak*'
}
# In turns, A B A B: a card that warms up is no advantage of the first.
part_turns() {
  need_device && need_programs && need_conformance || return
  local turn way files=() status=0
  for turn in 1 2; do
    for way in mma wgmma; do
      [ "$device" != cpu ] || [ $way = mma ] || continue
      BIGBIRD_ATTENTION=$way with_clocks turns within 30 "$bench_gpu" --device "$device" "${tiny[@]}" --parts attention \
        --json "$work/turn-$turn-$way.json" || status=$?
      [ ! -e "$work/turn-$turn-$way.json" ] || files+=("$way" "$work/turn-$turn-$way.json")
    done
  done
  [ ${#files[@]} = 0 ] || "$python" -c 'import json, sys; a = sys.argv[2:]; json.dump([{"way": w, **json.load(open(f))} for w, f in zip(a[::2], a[1::2])], open(sys.argv[1], "w"), indent=1)' \
    "$out/attention.json" "${files[@]}"
  return $status
}
part_checked() {
  SANITIZER_FILTER=${SANITIZER_FILTER:-ConformanceOfWarpgroups*:AttentionForwardTest.LargeTiles*:AttentionBackward*LargeTiles*} \
    BIGBIRD_ATTENTION=wgmma part_sanitizer "memcheck racecheck synccheck" 14
}
part_profile() {
  need_device && need_programs || return
  local status=0
  with_clocks profile within 600 "$bench_gpu" --device "$device" "${tiny[@]}" --parts step,step_profile,windows --json "$out/bench.json" || status=$?
  return $status
}
part_flex() {
  need_device || return
  "$python" -c 'import torch' 2>/dev/null || skip "$python has no torch: no FlexAttention to compare with" || return
  local plan=()
  if [ -n "${bigbird:-}" ]; then
    within 10 "$bigbird" attention --length 4096 -o "$work/plan.json" && plan=(--plan "4096=$work/plan.json")
  fi
  within 600 "$python" "$here/peers/flex_attention.py" --device "$peer_device" "${tiny[@]}" --tune "${plan[@]}" --json "$work/flex.json" || return
  "$python" -c 'import json, sys; json.dump([json.load(open(sys.argv[2]))], open(sys.argv[1], "w"), indent=1)' "$out/peers.json" "$work/flex.json"
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

for name in "${parts[@]}"; do part "$name"; done
if grep -q -P '\t(failed|out of time)\t' "$out/parts.tsv"; then exit 1; fi
if grep -q -P '\tskipped\t' "$out/parts.tsv"; then exit 77; fi
