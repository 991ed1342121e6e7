#!/usr/bin/env bash
# Small defects put into the program one at a time, to see that a test fails for each.
#   bash tests/run.sh --mutations            every patch of tests/mutations
#   bash tests/run.sh --mutations NAME...    only these (NAME.patch)
# Works on a copy of the tree in build/mutations; not part of .ci/run. Status 1 when a patch survives or cannot be used.
#
# A patch is a plain `git diff` behind lines that say what it is:
#   # what: one line, what a reader of the diff should have noticed
#   # target: test_metrics test_cli   programs that are built and run
#   # filter: Metrics.*:Auroc.*       what they run; has to pass without the patch and to fail with it
#   # program: yes                    optional: bigbird is built too (test_cli and test_policy bring it anyway)
# A changed tree has to compile, with warnings as errors: what the compiler refuses needs no test.
set -euo pipefail
names=()
for argument in "$@"; do
  case $argument in
    --no-install) may_install=no ;;
    -h | --help) sed -n '2,13s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "tests/mutations/run.sh: unknown option '$argument' (--no-install)" >&2 && exit 2 ;;
    *) names+=("$(basename "$argument" .patch)") ;;
  esac
done
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../pipelines/setup.sh"
cd "$root"
patches=tests/mutations
work=$root/build/mutations
tree=$work/tree
logs=$work/logs
if [ ${#names[@]} -eq 0 ]; then
  for file in "$patches"/*.patch; do names+=("$(basename "$file" .patch)"); done
fi
for name in "${names[@]}"; do
  [ -f "$patches/$name.patch" ] || fail "there is no $patches/$name.patch" "without a name every patch is tried"
done
ensure_packages "${packages_base[@]}" "${packages_test[@]}" git

header() { # header NAME KEY: what stands behind "# KEY: ", or nothing
  sed -n "/^diff /q; s/^# $2: *//p" "$patches/$1.patch"
}

# The tree as it lies there, changed files included. What is equal keeps its time, so that nothing is built anew for it.
copy_tree() {
  mkdir -p "$tree" "$logs"
  local file
  git ls-files -z --cached --others --exclude-standard >"$work/files"
  while IFS= read -r -d '' file; do
    [ -f "$file" ] || continue
    cmp -s "$file" "$tree/$file" || { mkdir -p "$(dirname "$tree/$file")" && cp -p "$file" "$tree/$file" && touch "$tree/$file"; }
  done <"$work/files"
  (cd "$tree" && find . -path ./build -prune -o -type f -print | sed 's|^\./||') | LC_ALL=C sort >"$work/there"
  tr '\0' '\n' <"$work/files" | LC_ALL=C sort >"$work/wanted"
  LC_ALL=C comm -23 "$work/there" "$work/wanted" | while IFS= read -r file; do rm -f "$tree/$file"; done
}

# git would look for the paths of a patch in the repository around the copy.
apply() { GIT_CEILING_DIRECTORIES="$work" git -C "$tree" apply "$@"; }

build_copy() { # build_copy LOG TARGET...
  local log=$1
  shift
  cmake --build "$tree/build/dev" --parallel "$jobs" --target "$@" >"$log" 2>&1
}

# Runs the tests of a filter; status 0 green, 1 red, 2 nothing ran, 3 all skipped. Says in $killer what failed first.
run_filter() { # run_filter LOG FILTER TARGET...
  local log=$1 filter=$2 target status=0 passed=0 skipped=0
  shift 2
  : >"$log"
  killer=""
  for target in "$@"; do
    status=0
    # A defect may make a loop endless.
    timeout 300 "$tree/build/dev/tests/$target" --gtest_filter="$filter" >"$log.one" 2>&1 || status=$?
    cat "$log.one" >>"$log"
    if [ "$status" -ne 0 ]; then
      killer=$(sed -n 's/^\[  FAILED  \] \([^ ,]*\).*/\1/p' "$log.one" | head -n 1)
      if [ "$status" -ge 124 ]; then
        killer="$(sed -n 's/^\[ RUN      \] //p' "$log.one" | tail -n 1) (stopped with status $status)"
      fi
      [ -n "$killer" ] || killer="$target (status $status)"
      return 1
    fi
    passed=$((passed + $(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}\.$/\1/p' "$log.one" | tail -n 1)))
    skipped=$((skipped + $(grep -c '^\[  SKIPPED \] .*[^:]$' "$log.one" || true)))
  done
  if [ "$passed" -gt 0 ]; then return 0; fi
  if [ "$skipped" -gt 0 ]; then return 3; fi
  return 2
}

say "copying the tree to ${tree#"$root"/}"
copy_tree
if [ -z "${BIGBIRD_SHARED:-}" ] && [ -d "$root/../shared" ]; then export BIGBIRD_SHARED="$root/../shared"; fi
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$tree}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
say "configuring and building the copy"
options=(-DBIGBIRD_CUDA=OFF -DBIGBIRD_BENCH=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
  "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -D_GLIBCXX_ASSERTIONS")
if [ ! -f "$tree/build/dev/CMakeCache.txt" ] && command -v ninja >/dev/null; then options+=(-G Ninja); fi
if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
(cd "$tree" && cmake --preset dev "${options[@]}" >"$logs/configure.log" 2>&1) || fail "the copy cannot be configured" "see $logs/configure.log"

targets_of() { # targets_of NAME: on a line
  local list
  list=$(header "$1" target)
  if [ "$(header "$1" program)" = yes ]; then list+=" bigbird"; fi
  echo "$list"
}
all_targets=$(for name in "${names[@]}"; do targets_of "$name"; done | tr ' ' '\n' | LC_ALL=C sort -u | grep . || true)
[ -n "$all_targets" ] || fail "no patch names a target" "a patch opens with # what:, # target: and # filter:"
# shellcheck disable=SC2086
build_copy "$logs/build.log" $all_targets || fail "the copy does not build" "see $logs/build.log"

# First without any patch: what fails then is not killed by one.
say "the tests of ${#names[@]} patches on the tree as it is"
declare -A unpatched first_failure
for name in "${names[@]}"; do
  filter=$(header "$name" filter)
  read -ra tests <<<"$(header "$name" target)"
  key="${tests[*]} $filter"
  if [ -n "${unpatched[$key]:-}" ] || [ -z "$filter" ] || [ ${#tests[@]} -eq 0 ]; then continue; fi
  status=0
  run_filter "$logs/$name.green.log" "$filter" "${tests[@]}" || status=$?
  unpatched[$key]=$status
  first_failure[$key]=$killer
done

row() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$work/table.tsv"; }
: >"$work/table.tsv"
failed=0
for name in "${names[@]}"; do
  start=$SECONDS
  what=$(header "$name" what)
  filter=$(header "$name" filter)
  read -ra tests <<<"$(header "$name" target)"
  say "$name: $what"
  if [ -z "$what" ] || [ -z "$filter" ] || [ ${#tests[@]} -eq 0 ]; then
    row "$name" "$what" "UNUSABLE: the header lacks what, target or filter" "0" && failed=1 && continue
  fi
  key="${tests[*]} $filter"
  case ${unpatched[$key]} in
    0) ;;
    1) row "$name" "$what" "UNUSABLE: fails without the patch too: ${first_failure[$key]}" "$((SECONDS - start))" && failed=1 && continue ;;
    3) row "$name" "$what" "not tried: its tests were skipped" "$((SECONDS - start))" && continue ;;
    *) row "$name" "$what" "UNUSABLE: no test has this name" "$((SECONDS - start))" && failed=1 && continue ;;
  esac
  if ! apply --check "$root/$patches/$name.patch" 2>"$logs/$name.apply.log"; then
    row "$name" "$what" "UNUSABLE: does not apply" "0" && failed=1 && continue
  fi
  apply "$root/$patches/$name.patch"
  read -ra targets <<<"$(targets_of "$name")"
  if ! build_copy "$logs/$name.build.log" "${targets[@]}"; then
    row "$name" "$what" "UNUSABLE: does not compile (${logs#"$root"/}/$name.build.log)" "$((SECONDS - start))" && failed=1
  else
    status=0
    run_filter "$logs/$name.log" "$filter" "${tests[@]}" || status=$?
    if [ "$status" -eq 1 ]; then
      row "$name" "$what" "$killer" "$((SECONDS - start))"
    else
      row "$name" "$what" "SURVIVED" "$((SECONDS - start))" && failed=1
    fi
  fi
  apply -R "$root/$patches/$name.patch"
done

printf '\n'
awk -F'\t' 'BEGIN { OFS = "\t"; print "#patch", "what", "killed by", "seconds" } { print }' "$work/table.tsv"
survived=$(grep -c -e "$(printf '\t')SURVIVED$(printf '\t')" -e "$(printf '\t')UNUSABLE" "$work/table.tsv" || true)
say "${#names[@]} patches, $survived that no test noticed or that could not be used"
exit "$failed"
