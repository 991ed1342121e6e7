#!/usr/bin/env bash
# What scanning's calls are worth, by the negatives that the model learned from: altered promoters, windows of the genome, or
# both; with scores as they are and calibrated. On a simulated genome; docs/promoters.md has the table.
#   bash pipelines/scan_study.sh
# Environment: OUT (scan-study), BP (10M), STEPS and FINETUNE_STEPS (600), REGION (chr3:1-1000000), BIN (the folder of an
# installed bigbird).
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"

out=${OUT:-scan-study}
begin_demonstration "$out"
genome=$out/genome/genome.fa.gz
run bigbird simulate -q -o "$out/genome" --bp "${BP:-10M}" --chromosomes 3 --seed 1
run bigbird chunk -q -f "$genome" -o "$out/train.bed.gz" --chromosomes chr1,chr2 --passes 2 --max-n 0.5
run bigbird train-bpe -q -f "$genome" -d "$out/train.bed.gz" -o "$out/tokenizer" --vocab-size 1000 --sample-bp 2M
run bigbird tokenize -q -m "$out/tokenizer" -f "$genome" -d "$out/train.bed.gz" -o "$out/train"
run bigbird pretrain -q --train "$out/train" -m "$out/tokenizer" -o "$out/pretrain" \
  --layers 2 --width 128 --heads 4 --length 128 --block-size 8 --random-mode hf-train --batch 32 --steps "${STEPS:-600}" \
  --lr 1e-3 --optimizer torch --schedule huggingface --dropout 0

table=$out/scan.md
cat >"$table" <<'HEAD'
| negatives | scores | threshold | calls | calls with a TSS within 500 bp | TSS with a call there |
|---|---|---|---|---|---|
HEAD
# The chromosome that is scanned lends no promoter to training.
zcat -f "$out/genome/promoters.tss.bed" | awk '$1 != "chr3"' >"$out/tss.bed"
for negatives in random genomic random+genomic; do
  data=$out/promoters-$negatives model=$out/run-$negatives
  run bigbird promoter build -q --tss "$out/tss.bed" -f "$genome" -o "$data" --left 300 --right 100 --negatives "$negatives"
  run bigbird promoter finetune -q --data "$data" --init "$out/pretrain/final" -o "$model" --steps "${FINETUNE_STEPS:-600}" \
    --batch 16 --lr 3e-4 --optimizer torch --schedule huggingface --dropout 0 --average 0.99
  # Of a thousand windows, one at each strand of every fiftieth base, one or two are a promoter's.
  run bigbird promoter calibrate -q -m "$model/final" --data "$data" --prior "${PRIOR:-0.002}" -o "$out/calibration-$negatives.tsv"
  for setting in none:0.5 none:0.9 platt:0.1 platt:0.5; do
    scores=${setting%:*} threshold=${setting#*:}
    name=$out/scan-$negatives-$scores-$threshold
    run bigbird promoter scan -q -m "$model/final" -f "$genome" -r "${REGION:-chr3:1-1000000}" --step 50 --calibrated "$scores" \
      --threshold "$threshold" --tss "$out/genome/promoters.tss.bed" -o "$name.bedgraph" --calls "$name.bed"
    of() { value "$name.bedgraph.summary.json" "evaluation.any_strand.$1"; }
    printf '| %s | %s | %s | %s | %s | %s of %s |\n' "$negatives" "$scores" "$threshold" "$(of calls)" "$(of calls_confirmed)" \
      "$(of tss_found)" "$(of tss)" | tee -a "$table"
  done
done
time_taken
