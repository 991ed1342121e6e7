#!/usr/bin/env bash
# The project's tests, from a fresh machine: installs what is missing, builds, runs everything.
#   bash tests/run.sh              build and the whole suite
#   bash tests/run.sh --program    after it: install into an empty folder, a small demonstration with what was installed, the examples of --help and the commands of pages;
#                                  the device's verification, rehearsed without one; weights through transformers and back;
#                                  a relocatable archive and a .deb of what was built; the kernels' PTX by CUDA 12's ptxas, where nvcc is
#   bash tests/run.sh --cluster    shards, and ranks, on a real Slurm of three nodes on this machine; shards by Snakemake, where it is installed
#   bash tests/run.sh --sanitize   the suite under ASan and UBSan (in CI without the emulated device and some of the command line);
#                                  the threaded rooms under TSan, built without the libraries that are optional; --asan and --tsan are its halves
#   bash tests/run.sh --lint       clang-format; clang-tidy, with clang's warnings as errors
#   bash tests/run.sh --mutations [NAME...]   that the suite notices defects: tests/mutations
#   ... --no-install               never install packages; print the line that would
# With CI=true in the environment the emulated device, packages, sanitizers, pages and clang-tidy take turns: a third of each, by the
# commit (BIGBIRD_TURN=0, 1 or 2 names another). g++'s warnings are errors then, and a test of real data must not skip where the data are.
# Each part's seconds, and those of its processes' CPU time, are appended to build/parts.tsv.
set -euo pipefail
mode="test"
names=()
for argument in "$@"; do
  case $argument in
    --program) mode=program ;;
    --cluster) mode=cluster ;;
    --test) mode=test ;;
    --sanitize | --asan | --tsan) mode=${argument#--} ;;
    --lint) mode=lint ;;
    --mutations) mode=mutations ;;
    --no-install) may_install=no ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "tests/run.sh: unknown option '$argument' (--test, --program, --cluster, --sanitize, --asan, --tsan, --lint, --mutations, --no-install)" >&2 && exit 2 ;;
    *) names+=("$argument") ;;
  esac
