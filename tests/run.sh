#!/usr/bin/env bash
# The project's tests, from a fresh machine: installs what is missing, builds, runs everything.
#   bash tests/run.sh              build and the whole suite
#   bash tests/run.sh --sanitize   the suite under ASan and UBSan, the threaded parts under TSan
#   bash tests/run.sh --lint       clang-format; clang-tidy, with clang's warnings as errors
#   ... --no-install               never install packages; print the line that would
# With CI=true in the environment g++'s warnings are errors too.
set -euo pipefail
if [ "${1:-}" = --mutations ]; then exec bash "$(dirname "${BASH_SOURCE[0]}")/mutations/run.sh" "${@:2}"; fi
mode="test"
for argument in "$@"; do
  case $argument in
    --sanitize) mode=sanitize ;;
    --lint) mode=lint ;;
    --no-install) may_install=no ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "tests/run.sh: unknown option '$argument' (--sanitize, --lint, --no-install)" >&2 && exit 2 ;;
  esac
done
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../pipelines/setup.sh"
cd "$root"

werror=OFF
if [ "${CI:-}" = true ]; then werror=ON; fi

# Two tests run at once, each with as many threads as there are cores: threads that wait must not spin.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

run_ctest() { # run_ctest PRESET CTEST_OPTION...
  local preset=$1
  shift
  say "testing build/$preset"
  ctest --test-dir "build/$preset" --output-on-failure --parallel 2 "$@"
}

run_tests() {
  ensure_packages "${packages_base[@]}" "${packages_test[@]}"
  configure release "-DBIGBIRD_WERROR=$werror"
  build release
  run_ctest release
}

run_sanitizers() {
  ensure_packages "${packages_base[@]}" "${packages_test[@]}"
  configure asan
  build asan
  UBSAN_OPTIONS=print_stacktrace=1 run_ctest asan

  local threaded=(core tokenization data kernels model training)
  configure tsan
  build tsan "${threaded[@]/#/test_}"
  # ThreadSanitizer cannot place its shadow memory under some kernels' address randomisation.
  if setarch -R true 2>/dev/null; then ctest() { setarch -R ctest "$@"; }; fi
  run_ctest tsan --label-regex "^($(IFS='|' && echo "${threaded[*]}"))\$"
}

run_lint() {
  ensure_packages "${packages_base[@]}" "${packages_lint[@]}"
  local sources
  mapfile -t sources < <(find apps kernels lib reference tests -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' | LC_ALL=C sort)
  say "clang-format on ${#sources[@]} files"
  clang-format --dry-run -Werror "${sources[@]}"

  configure lint -DBIGBIRD_CUDA=OFF
  say "clang-tidy"
  # Kernels are read as the emulation compiles them. No part of this build: the fuzzers, and what needs CUDA itself.
  printf '%s\n' "${sources[@]}" | grep -E '\.(cpp|cu)$' | grep -v '^tests/fuzz/' |
    grep -vxE 'kernels/cuda/(runtime\.cu|gemm_cublaslt\.cpp)' | xargs -P "$jobs" -n 1 clang-tidy -p build/lint --quiet
  say "lint: ${#sources[@]} files are clean"
}

case $mode in
  test) run_tests ;;
  sanitize) run_sanitizers ;;
  lint) run_lint ;;
esac
