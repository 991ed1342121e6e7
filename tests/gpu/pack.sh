#!/usr/bin/env bash
# Gathers what verify.sh needs on a machine that lacks this project's packages and cannot fetch them: test_gpu, bench_gpu
# and bigbird as built here, with the shared libraries that a plain Linux does not have (not the C and C++ libraries, not
# cuBLASLt: the machine with the device has its own).
#   bash tests/gpu/pack.sh [FOLDER]     FOLDER: gpu-pack in the repository, which git ignores
# Needs nvcc, no device. The other machine needs a C library as new as this one's. Environment: ARCHITECTURES (90-real: as
# CMAKE_CUDA_ARCHITECTURES; one keeps the pack small), BUILD (build/gpu-pack).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pack=${1:-$root/gpu-pack}
build=${BUILD:-$root/build/gpu-pack}

# The programs look for the libraries beside themselves, also for what these libraries need (an RPATH reaches that), so
# that nothing else there meets them.
# shellcheck disable=SC2016
options=(-DCMAKE_BUILD_TYPE=Release -DBIGBIRD_CUDA=ON -DBIGBIRD_ONEDNN=OFF
  '-DCMAKE_BUILD_RPATH=$ORIGIN/../lib' '-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags'
  "-DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURES:-90-real}")
[ -f "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || options+=(-G Ninja)
! command -v ccache >/dev/null || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
# What it is made of, so that verify.sh can say when the sources are others.
stamp=$(bash "$root/tests/gpu/source_stamp.sh")
cmake -S "$root" -B "$build" "${options[@]}" >&2
cmake --build "$build" --parallel "$(nproc)" --target test_gpu bench_gpu bigbird >&2

mkdir -p "$pack/bin" "$pack/lib"
programs=("$build/tests/test_gpu" "$build/tests/bench/bench_gpu" "$build/bin/bigbird")
for program in "${programs[@]}"; do
  strip -o "$pack/bin/$(basename "$program")" "$program"
done
# Libraries that every Linux with glibc and g++'s runtime has are left out.
ldd "${programs[@]}" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | LC_ALL=C sort -u |
  grep -v -E '/(libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so' |
  while read -r library; do cp -L "$library" "$pack/lib/"; done

echo "$stamp" >"$pack/source-stamp"
du -sh "$pack" >&2
