#!/usr/bin/env bash
# Which tests were skipped and why, from ctest's log of a whole run.
#   bash tests/report_skips.sh build/release/Testing/Temporary/LastTest.log
# Status 1 when a test had to run and did not: one of real data although ../shared (or $BIGBIRD_SHARED) is beside the project,
# and with CI=true one that wants a program which tests/run.sh installs.
set -euo pipefail
if [ $# -ne 1 ] || [ ! -f "$1" ]; then
  echo "usage: bash tests/report_skips.sh LASTTEST.log (ctest writes it to Testing/Temporary of the build folder)" >&2
  exit 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
shared=${BIGBIRD_SHARED:-$root/../shared}
has_shared=no
if [ -d "$shared" ]; then has_shared=yes; fi

# One test of ctest is a suite, whose tests are named as they begin, or a test of its own.
# A test says why on the line behind "FILE:LINE: Skipped" (GoogleTest), or on one that begins with SKIPPED: (a script).
awk -v has_shared="$has_shared" -v ci="${CI:-}" '
  function note(why) {
    if (seen[test]++) return
    sub(/^SKIPPED: */, "", why)
    if (why == "") why = "no reason given"
    if (!(why in count)) order[++reasons] = why
    ++count[why]
    ++skipped
    if (count[why] <= 3) names[why] = names[why] (names[why] == "" ? "" : ", ") test
    if (has_shared == "yes" && why ~ /shared/) must[why] = "../shared is there"
    if (ci == "true" && why ~ /is not installed/) must[why] = "tests/run.sh installs it"
  }
  /^[0-9]+\/[0-9]+ Test(ing)?: / {
    if ($0 ~ /Testing: /) { test = $0; sub(/^.*Testing: /, "", test); room = test; sub(/\/.*/, "", room); ++tests; whole = 1 }
    pending = 0
    next
  }
  /^\[ RUN      \] / { if (!whole) ++tests; whole = 0; test = room "/" substr($0, 14); pending = 0; next }
  /: Skipped$/ { pending = 1; next }
  /^SKIPPED: / { note($0); pending = 0; next }
  pending { note($0); pending = 0 }
  END {
    printf "%d tests, %d skipped\n", tests, skipped
    for (i = 1; i <= reasons; ++i) {
      why = order[i]
      printf "  %4d  %s (%s%s)\n", count[why], why, names[why], (count[why] > 3 ? ", ..." : "")
      if (why in must) {
        printf "error: skipped, though %s: %s\n", must[why], why | "cat >&2"
        bad = 1
      }
    }
    exit bad
  }' "$1"
