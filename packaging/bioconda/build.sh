#!/usr/bin/env bash
# What conda build runs in the folder of the sources: PREFIX, CMAKE_ARGS and CPU_COUNT are conda's.
set -euo pipefail

# CMAKE_ARGS holds several words, and may be missing.
# shellcheck disable=SC2086
cmake -S . -B build/conda -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" \
  -DBIGBIRD_UNITY=ON -DBIGBIRD_TESTS=OFF -DBIGBIRD_BENCH=OFF -DBIGBIRD_CUDA=OFF \
  -DBIGBIRD_ONEDNN=OFF -DBIGBIRD_MATIO=ON
cmake --build build/conda --parallel "${CPU_COUNT:-2}"
cmake --install build/conda
