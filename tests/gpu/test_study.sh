#!/usr/bin/env bash
# pipelines/gpu_study.sh --tiny on the CPU: every run gives its points, tokens seen agree, a second start trains nothing,
# a run that was stopped goes on, and one of so many seconds ends in time.  bash tests/gpu/test_study.sh PATH_OF_BIGBIRD
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

# A run of so many seconds, from a FASTA that lies beside the checkout: it ends in time and has learnt something.
mkdir -p "$work/data/human-chm13-mhc"
cp "$work/study/simulated/genome.fa.gz" "$work/data/human-chm13-mhc/chm13_mhc.fa.gz"
begin=$SECONDS seconds=20
DATA=$work/data bash "$root/pipelines/gpu_study.sh" --tiny --part training --seconds $seconds -o "$work/training" >"$work/out" ||
  { cp "$work/training/study.log" "$work/study/" && failed "the run of $seconds seconds ended with an error"; }
[ $((SECONDS - begin)) -le $((seconds + 10)) ] || failed "the run of $seconds seconds took $((SECONDS - begin))"
grep -q "data $work/data" "$work/training/settings" || failed "the data beside the checkout were not taken"
awk -F'\t' '
  $2 == "probe" { untrained = $9 }
  $2 == "base" && $5 > step { step = $5; trained = $9 }
  END { exit !(untrained > 0 && trained > 0 && trained < untrained) }' "$work/training/study.tsv" ||
  failed "nothing was learnt: $(cat "$work/training/study.tsv")"
for few in "--part training" "--part lengths --seconds 5"; do
  # shellcheck disable=SC2086
  if bash "$root/pipelines/gpu_study.sh" --tiny $few -o "$work/none" 2>/dev/null; then failed "'$few' was taken"; fi
done
echo "the tiny study is as it should be"