done
if [ ${#names[@]} -gt 0 ] && [ "$mode" != mutations ]; then
  echo "tests/run.sh: unexpected argument '${names[0]}'" >&2 && exit 2
fi
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../pipelines/setup.sh"
cd "$root"

werror=OFF
if [ "${CI:-}" = true ]; then werror=ON; fi

# Two tests run at once, each with as many threads as there are cores: threads that wait must not spin.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

part() { # part NAME COMMAND...: runs it, and notes how long it took and how long processors worked for it
  local name=$1 begin=$SECONDS
  shift
  mkdir -p build
  times >"build/times.$$.before" # of what this shell has waited for; a builtin, which knows nothing in a subshell
  "$@"
  times >"build/times.$$.after"
  # CPU time says how much there was to do, whatever else the machine did.
  awk -v name="$name" -v seconds=$((SECONDS - begin)) '
    FNR == 2 { for (i = 1; i <= 2; ++i) { split($i, time, /[ms]/); cpu[FILENAME] += 60 * time[1] + time[2] } }
    END { printf "%s\t%d\t%d\n", name, seconds, cpu[ARGV[2]] - cpu[ARGV[1]] }
  ' "build/times.$$.before" "build/times.$$.after" >>build/parts.tsv
  rm -f "build/times.$$.before" "build/times.$$.after"
}

# CI runs what takes long in turns: a third of it, which the commit names, so that a commit always has the same one.
# BIGBIRD_TURN=0, 1 or 2 names another. Without CI all of it runs.
turn=all
if [ "${CI:-}" = true ]; then
  commit=$(git rev-parse HEAD 2>/dev/null || echo 0)
  turn=${BIGBIRD_TURN:-$((16#${commit:0:6} % 3))}
  say "turn $turn of 0, 1 and 2 (BIGBIRD_TURN)"
fi
is_turn() { [ "$turn" = all ] || [ "$turn" = "$1" ]; }
third() { # third WORD... prints those whose turn it is: the first, fourth ..., the second, fifth ... or the others
  local i=0 word
  for word in "$@"; do
    if is_turn $((i++ % 3)); then printf '%s\n' "$word"; fi
  done
}

run_ctest() { # run_ctest PRESET CTEST_OPTION...
  local preset=$1 log=build/$1/suite.log status=0
  shift
  say "testing build/$preset"
  ctest --test-dir "build/$preset" --output-on-failure --parallel "$jobs" "$@" >"$log" 2>&1 || status=$?
  # Of a suite that passes, the end is enough.
  if [ $status -ne 0 ]; then cat "$log"; else grep -E '^[0-9]+% tests passed|^Total Test time' "$log"; fi
  bash tests/report_skips.sh "build/$preset/Testing/Temporary/LastTest.log" || status=1
  return $status
}

run_tests() {
  part packages ensure_packages "${packages_base[@]}" "${packages_test[@]}"
  # Nor is an MPI needed by anyone but who trains over ranks.
  (ensure_packages "${packages_mpi[@]}") || say "SKIPPED: tests/mpi: MPI cannot be installed here"
  # Whether the kernels compile, their PTX says, and ptxas12 what they spill; what is released is machine code for all architectures.
  local one=()
  if [ "${CI:-}" = true ]; then
    one=(-DCMAKE_CUDA_ARCHITECTURES=90-virtual)
    export BIGBIRD_KEEP_PTX=yes # for ptxas12
    # By make, as who types the build's lines without a generator: it links objects in another order than Ninja. The other builds are Ninja's.
    [ -f build/release/CMakeCache.txt ] || one+=(-G "Unix Makefiles")
  fi
  configure release -DBIGBIRD_TESTS=ON -DBIGBIRD_BENCH=ON "-DBIGBIRD_CUDA=${BIGBIRD_CUDA:-AUTO}" "-DBIGBIRD_WERROR=$werror" ${one[@]+"${one[@]}"}
  part build build release
  part suite whole_suite
}

# The emulated device, ranks as processes and what a GPU's scripts do are two thirds of the time.
whole_suite() {
  local long='^(cuda|emulated|gpu|mpi)$'
  if [ "$turn" = all ]; then
    run_ctest release
    return
  fi
  run_ctest release --label-exclude "$long"
  run_ctest release --label-regex "$long" --tests-information "$((turn + 1)),,3"
}

installed_demonstration() {
  local prefix=$root/build/prefix
  rm -rf "$prefix"
  cmake --install build/release --prefix "$prefix" >/dev/null
  "$prefix/bin/bigbird" demo -q -o build/demo --force
  BIN=$prefix/bin OUT=build/demonstration BP=3M STEPS=120 FINETUNE_STEPS=60 bash pipelines/demo.sh
}

may_skip() { # 77: what could not be done here was skipped, and said so
  local status=0
  "$@" || status=$?
  [ $status -eq 0 ] || [ $status -eq 77 ]
}


# A Python with torch and transformers, where there is one: PEER_PYTHON, else python3.
peers() {
  local python=${PEER_PYTHON:-python3}
  if "$python" -c 'import torch, transformers' 2>/dev/null; then
    "$python" tests/peers/round_trip.py --program build/release/bin/bigbird
    "$python" tests/peers/tokenizer_folders.py build/peer-tokenizers --program build/release/bin/bigbird --lines 500
    BIGBIRD_PEER_TOKENS=build/peer-tokenizers build/release/tests/test_tokenization --gtest_filter='*TextTokenizationPeers*' --gtest_brief=1
  else
    say "SKIPPED: tests/peers/round_trip.py, tokenizer_folders.py: no python with torch and transformers (PEER_PYTHON names one)"
  fi
}

# What the demonstration has left, as a page in a browser.
page_in_browser() {
  local made=build/demonstration
  may_skip bash tests/cli/browser.sh build/prefix/bin/bigbird $made/pretrain $made/finetune $made/predictions.tsv $made/promoter.json \
    $made/chromatin.json $made/profiles.tsv $made/scored.vcf.gz $made/scan.bw $made/calls.bed $made/curves.svg
}

# What of packaging/ takes seconds; bash packaging/check.sh is the rest. An archive that is thrown away is hardly compressed.
packaging() {
  export BUILD=$root/build/release OUT=$root/build/packaging
  rm -f "$OUT"/*.whl "$OUT"/*.tar.xz
  may_skip bash packaging/check_recipes.sh versions &&
    LEVEL=0 may_skip bash packaging/tarball.sh &&
    may_skip bash packaging/check_tarball.sh &&
    ARCHIVE=$(echo "$OUT"/bigbird-*-linux-"$(uname -m)".tar.xz) may_skip bash packaging/wheel.sh &&
    may_skip wheel_in_environment &&
    may_skip bash packaging/deb.sh
}

wheel_in_environment() {
  compgen -G "$OUT/bigbird_cli-*.whl" >/dev/null || return 77 # it could not be built, and that was said
  READERS=no bash packaging/check_wheel.sh # pandas and the others take a minute to install
}

# What --help shows, pasted after them.
examples() {
  bash tests/cli/examples.sh build/prefix/bin/bigbird build/examples build/demo build/demonstration
}
# What the pages show, likewise.
pages() {
  local of_turn
  mapfile -t of_turn < <(third docs/*.md)
  bash tests/cli/pages.sh build/prefix/bin/bigbird build/pages build/demo build/demonstration README.md "${of_turn[@]}"
}

run_program() {
  part demonstration installed_demonstration
  part examples examples
  part pages pages
  part page page_in_browser
  part peers peers
  if is_turn 1; then part packaging packaging; fi
  if is_turn 0; then
    part verification bash tests/gpu/rehearse.sh build/release
    # One architecture, as the build: both are two minutes of a processor more.
    part ptxas12 may_skip bash tests/gpu/ptxas12.sh --ptx build/release sm_90
  fi
}

clusters() {
  may_skip bash tests/cluster/run.sh --program build/release/bin/bigbird &&
    may_skip bash tests/cluster/ranks.sh --program build/release/bin/bigbird &&
    may_skip bash tests/cluster/snakemake.sh --program build/release/bin/bigbird
}

run_cluster() {
  # No package of Slurm is needed to build or to use bigbird: a machine that has none goes without these tests.
  (ensure_packages "${packages_cluster[@]}") || say "SKIPPED: tests/cluster: Slurm cannot be installed here"
  part cluster clusters
}

sanitizer_lines=()
if [ "${CI:-}" = true ]; then sanitizer_lines=(-DBIGBIRD_SANITIZE_LINES=-g0); fi

run_asan() {
  ensure_packages "${packages_base[@]}" "${packages_test[@]}" "${packages_lint[@]}"
  # What stray memory can hide in: all that reads files, moves buffers or runs kernels. Golden numbers, gradients and the
  # oracles compute the same values over again, policy reads text, and rooms that call others to do the work (metrics, parts,
  # inference, finetuning, calibration, report, bench) are run by the command line's tests.
  local thirds=("core io tokenization data genomes model model_folder quantization" "training genomics text kernels ranks" cli) watched=()
  for turn_of in 0 1 2; do
    # shellcheck disable=SC2206
    if is_turn $turn_of; then watched+=(${thirds[turn_of]}); fi
  done
  # Suites of the command line that run what others do once more, with other options or another attention, and compare weights; the
  # model that ships is scored with for seconds, and graphs are searched for minutes.
  local left=(EveryVerb/TrainingOptionsOf TrainingChoices AttentionSystems EtcPretrain ShippedModel TheoryGraphs)
  if [ "${CI:-}" = true ]; then
    # Further: those that start the program many times for few lines of text, shards, whose bytes other tests compare, what
    # runs a verb once more that the suite of its name runs, and verbs over attention systems, whose layers rooms below run.
    left+=(InfoFiles CommandLine OnePlace MissingModel AttentionVerb TextQaEtc TextQaFormats ClusterSbatch SbatchWords ClusterPlan NumberShards
      TextShards OldNames OutputsPage FetchHuman
      Stem LongformerVerbs LedVerbs HardNegativesCommand FreshNegativesCommand PromoterBaselineVerbs ChromatinBaselineCommand
      Formats/MergedShards Formats/ShardsOfPredictions Forms/MergedTexts TextGlue CompressiveRuns AdaptiveSpanRuns PerformerVerbs BptVerbs
      ReformerVerbs RoutingVerbs AttentionStudy
      VariantsBaseline VariantsTracks EvaluateOptions VariantsOptions VariantsWork GenomicsOptions TextPretrainData TextTables TextTraining)
  else
    # The emulated device is a third of the build. It finds accesses outside of allocations itself (kernels/cuda/emulation/global_watch.h),
    # which CI's other build sees; what is left to find here are its local arrays, and the code of the host around it.
    watched+=(cuda)
  fi
  # With clang, which takes half of g++'s time to build them.
  configure asan ${sanitizer_lines[@]+"${sanitizer_lines[@]}"}
  part asan-build build asan "${watched[@]/#/test_}"
  export LSAN_OPTIONS=suppressions=$root/tests/leaks.supp:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1
  part asan-suite run_ctest asan --label-regex "^($(IFS='|' && echo "${watched[*]}"))\$" \
    --exclude-regex "^cli/($(IFS='|' && echo "${left[*]}"))\$"
}

run_tsan() {
  ensure_packages "${packages_base[@]}" "${packages_test[@]}" "${packages_lint[@]}"
  # Where threads are started or shared; that the smallest set of libraries is enough for a program shows in them too.
  local thirds=("training data core" "genomes genomics parts inference" "kernels ranks metrics") threaded=()
  for turn_of in 0 1 2; do
    # shellcheck disable=SC2206
    if is_turn $turn_of; then threaded+=(${thirds[turn_of]}); fi
  done
  # Rooms whose threads are those of the rooms above, over other data.
  [ "${CI:-}" = true ] || threaded+=(finetuning calibration text quantization)
  configure tsan ${sanitizer_lines[@]+"${sanitizer_lines[@]}"}
  part tsan-build build tsan "${threaded[@]/#/test_}"
  # ThreadSanitizer cannot place its shadow memory under some kernels' address randomisation.
  if setarch -R true 2>/dev/null; then ctest() { setarch -R ctest "$@"; }; fi
  part tsan-suite run_ctest tsan --label-regex "^($(IFS='|' && echo "${threaded[*]}"))\$"
}

format() {
  say "clang-format on ${#sources[@]} files"
  clang-format --dry-run -Werror "${sources[@]}"
  # A defect that the suite notices is of no use when the code has moved away from under it.
  say "tests/mutations: every patch applies"
  local patch
  for patch in tests/mutations/*.patch; do
    git apply --check "$patch" || { echo "$patch does not apply: make it anew of the code as it is" >&2 && return 1; }
  done
}

tidy() {
  say "clang-tidy"
  # Kernels are read as the emulation compiles them. No part of this build: the fuzzers, and what needs CUDA or MPI itself.
  # Many files are read at a time (BIGBIRD_UNITY): the headers of the standard library take longer than ours.
  # The largest files first, so that no processor waits for the other at the end.
  local together
  mapfile -t together < <(sed -n "s|^ *\"file\": \"$root/\(.*/Unity/[^\"]*\)\".*|\1|p" build/lint/compile_commands.json)
  # In CI those of tests are left to the warnings of both compilers: they are half of all.
  local checked=("${sources[@]}")
  if [ "${CI:-}" = true ]; then
    mapfile -t together < <(printf '%s\n' "${together[@]}" | grep -v '^build/lint/tests/')
    mapfile -t checked < <(printf '%s\n' "${sources[@]}" | grep -v '^tests/')
  fi
  local units unit number=0 changed=build/lint/changed
  mapfile -t units < <(
    printf '%s\n' "${together[@]}"
    printf '%s\n' "${checked[@]}" | grep -E '\.(cpp|cu)$' | grep -v '^tests/fuzz/' |
      grep -vxE 'kernels/(cuda/(runtime\.cu|gemm_cublaslt\.cpp|built_architectures\.cpp)|ranks/mpi_plugin\.cpp)' |
      grep -vxFf <(sed -n "s|^#include \"$root/\(.*\)\"\$|\1|p" "${together[@]}") | xargs ls -S
  )
  # What the last commits changed is read whatever the turn is.
  git diff --name-only HEAD~40 HEAD -- '*.cpp' '*.cu' >$changed 2>/dev/null || : >$changed
  for unit in "${units[@]}"; do
    if is_turn $((number++ % 3)) ||
      { echo "$unit" && sed -n "s|^#include \"$root/\(.*\)\"\$|\1|p" "$unit"; } | grep -qxFf $changed; then
      echo "$unit"
    fi
  done >build/lint/units
  xargs -r -P "$jobs" -n 1 bash tests/tidy.sh build/lint <build/lint/units
  say "lint: $(wc -l <build/lint/units) of ${#units[@]} units are clean"
}

run_lint() {
  ensure_packages "${packages_base[@]}" "${packages_lint[@]}" git
  mapfile -t sources < <(find apps kernels lib reference tests -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' | LC_ALL=C sort)
  part format format
  configure lint -DBIGBIRD_CUDA=OFF
  part tidy tidy
}

case $mode in
  test) run_tests ;;
  program) run_program ;;
  cluster) run_cluster ;;
  sanitize) # not in one list: `set -e` counts in both
    run_asan
    run_tsan
    ;;
  asan) run_asan ;;
  tsan) run_tsan ;;
  lint) run_lint ;;
  mutations) bash tests/mutations/run.sh ${names[@]+"${names[@]}"} ;;
esac
