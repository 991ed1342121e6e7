#!/usr/bin/env bash
# One number for all sources that the programs are built from: equal for equal sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
find CMakeLists.txt CMakePresets.json cmake apps kernels lib reference tests/CMakeLists.txt tests/bench tests/cuda tests/support \
  tests/unit/model/network -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \
  -o -name '*.cmake' -o -name '*.json' -o -name CMakeLists.txt \) |
  LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16
