#!/usr/bin/env bash
# Training over ranks on CUDA devices, emulated ones: the same bytes on 1, 2, 4 and 8 ranks, by way of the program's memory and by
# a stand-in for NCCL; and what is refused.
#   bash tests/mpi/devices.sh PROBE NCCL PLUGINS     PROBE: tests/mpi/device_probe.cpp; NCCL: the stand-in; PLUGINS: their folder
# Status 77 when there is no MPI, or no plug-in for it.
set -euo pipefail
[ $# -eq 3 ] && [ -x "$1" ] || { echo "usage: bash tests/mpi/devices.sh PROBE NCCL PLUGINS" >&2 && exit 2; }
probe=$1
nccl=$2
launcher=
for family in open_mpi mpich; do
  name=mpirun.openmpi
  [ $family = open_mpi ] || name=mpirun.mpich
  [ -z "$launcher" ] && command -v $name >/dev/null && [ -e "$3/libbigbird_$family.so" ] || continue
  launcher=$name
  export BIGBIRD_MPI_PLUGIN=$3/libbigbird_$family.so
done
if [ -z "$launcher" ]; then
  echo "SKIPPED: tests/mpi: no mpirun.openmpi or mpirun.mpich with a plug-in (libopenmpi-dev openmpi-bin, or libmpich-dev mpich)"
  exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader \
  OMPI_MCA_hwloc_base_binding_policy=none OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed() { echo "tests/mpi/devices.sh: $*" >&2 && exit 1; }

alone=$(env -u BIGBIRD_MPI_PLUGIN "$probe" one auto 8 "$work" 2>"$work/log") || failed "one process: $(cat "$work/log")"
for ranks in 2 4 8; do
  for way in host nccl; do
    out=$(BIGBIRD_NCCL=$nccl "$launcher" -n $ranks "$probe" "$way-$ranks" $way 8 "$work" 2>"$work/log") ||
      failed "$ranks ranks, $way: $(cat "$work/log")"
    [ "$out" = "$alone" ] || failed "$ranks ranks, $way: $out, one process: $alone"
  done
  grep -q 'between the devices: NCCL 2.28.9' "$work/log" || failed "$(cat "$work/log")"
done
# NCCL that ranks start who have met in a folder, without an MPI.
for rank in 0 1; do
  RANK=$rank WORLD_SIZE=2 BIGBIRD_NCCL=$nccl "$probe" folder nccl 8 "$work" "folder:$work/meet" >"$work/out-$rank" 2>"$work/log-$rank" &
done
wait
[ "$(cat "$work/out-0")" = "$alone" ] || failed "2 ranks by a folder, nccl: $(cat "$work"/out-? "$work"/log-?)"
# Without NCCL: by way of the program's memory, said aloud; or refused.
out=$(BIGBIRD_NCCL=/nowhere/libnccl.so.2 "$launcher" -n 2 "$probe" without auto 8 "$work" 2>"$work/log")
[ "$out" = "$alone" ] && grep -q 'which is slow: NCCL cannot be opened' "$work/log" || failed "without NCCL: $(cat "$work/log")"
refused() {
  local text=$1
  shift
  if timeout 60 env "$@" >/dev/null 2>"$work/log"; then failed "not refused: $*"; fi
  [ "$(grep -c '^error: ' "$work/log")" -eq 1 ] && grep -q "^error: .*$text" "$work/log" && grep -q '^hint: ' "$work/log" ||
    failed "no '$text': $(cat "$work/log")"
}
refused 'NCCL cannot be opened' BIGBIRD_NCCL=/nowhere/libnccl.so.2 "$launcher" -n 2 "$probe" refused nccl 8 "$work"
refused 'is NCCL 3.1.2, and major version 2 is known' BIGBIRD_NCCL="$nccl" FAKE_NCCL_VERSION=30102 "$launcher" -n 2 "$probe" refused nccl 8 "$work"
refused 'ranks 0 and 1 compute on one device, GPU-0' BIGBIRD_NCCL="$nccl" BIGBIRD_EMULATION_DEVICE=GPU-0 "$launcher" -n 2 "$probe" refused nccl 8 "$work"
refused "rank 1 has 'NCCL 2.20.5' for NCCL, rank 0 has 'NCCL 2.28.9'" BIGBIRD_NCCL="$nccl" \
  "$launcher" -n 1 "$probe" refused nccl 8 "$work" : -n 1 env FAKE_NCCL_VERSION=22005 "$probe" refused nccl 8 "$work"
[ ! -e "$work/refused" ] || failed "a refused run left a folder"
echo "tests/mpi: $launcher: emulated devices of 1, 2, 4 and 8 ranks leave the same bytes, by NCCL's stand-in and by the host"
