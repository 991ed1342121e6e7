#!/usr/bin/env bash
# How many tasks a node should have: the same variants by one task with all threads, and by 1, 2 and 4 tasks of one thread each,
# at the same time, in turns. Prints a table in Markdown; for benchmarks/clusters.md, on a machine that does nothing else.
#   bash tests/cluster/throughput.sh [--program BIGBIRD] [--rounds 2] VARIANTS_OPTION...
# What follows is what `bigbird variants` takes, input included, without -o and -@: -m run/final -f genome.fa.gz few.vcf.gz.
# Every setting scores all of the input; give --chunk-size so that there are chunks for four shards.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$root/build/release/bin/bigbird rounds=2
while [ $# -gt 0 ]; do
  case $1 in
    --program) program=$(realpath "$2") && shift 2 ;;
    --rounds) rounds=$2 && shift 2 ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "tests/cluster/throughput.sh: nothing to score (--help)" >&2 && exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

score() { # score TASKS THREADS OPTION...: all of them at once; the seconds until the last one ends
  local tasks=$1 threads=$2 begin end shard pids=()
  shift 2
  rm -f "$work"/out*
  begin=$(date +%s%N)
  for shard in $(seq "$tasks"); do
    "$program" variants -q "$@" --shard "$shard/$tasks" -@ "$threads" -o "$work/out$shard.tsv" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  end=$(date +%s%N)
  awk -v ns=$((end - begin)) 'BEGIN { printf "%.1f\n", ns / 1e9 }'
}

cores=$(nproc)
settings=("1 $cores" "1 1" "2 1" "4 1")
for round in $(seq "$rounds"); do
  for setting in "${settings[@]}"; do
    read -r tasks threads <<<"$setting"
    seconds=$(score "$tasks" "$threads" "$@")
    echo "$seconds" >>"$work/seconds.$tasks.$threads"
    echo "round $round: $tasks tasks of $threads threads: $seconds s" >&2
  done
done
alleles=$(cat "$work"/out*.tsv | grep -vc -e '^#' || true)
echo "| tasks | threads of each | seconds, each round | alleles a second, of the fastest |"
echo "|---|---|---|---|"
for setting in "${settings[@]}"; do
  read -r tasks threads <<<"$setting"
  sort -n "$work/seconds.$tasks.$threads" | awk -v tasks="$tasks" -v threads="$threads" -v alleles="$alleles" '
    NR == 1 { least = $1 } { all = all (NR > 1 ? ", " : "") $1 }
    END { printf "| %d | %d | %s | %.2f |\n", tasks, threads, all, alleles / least }'
done
