#!/usr/bin/env bash
# The workflow of pipelines/cluster: on this machine, and by both executors on a real Slurm of three nodes here; the merged
# output has the bytes of one run. A wrong config or option ends before anything is computed.
#   bash tests/cluster/snakemake.sh [--program BIGBIRD]
# SNAKEMAKE names the program (snakemake). Status 77: it is not installed, or Slurm is not. KEEP=yes keeps the folder.
set -euo pipefail
# shellcheck source=tests/cluster/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
program=$root/build/release/bin/bigbird
while [ $# -gt 0 ]; do
  case $1 in
    --program) program=${2:-} && shift ;;
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) stop "unknown word '$1' (--program FILE)" 2 ;;
  esac
  shift
done
snakemake=$(command -v "${SNAKEMAKE:-snakemake}") ||
  { echo "SKIPPED: pipelines/cluster: snakemake is not there (SNAKEMAKE names it)" >&2 && exit 77; }

begin "$program"
cd "$work"
mkdir inputs
make_inputs inputs 600K
genome=$work/inputs/genome/genome.fa.gz variants=$work/inputs/genome/variants.vcf.gz
note "inputs made; snakemake $("$snakemake" --version)"

# flow NAME LINE...: a copy of the workflow with this config, and the working folder in it
flow() {
  cp -r "$root/pipelines/cluster" "$work/$1"
  cd "$work/$1"
  shift
  printf '%s\n' "bigbird: $bigbird" "$@" >config/config.yaml
}
of_variants=("task: variants" "model: $work/inputs/chromatin" "genome: $genome" "input: $variants"
  "output: results/scored.vcf.gz" "shards: 3" "options: [--chunk-size, 20]")
runs() { # runs WORD...: Snakemake ends well
  "$snakemake" "$@" >snakemake.log 2>&1 || { tail -n 30 snakemake.log >&2 && wrong "snakemake $*"; }
}
refused() { # refused TEXT WORD...: Snakemake ends with a line that is the text, and no shard was begun
  local text=$1
  shift
  if "$snakemake" "$@" >snakemake.log 2>&1; then wrong "snakemake $* ends well"; fi
  [ "$(grep -cF -- "$text" snakemake.log)" -ge 1 ] || wrong "snakemake $* does not say: $text: $(tail -n 5 snakemake.log)"
  ! compgen -G 'results/logs/score.*' >/dev/null || wrong "snakemake $*: shards were begun"
}

# What one run gives, by the words that the workflow gives: they stand in the output.
"$bigbird" variants -m "$work/inputs/chromatin" -f "$genome" "$variants" --chunk-size 20 -o whole.vcf.gz 2>whole.log
flow local "${of_variants[@]}"
runs -n
runs --lint
refused "config: Additional properties are not allowed ('shardss' was unexpected)" -n --config shardss=3
refused "config: shards: 0 is less than the minimum of 1" -n --config shards=0
refused "config: model: nowhere: there is no such file" -n --config model=nowhere
refused "config: task: 'variant' is none of variants, bins," -n --config task=variant
refused "config: 'input' is of no use for the task 'promoters'" -n --config task=promoters
begun=$SECONDS
refused "unknown option '--frobnicate'" --cores 2 --config 'options=["--frobnicate"]'
note "a dry run, --lint; five wrong configs, and a wrong option after $((SECONDS - begun)) s"
begun=$SECONDS
runs --cores 2
same results/scored.vcf.gz "$work/whole.vcf.gz"
same_summary results/scored.vcf.gz.summary.json "$work/whole.vcf.gz.summary.json"
nothing_left results
note "variants, --cores 2: $((SECONDS - begun)) s, the bytes of one run"
if "$(dirname "$(readlink -f "$snakemake")")/python" -c 'import pygments' 2>/dev/null; then
  runs --report report.html
  grep -q 'scored.vcf.gz.merged.txt' report.html || wrong "the report does not have the merge's counts"
fi

