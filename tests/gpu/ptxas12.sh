#!/usr/bin/env bash
# What a machine with CUDA 12 makes of the kernels: nvcc of here writes their PTX, whose version line is lowered to CUDA
# 12.9's, and ptxas 12.9 (the wheel nvidia-cuda-nvcc-cu12, for this check alone) turns it into machine code. Fails where
# it cannot, on spills and local stacks as resources.sh does, and where it serialises wgmma.
#   bash tests/gpu/ptxas12.sh [-o TABLE.tsv] [--ptx BUILD] [ARCHITECTURE...]     sm_80 sm_90
# --ptx: PTX of one architecture that a build has kept (BIGBIRD_KEEP_PTX, kernels/cuda/keep_report.sh) is not made anew.
# Skips loudly (exit code 77) without nvcc, or where the wheel cannot be had. Environment: NVCC, PTXAS (of 12.9; empty:
# the wheel's, in build/ptxas12), SOURCES (patterns of files in kernels/cuda: all), JOBS.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
table='' kept='' architectures=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -o) table=$2 && shift 2 ;;
    --ptx) kept=$2/kernels/CMakeFiles && shift 2 ;;
    sm_*) architectures+=("$1") && shift ;;
    *) echo "ptxas12.sh: unknown argument '$1'" >&2 && exit 2 ;;
  esac
done
[ ${#architectures[@]} -gt 0 ] || architectures=(sm_80 sm_90)
skip() { echo "SKIPPED: $*" >&2 && exit 77; }

nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || skip "ptxas 12.9 over our PTX: nvcc was not found"
version=12.9.86 ptx_version=8.8
ptxas=${PTXAS:-}
if [ -z "$ptxas" ]; then
  place=$root/build/ptxas12
  ptxas=$(compgen -G "$place/lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas" | head -n 1 || true)
  if [ -z "$ptxas" ]; then
    if ! { python3 -m venv "$place" && "$place/bin/pip" install --quiet --disable-pip-version-check "nvidia-cuda-nvcc-cu12==$version"; } >"$root/build/ptxas12.log" 2>&1; then
      skip "ptxas 12.9 over our PTX: nvidia-cuda-nvcc-cu12 $version cannot be installed (build/ptxas12.log): no network?"
    fi
    ptxas=$(compgen -G "$place/lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas" | head -n 1)
  fi
fi
release=$("$ptxas" --version | sed -n 's/^Cuda compilation.*release \([0-9.]*\),.*/\1/p')
[ "$release" = 12.9 ] || { echo "ptxas12.sh: $ptxas is of CUDA $release, not 12.9" >&2 && exit 3; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
one() { # one SOURCE ARCHITECTURE: its report, in $work/reports/SOURCE.ARCHITECTURE
  local name=$1 architecture=$2 ptx made
  made=$kept/bigbird_cuda.dir/cuda/$name.o.ptx
  case $name in *_warpgroup.cu) made=$kept/bigbird_cuda_warpgroups.dir/cuda/$name.o.ptx ;; esac
  case $name:$architecture in *_warpgroup.cu:sm_90) architecture=sm_90a ;; esac # as the build has it
  ptx=$work/${name//\//-}.$architecture.ptx
  if [ -n "$kept" ] && grep -qx "\.target $architecture" "$made" 2>/dev/null; then
    cp "$made" "$ptx"
  elif ! "$nvcc" -std=c++20 -O3 -DNDEBUG -I"$root" -ptx -arch="compute_${architecture#sm_}" -o "$ptx" "$root/kernels/cuda/$name" >"$ptx.log" 2>&1; then
    echo "error: $name does not compile for $architecture" >&2 && cat "$ptx.log" >&2 && return 1
  fi
  sed -i "0,/^\.version /s/^\.version .*/.version $ptx_version/" "$ptx"
  if ! "$ptxas" -O3 -v -arch="$architecture" -o /dev/null "$ptx" >"$work/reports/$name.$architecture" 2>&1; then
    echo "error: ptxas $release does not take $name for $architecture" >&2 && cat "$work/reports/$name.$architecture" >&2 && return 1
  fi
  rm -f "$ptx" "$ptx.log"
}

mkdir -p "$work/reports/attention"
names=()
cd "$root/kernels/cuda"
# shellcheck disable=SC2206 # they are patterns
if [ -n "${SOURCES:-}" ]; then names=($SOURCES); else names=(*.cu */*.cu); fi
cd "$root"
running=0 failed=0 files=0
for name in "${names[@]}"; do
  [ "$name" != runtime.cu ] || continue # it has no kernels
  files=$((files + 1))
  for architecture in "${architectures[@]}"; do
    one "$name" "$architecture" &
    running=$((running + 1))
    if [ $running -ge "${JOBS:-$(nproc)}" ]; then
      wait -n || failed=1
      running=$((running - 1))
    fi
  done
done
while [ $running -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
[ $failed = 0 ] || exit 1

# As a build leaves them; what was left out has none of its own.
for source in "$root"/kernels/cuda/*.cu "$root"/kernels/cuda/*/*.cu; do
  name=${source#"$root/kernels/cuda/"}
  cat /dev/null "$work/reports/$name".sm_* >"$work/reports/$name.o.report" 2>/dev/null || true
done
if grep -rlE --include='*.sm_*' 'C75(08|10|12|14)' "$work/reports" >"$work/serialised"; then
  echo "error: ptxas $release serialises wgmma in $(sed "s|$work/reports/||" "$work/serialised" | tr '\n' ' ')" >&2 && exit 1
fi
bash "$here/resources.sh" --reports "$work/reports" -o "${table:-$work/table.tsv}"
echo "ptxas $release makes machine code of the PTX of $files files for ${architectures[*]}"
