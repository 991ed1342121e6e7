#!/usr/bin/env bash
# The verification on a device, rehearsed without one, as it will be run there: the programs of a build are packed, the
# checkout and the pack are copied into an empty folder, and the calls of verify.sh run in it, tiny, on the CPU, with
# nothing in the environment but PATH and HOME.
#   bash tests/gpu/rehearse.sh BUILD [FOLDER]     FOLDER: where the results stay (build/gpu-rehearsal)
# A stand-in for nvidia-smi says what clocks a device that is not there has, so that they are logged.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd) results=${2:-$root/build/gpu-rehearsal}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed() {
  echo "FAILED: $*" >&2
  for log in "$results"/*/verify.log; do [ ! -e "$log" ] || { echo "-- $log" && tail -n 25 "$log"; } >&2; done
  exit 1
}

# The limits of a call's parts fit into it, with ten seconds for the summary.
bash "$root/tests/gpu/verify.sh" --caps | awk '
  { sum[$1] += $3 }
  END { for (call in sum) if (sum[call] + 10 >= (call == "attention" ? 400 : 590)) { print call ": " sum[call] " seconds"; bad = 1 } exit bad }' ||
  failed "the parts of a call may take longer than the call"

# A pack that is larger than may travel is refused in one line, and none is left.
mkdir -p "$work/programs/tests/bench" "$work/programs/portable"
for program in tests/test_cuda tests/bench/bench_gpu portable/bigbird; do cp "$(command -v env)" "$work/programs/$program"; done
if MIB=0 bash "$root/tests/gpu/pack.sh" --programs "$work/programs" "$work/large.tar.xz" 2>"$work/refusal"; then
  failed "a pack of more than MIB was made"
fi
tail -n 1 "$work/refusal" | grep -q 'more than 0: ' || failed "the refusal says $(cat "$work/refusal")"
[ -z "$(find "$work" -name 'large*')" ] || failed "a pack that was refused is left"
# Hardly compressed here.
there="$work/an empty folder" # where it travels to
mkdir "$there" "$work/home" "$work/bin"
LEVEL=0 MIB=200 bash "$root/tests/gpu/pack.sh" --programs "$build" "$there/gpu-pack/gpu-pack.tar.xz"
# What git knows travels, and what it does not ignore.
(cd "$root" && if git rev-parse --git-dir >/dev/null 2>&1; then git ls-files -z -co --exclude-standard; else
  find . -type f -not -path './build*' -not -path './.git/*' -print0; fi | tar --null --files-from=- --ignore-failed-read -cf - 2>/dev/null) | tar -C "$there" -xf -

cat >"$work/bin/nvidia-smi" <<'STAND_IN'
#!/bin/sh
case "$*" in
  -L) echo "GPU 0: stand-in of a rehearsal" ;;
  *--loop=1*) while :; do echo "now, 1980, 3201, 41, 650.5, 99, 0x0000000000000000" && sleep 1; done ;;
  *query-gpu=name*) echo "stand-in of a rehearsal, 0, 0 MiB, 1980 MHz, 3201 MHz, 700 W" ;;
  *) echo 0 ;;
esac
STAND_IN
chmod +x "$work/bin/nvidia-smi"
rm -rf "$results"
mkdir -p "$results"
# verify NAME PARTS [NAME=VALUE]...: runs the parts, prints the exit code; the results are in FOLDER/NAME.
verify() {
  local name=$1 parts=$2 status=0
  shift 2
  # shellcheck disable=SC2086
  env -i PATH="$work/bin:$PATH" HOME="$work/home" DEVICE=cpu OUT="$results/$name" "$@" bash "$there/tests/gpu/verify.sh" $parts \
    >"$work/$name.out" 2>&1 || status=$?
  echo $status
}
result() { awk -F'\t' -v part="$2" '$1 == part { print $2 }' "$results/$1/parts.tsv"; }
must() { # must CALL PART RESULT...: one of these
  local call=$1 part=$2 got
  shift 2
  got=$(result "$call" "$part")
  case " $* " in *" $got "*) ;; *) failed "$call: $part is '$got', not $*" ;; esac
}

for call in first second attention; do
  status=$(verify $call $call)
  [ "$status" = 77 ] || failed "verify.sh $call ended with $status: $(tail -n 20 "$work/$call.out")"
  files=$(find "$results/$call" -type f | wc -l)
  [ "$files" -le 8 ] || failed "$call left $files files: $(ls "$results/$call")"
  must $call environment passed
  must $call programs passed
done
grep -q "$there/build/gpu-unpacked" "$results/first/parts.tsv" || failed "the programs are not those of the pack"
must first conformance passed skipped
must first tests passed
must first bench passed
for row in 'attention_backward' 'the step as a graph' 'not accounted for'; do
  grep -q "step_profile: $row" "$results/first/bench.json" || failed "bench.json has no profile of a step: $row"
done
! command -v python3 >/dev/null || grep -q '^## Where a training step goes' "$results/first/summary.md" || failed "the summary has no profile of a step"
must first peers passed skipped # with a Python that has torch
must attention warps passed
must attention warpgroups passed
must attention turns passed
must attention profile passed
must attention soak passed
must attention checked skipped
grep -q '"way": "mma"' "$results/attention/attention.json" || failed "no turn of attention"
must second resume passed
must second sanitizer skipped
must second training passed
grep -q $'^bench\t.*SM 1980 to 1980 MHz, 41 to 41 C, at most 650 W' "$results/first/parts.tsv" || failed "no clocks: $(cat "$results/first/parts.tsv")"
[ "$(awk -F'\t' '$2 == "base"' "$results/second/study.tsv" | wc -l)" -ge 1 ] || failed "the training run has no score"

# Where there is no xz Python unpacks.
if command -v python3 >/dev/null; then
  mkdir "$work/few"
  (IFS=: && for folder in $PATH; do ln -s "$folder"/* "$work/few/" 2>/dev/null || true; done)
  rm -f "$work/few/xz"
  status=$(verify without-xz programs PATH="$work/few")
  [ "$status" = 0 ] || failed "without xz: $status"
fi
# What must be seen as a failure: most tests skipped, few run; a device that is listed and that the programs do not find; a
# filter that matches no test; programs of other sources.
status=$(verify most-skipped "programs tests" BIGBIRD_DEVICE_SIZE_TESTS= TEST_FILTER='DeviceSize*:AttentionSchedule.ShapesThatTheDevice*')
[ "$status" = 1 ] || failed "tests of which most are skipped: exit code $status"
must most-skipped tests failed
status=$(verify no-device "programs bench tests" DEVICE=cuda TEST_FILTER='NoSuchTest*')
[ "$status" = 1 ] || failed "a device that the programs do not find: exit code $status"
must no-device programs failed
must no-device bench failed
must no-device tests failed
grep -q 'no test is named' "$results/no-device/parts.tsv" || failed "a filter that matches no test is not told"
echo '// other' >>"$there/kernels/types.h"
status=$(verify other-sources second)
[ "$status" = 1 ] || failed "programs of other sources: exit code $status"
must other-sources programs failed
must other-sources training skipped
printf 'the calls of the verification were rehearsed from a pack of %d MiB: %s\n' $(($(stat -c %s "$there/gpu-pack/gpu-pack.tar.xz") >> 20)) "$results"
