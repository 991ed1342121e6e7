#!/usr/bin/env bash
# The main job, end to end: genome -> documents -> vocabulary -> shards -> pretraining -> promoters, and on the simulated
# genome chromatin profiles and variants too -> results.
#   bash pipelines/demo.sh                          a simulated genome; under 5 minutes on 2 cores
#   bash pipelines/demo.sh GENOME.fa[.gz] [TSS.bed] your own genome, such as data/grch38/genome.fa.gz from fetch_human.sh;
#                                                   TSS.bed defaults to promoters.tss.bed (or promoters.hg38.tss.bed with
#                                                   hg38ToHg19.over.chain.gz) beside the genome
# Environment: OUT (demo-output), TRAIN and VALID (chromosomes to learn from, and to hold out), STEPS, FINETUNE_STEPS, BP (10M,
# of the simulated genome), BIN (the folder of an installed bigbird, to use that and build nothing).
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"

out=${OUT:-demo-output}
genome=${1:-}
tss=${2:-}
lift=()
if [ -n "$genome" ]; then
  [ -r "$genome" ] || fail "$genome cannot be read" "give the path of a FASTA file"
  beside=$(dirname "$genome")
  if [ -z "$tss" ] && [ -r "$beside/promoters.tss.bed" ]; then tss=$beside/promoters.tss.bed; fi
  if [ -z "$tss" ] && [ -r "$beside/promoters.hg38.tss.bed" ]; then
    tss=$beside/promoters.hg38.tss.bed
    lift=(--lift "$beside/hg38ToHg19.over.chain.gz")
  fi
  [ -r "$tss" ] || fail "no transcription start sites for $genome" "give a BED file as the second argument"
fi

begin_demonstration "$out"
if [ -z "$genome" ]; then
  run bigbird simulate -o "$out/genome" --bp "${BP:-10M}" --chromosome-count 3 --seed 1
  genome=$out/genome/genome.fa.gz
  tss=$out/genome/promoters.tss.bed
  train=${TRAIN:-chr1,chr2}
  valid=${VALID:-chr3}
else
  train=${TRAIN:-chr21}
  valid=${VALID:-chr22}
fi

run bigbird chunk -f "$genome" -o "$out/train.bed.gz" --chromosomes "$train" --passes 2 --max-n 0.5
run bigbird chunk -f "$genome" -o "$out/valid.bed.gz" --chromosomes "$valid" --passes 1 --max-n 0.5
run bigbird train-bpe -f "$genome" -d "$out/train.bed.gz" -o "$out/tokenizer" --vocab-size 1000 --sample-bp 2M
run bigbird tokenize -m "$out/tokenizer" -f "$genome" -d "$out/train.bed.gz" -o "$out/train"
run bigbird tokenize -m "$out/tokenizer" -f "$genome" -d "$out/valid.bed.gz" -o "$out/valid"
# A model small enough for minutes: 16 blocks of 8 tokens, so that attention is as sparse as the paper's pattern allows.
# Random mode hf-train, because google's takes full attention up to 512 tokens.
run bigbird pretrain --train "$out/train" --valid "$out/valid" -m "$out/tokenizer" -o "$out/pretrain" \
  --layers 2 --width 128 --heads 4 --length 128 --block-size 8 --random-mode hf-train --batch 32 --steps "${STEPS:-600}"
run_to "$out/evaluate.json" bigbird evaluate -m "$out/pretrain/final" --data "$out/valid" --baseline-from "$out/train" --masks all \
  --samples 2000
# Windows of 400 bp in place of the paper's 8 kb, so that a whole window lies within this model's 128 tokens. Ten windows of the
# genome for each promoter, because the model is to scan one; what is held out is the same as in pretraining.
run bigbird promoter build --tss "$tss" -f "$genome" -o "$out/promoters" --left 300 --right 100 --negatives genomic:10 \
  --test "$valid" "${lift[@]}"
run bigbird promoter finetune --data "$out/promoters" --init "$out/pretrain/final" -o "$out/finetune" \
  --steps "${FINETUNE_STEPS:-500}" --dropout 0.3
