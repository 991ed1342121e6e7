#!/usr/bin/env bash
# One number for all sources that the programs are built from: equal for equal sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
find CMakeLists.txt cmake apps kernels lib reference tests/bench tests/cuda tests/support -type f \
  \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cmake' -o -name CMakeLists.txt \) |
  LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16
