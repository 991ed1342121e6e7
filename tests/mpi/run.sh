#!/usr/bin/env bash
# Ranks under every MPI that is here: sums have the same bytes on 1, 2, 4 and 8 ranks, a rank that dies ends the others, and
# a launcher of another MPI is refused. An MPICH that does not end is ended with the status of the program.
#   bash tests/mpi/run.sh PROBE STUCK   PROBE: the program of tests/mpi/probe.cpp, with the plug-ins in ../lib/bigbird beside
#                                       its folder; STUCK: the library of tests/mpi/stuck_finalize.cpp
# Status 77 when there is no MPI, or no plug-in for it.
set -euo pipefail
[ $# -eq 2 ] && [ -x "$1" ] && [ -e "$2" ] || { echo "usage: bash tests/mpi/run.sh PROBE STUCK" >&2 && exit 2; }
probe=$1 stuck=$2
plugins=$(cd "$(dirname "$probe")/.." && pwd)/lib/bigbird
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader \
  OMPI_MCA_hwloc_base_binding_policy=none OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed() { echo "tests/mpi/run.sh: $*" >&2 && exit 1; }

# The processes of "probe texts" that wait for their alarm (bit 14 of the signals that are caught): bound_finalize() of the
# plug-in has begun in them.
in_finalize() {
  local pid caught
  for pid in $(pgrep -f -- "^$probe texts"); do
    caught=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$pid/status" 2>/dev/null) && [ -n "$caught" ] || continue
    [ $((0x${caught: -8} & 0x2000)) -eq 0 ] || echo "$pid"
  done
}
# The bound is half a minute; a signal takes its place here.
never_ends() { # never_ends EXPECTED_STATUS LAUNCHER_WORD...: three ranks
  local expected=$1 status=0 launched
  shift
  timeout 60 "$@" -n 3 -genv LD_PRELOAD "$stuck" "$probe" texts >"$work/never" 2>&1 &
  launched=$!
  for _ in {1..200}; do
    [ "$(in_finalize | wc -l)" -lt 3 ] || break
    sleep 0.1
  done
  [ "$(in_finalize | wc -l)" -eq 3 ] || failed "an MPICH that never ends: no rank has a bound: $(cat "$work/never")"
  # shellcheck disable=SC2046
  kill -ALRM $(in_finalize)
  wait $launched || status=$?
  [ $status -eq "$expected" ] || failed "an MPICH that never ends: status $status: $(cat "$work/never")"
  [ "$(grep -c '^rank' "$work/never")" -eq 3 ] || failed "an MPICH that never ends took the output with it: $(cat "$work/never")"
}

alone=$("$probe" digest 16 4096 100)
[ "$alone" = "$("$probe" digest 16 4096 4096)" ] || failed "the bucket changes the sum of one process"
tried=0
for family in open_mpi mpich; do
  launcher=mpirun.openmpi
  [ $family = open_mpi ] || launcher=mpirun.mpich
  command -v "$launcher" >/dev/null && [ -e "$plugins/libbigbird_$family.so" ] || continue
  tried=$((tried + 1))
  for ranks in 1 2 4 8; do
    for bucket in 100 4096; do
      sum=$("$launcher" -n $ranks "$probe" digest 16 4096 $bucket)
      [ "$sum" = "$alone" ] || failed "$launcher -n $ranks, bucket $bucket: $sum, one process: $alone"
    done
  done
  said=$("$launcher" -n 3 "$probe" texts)
  [ "$said" = $'rank 0 of 3\nrank 1 of 3\nrank 2 of 3\nbroadcast 42' ] || failed "$launcher -n 3 texts: $said"
  # Three ranks do not make a tree.
  if "$launcher" -n 3 "$probe" digest 15 3000 100 >/dev/null 2>"$work/three"; then failed "three ranks summed"; fi
  grep -q "3 ranks: their number is not a power of two" "$work/three" || failed "three ranks: $(cat "$work/three")"
  for dead in 0 1 3; do
    begin=$SECONDS
    if timeout 30 "$launcher" -n 4 "$probe" die $dead >/dev/null 2>&1; then failed "$launcher: rank $dead died unnoticed"; fi
    [ $((SECONDS - begin)) -le 10 ] || failed "$launcher: the others outlived rank $dead by $((SECONDS - begin)) s"
  done
  # The library of the other MPI: every process would be rank 0 of 1.
  other=mpich
  [ $family = open_mpi ] || other=open_mpi
  if [ -e "$plugins/libbigbird_$other.so" ]; then
    if BIGBIRD_MPI_PLUGIN=$plugins/libbigbird_$other.so timeout 30 "$launcher" -n 2 "$probe" texts >/dev/null 2>"$work/other"; then
      failed "$launcher took the plug-in for $other"
    fi
    grep -qE "started 2 processes, but this one is rank 0 of 1|MPI does not start" "$work/other" ||
      failed "$launcher with the plug-in for $other: $(cat "$work/other")"
  fi
  [ $family = open_mpi ] || never_ends 0 "$launcher"
  echo "tests/mpi: $launcher: 1, 2, 4 and 8 ranks have the bytes of one process; a dead rank ends the others"
done
if [ $tried -eq 0 ]; then
  echo "SKIPPED: tests/mpi: no mpirun.openmpi or mpirun.mpich with a plug-in (libopenmpi-dev openmpi-bin, or libmpich-dev mpich)"
  exit 77
fi
