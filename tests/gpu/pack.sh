#!/usr/bin/env bash
# One archive of what verify.sh needs on a machine that lacks this project's packages and cannot fetch them: test_gpu,
# bench_gpu and bigbird as built here, the shared libraries that a plain Linux does not have (not the C and C++ libraries,
# not cuBLASLt: the machine with the device has its own), and human sequence to train on where it is beside this checkout.
#   bash tests/gpu/pack.sh [--programs BUILD] [ARCHIVE]     ARCHIVE: gpu-pack/gpu-pack.tar.xz, which git ignores
# Needs nvcc, no device. With --programs nothing is compiled: the programs of that build without CUDA are taken, its tests on
# the emulated device as test_gpu, for a rehearsal. The other machine needs a C library as new as this one's.
# More than MIB mebibytes are refused with exit code 1: no more can travel beside a checkout.
# Environment: ARCHITECTURES (90-real: as CMAKE_CUDA_ARCHITECTURES; one keeps the pack small), BUILD (build/gpu-pack), DATA
# (../shared/data), LEVEL (6: of xz), MIB (50).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
programs_of='' archive=$root/gpu-pack/gpu-pack.tar.xz
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
    --programs) programs_of=$2 && shift 2 ;;
    -*) echo "pack.sh: unknown argument '$1'" >&2 && exit 2 ;;
    *) archive=$1 && shift ;;
  esac
done
build=${programs_of:-${BUILD:-$root/build/gpu-pack}} data=${DATA:-$root/../shared/data}

# What it is made of, so that verify.sh can say when the sources are others.
stamp=$(bash "$root/tests/gpu/source_stamp.sh")
if [ -z "$programs_of" ]; then
  options=(--preset release -DBIGBIRD_TESTS=ON -DBIGBIRD_BENCH=ON -DBIGBIRD_CUDA=ON -DBIGBIRD_ONEDNN=OFF "-DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURES:-90-real}")
  [ -f "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || options+=(-G Ninja)
  ! command -v ccache >/dev/null || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  # What another build of these sources has compiled is taken, as in pipelines/setup.sh.
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  cmake -S "$root" -B "$build" "${options[@]}" >&2
  cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target test_gpu bench_gpu bigbird_portable >&2
  tests=$build/tests/test_gpu
else
  [ ! -e "$build/CMakeCache.txt" ] || cmake --build "$build" --target bigbird_portable >&2
  tests=$build/tests/test_cuda
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/gpu-pack libraries=$work/gpu-pack/lib/bigbird
mkdir -p "$stage/bin" "$libraries" "$stage/data"
take() { # take NAME PROGRAM
  [ -x "$2" ] || { echo "pack.sh: $2 is not a program: build it first" >&2 && exit 1; }
  strip -o "$stage/bin/$1" "$2"
}
take test_gpu "$tests"
take bench_gpu "$build/tests/bench/bench_gpu"
take bigbird "$build/portable/bigbird"
# Libraries that every Linux with glibc and g++'s runtime has are left out.
of_the_system='^(ld-linux.*|lib(c|m|mvec|dl|rt|pthread|resolv|util|anl|stdc\+\+|gcc_s))\.so'
ldd "$tests" "$build/tests/bench/bench_gpu" "$build/portable/bigbird" |
  awk '$2 == "=>" && $3 ~ /^\// { print $1 "\t" $3 }' | LC_ALL=C sort -u | while IFS=$'\t' read -r name path; do
  [[ $name =~ $of_the_system ]] || strip --strip-unneeded -o "$libraries/$name" "$path"
done
# The programs look for their libraries in the pack, also for what these libraries need, and nothing comes from elsewhere.
for program in "$stage"/bin/*; do
  foreign=$(env -i LD_TRACE_LOADED_OBJECTS=1 "$program" | awk -v folder="$stage" '$2 == "=>" && index($0, folder) == 0 { print $1 }' |
    grep -vE "$of_the_system" || true)
  [ -z "$foreign" ] || { echo "pack.sh: ${program##*/} would take libraries from elsewhere: ${foreign//$'\n'/ }" >&2 && exit 1; }
done
for file in human-chm13-mhc/chm13_mhc.fa.gz human-grch37/grch37.pieces.fa.gz; do
  if [ -r "$data/$file" ]; then cp "$data/$file" "$stage/data/"; else echo "pack.sh: no $data/$file: nothing to train on" >&2; fi
done
echo "$stamp" >"$stage/source-stamp"
git -C "$root" rev-parse --short HEAD >"$stage/commit" 2>/dev/null || echo unknown >"$stage/commit"

mkdir -p "$(dirname "$archive")"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - gpu-pack | xz -"${LEVEL:-6}" --threads=0 >"$archive.part"
bytes=$(stat -c %s "$archive.part")
if [ "$bytes" -gt $((${MIB:-50} << 20)) ]; then
  rm "$archive.part"
  echo "pack.sh: the archive would have $((bytes >> 20)) MiB, more than ${MIB:-50}: fewer ARCHITECTURES, or a higher LEVEL" >&2
  exit 1
fi
mv "$archive.part" "$archive"
echo "$archive: $((bytes >> 20)) MiB, of sources $stamp" >&2
if checkout=$(git -C "$root" ls-files -z 2>/dev/null | (cd "$root" && xargs -0 du -cb 2>/dev/null) | tail -n 1 | cut -f 1) && [ -n "$checkout" ]; then
  echo "with the checkout's files: $(((bytes + checkout) >> 20)) MiB, of 64 that can travel" >&2
fi