run bigbird promoter predict -m "$out/finetune/final" --data "$out/promoters/test.tsv" --strands + -o "$out/predictions.tsv"
run_to "$out/promoter.json" bigbird promoter evaluate --predictions "$out/predictions.tsv"

# Peaks and variants come with the simulated genome. chr1 to learn from, chr2 to validate, chr3 held out.
if [ -e "$out/genome/peaks/peaks.tsv" ]; then
  run bigbird chromatin build --peaks "$out/genome/peaks/peaks.tsv" -f "$genome" -o "$out/chromatin" --window 400 \
    --valid chr2 --test chr3
  run bigbird chromatin finetune --data "$out/chromatin" --init "$out/pretrain/final" -o "$out/chromatin-run" \
    --steps "${FINETUNE_STEPS:-600}" --batch 16 --eval-samples 500
  run bigbird chromatin evaluate -m "$out/chromatin-run/final" --data "$out/chromatin" -o "$out/chromatin.json" \
    --table "$out/profiles.tsv" --svg "$out/curves.svg"
  run bigbird variants background -m "$out/chromatin-run/final" -f "$genome" "$out/genome/variants.vcf.gz" \
    --max-records 2000 -o "$out/background.safetensors"
  run bigbird variants -m "$out/chromatin-run/final" -f "$genome" "$out/genome/variants.vcf.gz" -r chr3:1-200000 \
    --background "$out/background.safetensors" -O z -o "$out/scored.vcf.gz"
  run bigbird ism -m "$out/chromatin-run/final" -f "$genome" -r chr3:100001-100060 -o "$out/ism.tsv" --svg "$out/ism.svg"
  run bigbird attribute -m "$out/chromatin-run/final" -f "$genome" -r chr3:100001-100400 --profiles 0 -o "$out/attribution.bedgraph"
  run bigbird promoter scan -m "$out/finetune/final" -f "$genome" -r chr3:1-200000 --step 50 -o "$out/scan.bw" \
    --calls "$out/calls.bed" --tss "$tss"
fi

summary() {
  echo "Results"
  echo "of $valid, which nothing was trained on:"
  row "masked-token loss (nats)" "$(number "$out/evaluate.json" mlm_loss)"
  row "masked-token accuracy" "$(number "$out/evaluate.json" mlm_accuracy)"
  row "bits per base, model" "$(number "$out/evaluate.json" bits_per_base)"
  row "bits per base, token unigrams" "$(number "$out/evaluate.json" baseline.unigram.bits_per_base)"
  row "bits per base, token bigrams" "$(number "$out/evaluate.json" baseline.bigram.bits_per_base)"
  row "next-sentence accuracy" "$(number "$out/evaluate.json" nsp_accuracy)"
  if [ -e "$out/chromatin.json" ]; then
    row "chromatin: median AUROC, one strand" "$(number "$out/chromatin.json" evaluations.groups.all.median_auroc)"
    row "variants scored" "$(value "$out/scored.vcf.gz.summary.json" scored)"
  fi
  row "promoters: F1" "$(number "$out/promoter.json" f1)"
  row "promoters: AUROC" "$(number "$out/promoter.json" auroc)"
  echo "Files"
  row "pretrained model" "$out/pretrain/final"
  row "promoter model" "$out/finetune/final"
  row "tokenizer, documents, shards" "$out/tokenizer, $out/train.bed.gz, $out/train.bin"
  row "promoter predictions" "$out/predictions.tsv"
  if [ -e "$out/chromatin.json" ]; then
    row "chromatin model" "$out/chromatin-run/final"
    row "annotated VCF" "$out/scored.vcf.gz"
    row "curves, logo, tracks" "$out/curves.svg, $out/ism.svg, $out/attribution.bedgraph, $out/scan.bw"
  fi
  row "numbers as JSON" "$out/evaluate.json, $out/promoter.json"
  row "commands as typed" "$out/demo.log"
  time_taken
}
echo
summary | tee "$out/summary.txt"
