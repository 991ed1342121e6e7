#!/usr/bin/env bash
# What scanning's calls are worth, by the negatives that the model learned from: altered promoters, windows of the genome, one
# or ten, and hard ones. On a simulated genome, or on human sequence; benchmarks/promoters.md has the tables.
#   bash pipelines/scan_study.sh         a simulated genome of 10 Mb; chr3 is scanned and held out of everything
#   bash pipelines/scan_study.sh DATA    six regions of GRCh37 (benchmarks/study.md says what DATA holds), TSS of EPDnew and GENCODE;
#                                        chr20:1,000,001-2,000,000 is scanned and held out of everything
# Environment: OUT (scan-study), BP (10M, of the simulated genome), STEPS (600) and FINETUNE_STEPS (500), REGION (of those above a
# smaller one), STEP (50: bases between positions), INIT (a pretrained model in place of the study's own), PRIOR (0.002), BIN
# (the folder of an installed bigbird).
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"

data=${1:-}
out=${OUT:-scan-study}
for file in ${data:+epdnew.inside.bed gencode19_tss.inside.bed grch37.sparse.fa.gz}; do
  [ -r "$data/human-grch37/$file" ] || fail "$data/human-grch37/$file cannot be read" "benchmarks/study.md says where each file comes from"
done
begin_demonstration "$out"
model=(--layers 2 --width 128 --heads 4)
training=(--optimizer torch --schedule huggingface)
if [ -z "$data" ]; then
  genome=$out/genome/genome.fa.gz region=${REGION:-chr3:1-1000000}
  run bigbird simulate -q -o "$out/genome" --bp "${BP:-10M}" --chromosome-count 3 --seed 1
  zcat -f "$out/genome/promoters.tss.bed" >"$out/tss.bed"
  held_out=chr3
  chunked=(--chromosomes "chr1,chr2" --passes 2 --max-n 0.5) window=(--left 300 --right 100)
  # Pieces of several bases, as the demonstration has them.
  vocabulary=1000 model+=(--length 128 --block-size 8 --random-mode hf-train)
else
  genome=$data/human-grch37/grch37.sparse.fa.gz region=${REGION:-chr20:1000001-2000000}
  # A place in both lists stands once.
  sort -k1,1 -k2,2n -k6,6 -u "$data"/human-grch37/{epdnew,gencode19_tss}.inside.bed >"$out/tss.bed"
  held_out=chr20:1000001-2000000
  printf 'chr20\t1000000\t2000000\n' >"$out/held_out.bed"
  chunked=(--chromosomes all --exclude "$out/held_out.bed" --max-n 0.2 --strands both) window=(--left 249 --right 51)
  # A token a base: of so little sequence a small model learns more from bases.
  vocabulary=10 model+=(--length 304 --block-size 16 --attention full --position-embedding rotary --no-nsp)
fi
init=${INIT:-$out/pretrain/final}
if [ -z "${INIT:-}" ]; then
  run bigbird chunk -q -f "$genome" -o "$out/train.bed.gz" "${chunked[@]}"
  run bigbird train-bpe -q -f "$genome" -d "$out/train.bed.gz" -o "$out/tokenizer" --vocab-size "$vocabulary" --trainer apart --sample-bp 2M
  run bigbird tokenize -q -m "$out/tokenizer" -f "$genome" -d "$out/train.bed.gz" -o "$out/train"
  run bigbird pretrain -q --train "$out/train" -m "$out/tokenizer" -o "$out/pretrain" "${model[@]}" --batch 32 \
    --steps "${STEPS:-600}" --lr 1e-3 "${training[@]}" --dropout 0
fi

table=$out/scan.md
cat >"$table" <<'HEAD'
| negatives | scores | threshold | calls | calls with a TSS within 500 bp | TSS with a call there |
|---|---|---|---|---|---|
HEAD
for negatives in random genomic genomic:10 genomic:10+hard:5; do
  name=${negatives//:/} hard=()
  examples=$out/promoters-$name tuned=$out/run-$name
  case $negatives in *hard*) hard=(--hard-negatives "$out/run-genomic10/final") ;; esac
  run bigbird promoter build -q --tss "$out/tss.bed" -f "$genome" -o "$examples" "${window[@]}" --negatives "$negatives" \
    --test "$held_out" "${hard[@]}"
  run bigbird promoter finetune -q --data "$examples" --init "$init" -o "$tuned" --steps "${FINETUNE_STEPS:-500}" --batch 32 --lr 3e-4 \
    "${training[@]}" --dropout 0.3 --average 0.99 --eval-every 50
  # Of a thousand windows, one at each strand of every fiftieth base, one or two are a promoter's.
  run bigbird promoter calibrate -q -m "$tuned/final" --data "$examples" --prior "${PRIOR:-0.002}" -o "$out/calibration-$name.tsv"
  # Calibration does not change the order of calls: it is shown for the last.
  for setting in none:0.5:"0.5 0.7 0.9 0.95 0.98" platt:0.01:"0.01 0.05 0.1 0.5"; do
    case $setting in platt*) [ "${#hard[@]}" -gt 0 ] || continue ;; esac
    IFS=: read -r scores lowest thresholds <<<"$setting"
    scan=$out/scan-$name-$scores
    run bigbird promoter scan -q -m "$tuned/final" -f "$genome" -r "$region" --step "${STEP:-50}" --calibrated "$scores" \
      --threshold "$lowest" --tss "$out/tss.bed" -o "$scan.bedgraph" --calls "$scan.bed"
    of() { value "$scan.bedgraph.summary.json" "evaluation.by_threshold.$1" "$2"; }
    for ((row = 1; ; row++)); do # one for each threshold from the lowest up
      threshold=$(of threshold $row)
      [ -n "$threshold" ] || break
      case " $thresholds " in *" $threshold "*) ;; *) continue ;; esac
      printf '| %s | %s | %s | %s | %s | %s of %s |\n' "$negatives" "$scores" "$threshold" "$(of calls $row)" \
        "$(of calls_confirmed $row)" "$(of tss_found $row)" "$(of tss $row)" | tee -a "$table"
    done
  done
done
time_taken