# The other verbs.
zcat "$genome" >"$work/inputs/plain.fa"
awk 'BEGIN { for (i = 1; i <= 40; ++i) printf "chr1\t%d\t%d\n", 2000 * i, 2000 * i + 200 }' >"$work/bins.bed"
"$bigbird" chromatin predict -m "$work/inputs/chromatin" -f "$genome" -R "$work/bins.bed" --chunk-size 10 -o "$work/whole.tsv" 2>whole.log
"$bigbird" promoter scan -m "$work/inputs/promoter" -f "$work/inputs/plain.fa" --step 500 --chunk-size 50 -o "$work/whole.bedgraph" \
  --calls "$work/whole.bed" 2>whole.log
flow bins "task: bins" "model: $work/inputs/chromatin" "genome: $genome" "input: $work/bins.bed" "output: results/out.tsv" \
  "shards: 2" "options: [--chunk-size, 10]"
runs --cores 2
same results/out.tsv "$work/whole.tsv"
rm -f "$work/inputs/plain.fa.fai" # it is made once, by a rule
flow promoters "task: promoters" "model: $work/inputs/promoter" "genome: $work/inputs/plain.fa" \
  "output: results/out.bedgraph" "shards: 2" "options: [--step, 500, --chunk-size, 50]" "merge_options: [--calls, results/calls.bed]"
runs --cores 2
same results/out.bedgraph "$work/whole.bedgraph"
same results/calls.bed "$work/whole.bed"
[ -e "$work/inputs/plain.fa.fai" ] || wrong "no rule made the genome's index"
"$bigbird" embed -m "$work/inputs/chromatin" -f "$genome" -R "$work/bins.bed" --chunk-size 10 -o "$work/whole.npy" 2>whole.log
printf 'chr1\t%d\t%d\n' 20000 20002 30000 30001 40000 40002 >"$work/region.bed"
"$bigbird" ism -m "$work/inputs/chromatin" -f "$genome" -R "$work/region.bed" --chunk-size 1 -o "$work/whole-ism.tsv" 2>whole.log
flow vectors "task: vectors" "model: $work/inputs/chromatin" "genome: $genome" "input: $work/bins.bed" "output: results/out.npy" \
  "shards: 2" "options: [--chunk-size, 10]"
runs --cores 2
same results/out.npy "$work/whole.npy"
flow substitutions "task: substitutions" "model: $work/inputs/chromatin" "genome: $genome" "input: $work/region.bed" \
  "output: results/out.tsv" "shards: 2" "options: [--chunk-size, 1]"
runs --cores 2
same results/out.tsv "$work/whole-ism.tsv"
nothing_left results
note "bins, promoters, vectors and substitutions, --cores 2: the bytes of one run"

# Windows of a FASTA; texts, questions and summaries, by models of this project's own pages.
awk 'NR > 1 { bases = bases $0 } length(bases) > 20000 { exit } END { for (i = 0; i < 30; ++i) printf ">w%d\n%s\n", i, substr(bases, 600 * i + 1, 400) }' \
  "$work/inputs/plain.fa" >"$work/windows.fa"
