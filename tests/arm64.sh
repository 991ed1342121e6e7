#!/usr/bin/env bash
# The CPU kernels on arm64 (Graviton, Grace): cross-built with Debian's aarch64 compiler, their tests run by qemu-user, once
# on a processor without bf16 instructions and once on one that has them. Of results, not of speed.
#   bash tests/arm64.sh [GTEST_FILTER]
# Needs Debian's g++-aarch64-linux-gnu, qemu-user-static and googletest, which it installs where it may (setup.sh). Exit
# status 77 where they cannot be had. Environment: BUILD (build/arm64).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../pipelines/setup.sh"
filter=${1:-*}
build=${BUILD:-$root/build/arm64}
(ensure_packages cmake g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static googletest) ||
  { echo "SKIPPED: no cross compiler and no qemu-user here" >&2 && exit 77; }

options=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
  -DCMAKE_BUILD_TYPE=Release -DBIGBIRD_WERROR=ON)
! command -v ccache >/dev/null || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S "$root/tests/arm64" -B "$build" "${options[@]}" >"$build.log" 2>&1 || { cat "$build.log" >&2 && exit 1; }
cmake --build "$build" --parallel "$jobs" --target test_kernels

# cortex-a72: Armv8.0, as Graviton 1; max: all that the emulator knows, bfdot among it.
for processor in cortex-a72 max; do
  say "test_kernels on $processor"
  [ "$processor" = cortex-a72 ] || export BIGBIRD_BF16=instructions # a probe would time the emulator
  qemu-aarch64-static -cpu "$processor" -L /usr/aarch64-linux-gnu "$build/test_kernels" --gtest_brief=1 \
    --gtest_filter="$filter"
done
