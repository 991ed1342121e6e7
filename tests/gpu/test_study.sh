#!/usr/bin/env bash
# pipelines/gpu_study.sh --tiny on the CPU: every run gives its points, tokens seen agree, a second start trains nothing,
# and a run that was stopped goes on.  bash tests/gpu/test_study.sh PATH_OF_BIGBIRD
set -euo pipefail
export BIGBIRD=$1 DEVICE=cpu BIGBIRD_THREADS=1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed() {
  echo "FAILED: $*" >&2
  tail -n 20 "$work/study/study.log" >&2
  exit 1
}

bash "$root/pipelines/gpu_study.sh" --tiny -o "$work/study" >"$work/out" || failed "the study ended with an error"
[ "$(wc -l <"$work/study/study.tsv")" = 17 ] || failed "not two points of eight runs: $(cat "$work/study/study.tsv")"
awk -F'\t' '
  NR > 1 {
    if (NF != 10 || $6 <= 0 || $8 < 0 || $8 > 1 || $9 <= 0 || $10 <= 0 || $10 > 10) { print "row " NR ": " $0; bad = 1 }
    if ($5 == 40) { if (!most || $6 > most) most = $6; if (!least || $6 < least) least = $6 }
  }
  END { if (most > 1.15 * least) { print least " to " most " tokens seen"; bad = 1 } exit bad }' "$work/study/study.tsv" ||
  failed "numbers that cannot be"
grep -q 'window+random' "$work/study/study.md" || failed "no table of the patterns"

commands=$(grep -c '^\$' "$work/study/study.log")
bash "$root/pipelines/gpu_study.sh" --tiny -o "$work/study" >"$work/again" || failed "the second start ended with an error"
[ "$(grep -c '^\$' "$work/study/study.log")" = "$commands" ] || failed "the second start computed something"
cmp -s "$work/out" "$work/again" || failed "the second start printed other tables"

# As if it had been stopped behind the first checkpoint, and as if before it.
cp "$work/study/lengths-64/curve.tsv" "$work/curve.tsv"
rm -r "$work/study/lengths-64"
mkdir "$work/study/lengths-64"
bash "$root/pipelines/gpu_study.sh" --tiny -o "$work/study" --only 64 >"$work/again" || failed "an empty run folder stops it"
cut -f 1-6,8- "$work/curve.tsv" | cmp -s - <(cut -f 1-6,8- "$work/study/lengths-64/curve.tsv") || failed "the run came out otherwise"
echo "the tiny study is as it should be"