mkdir "$work/text-model"
{
  "$bigbird" text vocabulary "$root"/docs/*.md -o "$work/text-model/tokenizer" --vocab-size 500
  "$bigbird" text pretrain-data "$root"/docs/*.md -m "$work/text-model/tokenizer" -o "$work/text-model/train"
  "$bigbird" pretrain --train "$work/text-model/train" -m "$work/text-model/tokenizer" -o "$work/text-model/pretrain" --layers 1 --width 32 --heads 2 \
    --length 128 --block-size 8 --random-mode hf-train --batch 4 --steps 2 --warmup 1
  awk 'BEGIN { print "text\tlabel" } /^[A-Z].* .* / && !/\t/ { print $0 "\t" ($0 ~ /GPU/ ? "device" : "other") }' "$root"/docs/*.md >"$work/text-model/lines.tsv"
  "$bigbird" text classify finetune --train "$work/text-model/lines.tsv" --init "$work/text-model/pretrain/final" -o "$work/text-model/run" \
    --steps 2 --batch 4 --length 64
  "$bigbird" text classify predict -m "$work/text-model/run/final" "$work/text-model/lines.tsv" --chunk-size 50 -o "$work/whole-texts.tsv"
  "$bigbird" chromatin predict -m "$work/inputs/chromatin" "$work/windows.fa" --chunk-size 10 -o "$work/whole-windows.tsv"
  awk '/^[A-Z].* .* / && !/[\t"\\]/ { split($0, words, " "); printf "{\"id\": \"%d\", \"question\": \"What is said of %s?\", \"context\": \"%s\", \"answers\": {\"text\": [\"%s\"], \"answer_start\": [0]}}\n", ++n, words[2], $0, words[1] } n == 40 { exit }' \
    "$root"/docs/*.md >"$work/text-model/questions.jsonl"
  awk '/^[A-Z].* .* / && !/[\t"\\]/ { printf "{\"id\": \"%d\", \"document\": \"%s\"}\n", ++n, $0 } n == 12 { exit }' \
    "$root"/docs/*.md >"$work/text-model/documents.jsonl"
  "$bigbird" text qa finetune --train "$work/text-model/questions.jsonl" --init "$work/text-model/pretrain/final" -o "$work/text-model/qa" \
    --steps 2 --batch 4 --length 64
  "$bigbird" convert "$work/text-model/pretrain/final" "$work/text-model/summarizer" --decoder coupled >/dev/null
  "$bigbird" text qa predict -m "$work/text-model/qa/final" "$work/text-model/questions.jsonl" --chunk-size 5 -o "$work/whole.json" \
    --candidates "$work/whole-nbest.json"
  "$bigbird" text summarize predict -m "$work/text-model/summarizer" "$work/text-model/documents.jsonl" --max-tokens 8 --chunk-size 2 \
    -o "$work/whole.jsonl"
} 2>"$work/whole.log" || { tail -n 3 "$work/whole.log" >&2 && stop "the texts could not be made"; }
flow sequences "task: sequences" "model: $work/inputs/chromatin" "input: $work/windows.fa" "output: results/out.tsv" "shards: 2" \
  "options: [--chunk-size, 10]"
runs --cores 2
same results/out.tsv "$work/whole-windows.tsv"
flow texts "task: texts" "model: $work/text-model/run/final" "input: $work/text-model/lines.tsv" "output: results/out.tsv" "shards: 3" "options: [--chunk-size, 50]"
runs --cores 2
same results/out.tsv "$work/whole-texts.tsv"
nothing_left results
flow questions "task: questions" "model: $work/text-model/qa/final" "input: $work/text-model/questions.jsonl" "output: results/out.json" \
  "shards: 3" "options: [--chunk-size, 5, --candidates, results/nbest.json]"
runs --cores 2
same results/out.json "$work/whole.json"
same results/nbest.json "$work/whole-nbest.json"
nothing_left results
flow summaries "task: summaries" "model: $work/text-model/summarizer" "input: $work/text-model/documents.jsonl" "output: results/out.jsonl" \
  "shards: 2" "options: [--max-tokens, 8, --chunk-size, 2]"
runs --cores 2
same results/out.jsonl "$work/whole.jsonl"
nothing_left results
note "windows of a FASTA, texts, questions and summaries, --cores 2: the bytes of one run"

# By both executors.
start_slurm 3 3
executors=$("$snakemake" --help | sed -n 's/.*--executor {\([^}]*\)}.*/\1/p' | head -n 1)
for profile in slurm cluster-generic; do
  case ,$executors, in
    *,$profile,*) ;;
    *) echo "SKIPPED: profiles/$profile: snakemake-executor-plugin-$profile is not installed" >&2 && continue ;;
  esac
  flow "by-$profile" "${of_variants[@]}"
  more=()
  # A Slurm without accounts, and jobs of seconds.
  [ $profile != slurm ] || more=(--slurm-no-account --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2)
  begun=$SECONDS
  runs --profile profiles/$profile --latency-wait 10 --default-resources mem_mb=300 runtime=10 --config memory_mb=300 \
    ${more[@]+"${more[@]}"}
  same results/scored.vcf.gz "$work/whole.vcf.gz"
  nothing_left results
  note "variants, profiles/$profile: $((SECONDS - begun)) s, the bytes of one run"
done
