#!/usr/bin/env bash
# The paper's claims on real human DNA, on two cores: longer inputs, the parts of the attention pattern, pretraining. What is
# compared, and what came out, is in benchmarks/study.md.
#   bash pipelines/cpu_study.sh DATA     DATA: a folder with human-grch37, human-chm13-mhc, promoters and peaks-hg19, as
#                                        benchmarks/study.md lists them
# It can be stopped at any time and goes on where it was; a part that is finished is not computed again.
# Environment: OUT (cpu-study), RESULTS (OUT/results: what is measured, some hundred KB; a part whose results are there is
# not computed again, on another machine either), JOBS (runs side by side, one a core), SEEDS ("1 2 3"), VOCABULARY (10: a
# token a base), TOKENS (1000k: training tokens of a pretraining), NSP_TOKENS (3000k), PROMOTER_STEPS (120), PEAK_STEPS (80),
# PARTS ("lengths patterns promoters peaks nsp"), BIN (the folder of an installed bigbird).
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"
# shellcheck source=pipelines/resumable.sh
source "$(dirname "${BASH_SOURCE[0]}")/resumable.sh"

data=$1
out=${OUT:-cpu-study}
tokens=${TOKENS:-1000k}
nsp_tokens=${NSP_TOKENS:-3000k}
promoter_steps=${PROMOTER_STEPS:-120}
peak_steps=${PEAK_STEPS:-80}
vocabulary=${VOCABULARY:-10}
results=${RESULTS:-$out/results}
parts=${PARTS:-lengths patterns promoters peaks nsp}
read -ra seeds <<<"${SEEDS:-1 2 3}"
side_by_side=${JOBS:-$jobs}
held_out=chr20:1000001-2000000
batch_tokens=4096

for file in human-grch37/grch37.pieces.fa.gz human-grch37/grch37.sparse.fa.gz human-chm13-mhc/chm13_mhc.fa.gz \
  promoters/DeePromoter_human_TATA_300bp.txt.gz peaks-hg19/dream_tf.tracks.txt \
  peaks-hg19/dream_tf.inside_grch37_pieces.narrowPeak; do
  [ -r "$data/$file" ] || fail "$data/$file cannot be read" "benchmarks/study.md says where each file comes from"
done
program_on_path
mkdir -p "$out" "$results"
demonstration_log=$out/study.log
SECONDS=0

export BIGBIRD_THREADS=$((jobs > side_by_side ? jobs / side_by_side : 1))

genome=$out/human.fa
once "$genome" gzip -dc "$data/human-grch37/grch37.pieces.fa.gz" "$data/human-chm13-mhc/chm13_mhc.fa.gz"
once "$out/held_out.bed" printf '%s\t0\t1000000\n' "$held_out"
made "$out/train.bed.gz" bigbird chunk -q -f "$genome" --chromosomes all --exclude "$out/held_out.bed" --max-n 0.2 \
  --strands both -o "$out/train.bed.gz"
made "$out/valid.bed.gz" bigbird chunk -q -f "$genome" --chromosomes "$held_out" --passes 1 -o "$out/valid.bed.gz"
made "$out/tokenizer" bigbird train-bpe -q -f "$genome" -d "$out/train.bed.gz" -o "$out/tokenizer" --vocab-size "$vocabulary" --trainer apart --sample-bp 20M
made "$out/train.json" bigbird tokenize -q -m "$out/tokenizer" -f "$genome" -d "$out/train.bed.gz" -o "$out/train"
made "$out/valid.json" bigbird tokenize -q -m "$out/tokenizer" -f "$genome" -d "$out/valid.bed.gz" -o "$out/valid"

model=(--layers 3 --width 128 --heads 4 --position-embedding rotary --dropout 0 --attention-dropout 0)
training=(--optimizer torch --schedule huggingface --lr 1e-3 --clip-norm 1)

# trained NAME SEED LENGTH OPTION...: the run $out/pretrain/NAME-SEED.
trained() {
  local folder=$out/pretrain/$1-$2 seed=$2 length=$3
  local steps=$(($(count "$tokens") / batch_tokens)) every
  every=$((steps / 8 > 0 ? steps / 8 : 1))
  shift 3
  mkdir -p "$out/pretrain"
  [ -e "$folder/final" ] ||
    run bigbird pretrain -q --train "$out/train" --valid "$out/valid" -m "$out/tokenizer" -o "$folder" "${model[@]}" "${training[@]}" \
      --length "$length" --batch $((batch_tokens / length)) --steps "$steps" --eval-every "$every" \
      --eval-samples $((131072 / length)) --save-every "$every" --keep-last 1 --keep-best 0 --final last --no-nsp --seed "$seed" --resume "$@"
}
# pretrained NAME SEED LENGTH OPTION...: that run's validation curve, and what it makes of the held-out megabase.
pretrained() {
  local name=$1-$2 length=$3
  [ -e "$results/$name.json" ] && return 0
  trained "$@"
  cp "$out/pretrain/$name/valid.tsv" "$results/$name.valid.tsv"
  once "$results/$name.json" bigbird evaluate -q -m "$out/pretrain/$name/final" --data "$out/valid" --baseline-from "$out/train" \
    --no-nsp --length "$length"
}
# A model that has learned nothing: an update of rate 1e-12.
untrained() {
  made "$out/untrained-$1/final" bigbird pretrain -q --train "$out/train" -m "$out/tokenizer" -o "$out/untrained-$1" "${model[@]}" \
    --length 1024 --batch 1 --steps 1 --lr 1e-12 --no-nsp --seed "$1" --resume
}

if wants lengths; then
  for seed in "${seeds[@]}"; do
    for length in 1024 512 4096; do side pretrained "length-$length" "$seed" "$length"; done
  done
fi
if wants patterns; then # the full pattern is length-4096 above
  for seed in "${seeds[@]}"; do
    side pretrained full-4096 "$seed" 4096 --attention full
    for pattern in random window window+random; do side pretrained "$pattern-4096" "$seed" 4096 --attention "$pattern"; done
  done
fi
next_sentences() { # a longer run of one seed, with the accuracy on held-out pairs on the way
  local steps=$(($(count "$nsp_tokens") / batch_tokens)) every=$(($(count "$nsp_tokens") / batch_tokens / 20 + 1))
  run bigbird pretrain -q --train "$out/train" --valid "$out/valid" -m "$out/tokenizer" -o "$out/nsp" "${model[@]}" "${training[@]}" \
    --length 1024 --batch $((batch_tokens / 1024)) --steps "$steps" --eval-every "$every" --eval-samples 500 \
    --save-every "$every" --keep-last 1 --keep-best 0 --resume
  cp "$out/nsp/valid.tsv" "$results/nsp.valid.tsv"
  once "$results/nsp.json" bigbird evaluate -q -m "$out/nsp/final" --data "$out/valid"
}

# What a task begins from: each made once, by whichever part comes first.
bases() {
  untrained "$1"
  trained length-1024 "$1" 1024
}
begun_from() { # begun_from FROM SEED
  if [ "$1" = untrained ]; then echo "$out/untrained-$2/final"; else echo "$out/pretrain/length-1024-$2/final"; fi
}
# missing TASK SEED: what FROM (untrained, pretrained) a task has not been measured yet
missing() {
  local from
  for from in untrained pretrained; do [ -e "$results/$1-$from-$2.json" ] || echo "$from"; done
}
together
for seed in "${seeds[@]}"; do
  { wants promoters && [ -n "$(missing promoters "$seed")" ]; } || { wants peaks && [ -n "$(missing peaks "$seed")" ]; } || continue
  side bases "$seed"
done
together

# tuned TASK FROM SEED STEPS COMMAND...: the run $out/TASK/FROM-SEED, from a model that is pretrained or is not.
tuned() {
  local folder=$out/$1/$2-$3 from=$2 seed=$3 steps=$4
  shift 4
  mkdir -p "$(dirname "$folder")"
  [ -e "$folder/final" ] ||
    run bigbird "$@" -q --init "$(begun_from "$from" "$seed")" -o "$folder" --seed "$seed" --steps "$steps" --dropout 0 \
      --average 0.99 --optimizer torch --schedule huggingface --lr 3e-4 --clip-norm 1 --eval-every $((steps / 5)) --resume
}

# The TATA promoters by the number of their line modulo 5: three parts learn, one validates, one tests. Negatives
# of the two other sides are fixed: of 20 blocks 12 are random bases (Park and Miller's generator, so that any awk makes the same).
promoter_table() {
  gzip -dc "$data/promoters/DeePromoter_human_TATA_300bp.txt.gz" | awk -v side="$1" '
    function below(n) { state = (state * 16807) % 2147483647; return int(state / 2147483647 * n) }
    BEGIN { state = 20240229; print "id\tsequence\tlabel" }
    NF && !seen[$1]++ {
      part = number++ % 5; mine = part < 3 ? "train" : part == 3 ? "valid" : "test"
      block = length($1) / 20; left = 12; negative = ""
      for (i = 0; i < 20; i++) {
        if (below(20 - i) < left) { left--; for (j = 0; j < block; j++) negative = negative substr("ACGT", below(4) + 1, 1) }
        else negative = negative substr($1, i * block + 1, block)
      }
      if (mine == side) printf "p%d\t%s\t1\np%d:negative\t%s\t0\n", number, toupper($1), number, negative
    }'
}
promoters() { # promoters FROM SEED
  local name=promoters-$1-$2
  tuned promoters "$1" "$2" "$promoter_steps" promoter finetune --train "$out/promoters.train.tsv" \
    --valid "$out/promoters.valid.tsv" --fresh-negatives random --batch 32
  cp "$out/promoters/$1-$2/valid.tsv" "$results/$name.valid.tsv"
  once "$out/$name.predictions.tsv" bigbird promoter predict -q -m "$out/promoters/$1-$2/final" --data "$out/promoters.test.tsv" --strands +
  once "$results/$name.json" bigbird promoter evaluate --predictions "$out/$name.predictions.tsv"
}
peaks() { # peaks FROM SEED; what calibration is worth too, with one fit to the few bins of validation
  local name=peaks-$1-$2 run=$out/peaks/$1-$2
  tuned peaks "$1" "$2" "$peak_steps" chromatin finetune --data "$out/bins" --batch 16
  cp "$run/valid.tsv" "$results/$name.valid.tsv"
  once "$results/$name.calibration.tsv" bigbird chromatin calibrate -q -m "$run/final" --data "$out/bins" --force
  once "$results/$name.json" bigbird chromatin evaluate -q -m "$run/final" --data "$out/bins" --table "$results/$name.profiles.tsv"
}
if wants promoters; then
  for side in train valid test; do once "$out/promoters.$side.tsv" promoter_table "$side"; done
  for seed in "${seeds[@]}"; do
    for from in $(missing promoters "$seed"); do side promoters "$from" "$seed"; done
  done
fi
if wants peaks; then
  cp "$data/peaks-hg19/dream_tf.inside_grch37_pieces.narrowPeak" "$out/peaks.narrowPeak"
  once "$out/peaks.tsv" awk 'BEGIN { print "name\tgroup\tfile\ttrack" } NF { print $1 "\tTF\tpeaks.narrowPeak\t" $1 }' \
    "$data/peaks-hg19/dream_tf.tracks.txt"
  made "$out/bins" bigbird chromatin build -q --peaks "$out/peaks.tsv" -f "$data/human-grch37/grch37.sparse.fa.gz" --window 1000 --max-n 0.1 \
    --test "$held_out" --valid chr20:9999901-10270533 -o "$out/bins"
  for seed in "${seeds[@]}"; do
    for from in $(missing peaks "$seed"); do side peaks "$from" "$seed"; done
  done
fi
if wants nsp && [ ! -e "$results/nsp.json" ]; then side next_sentences; fi
together

# Tables and curves, of what is there. A setting's runs differ in their seed: NAME-SEED.json.
# table KEY... -- NAME...: of each setting the mean of every key, and its lowest and highest in brackets.
table() {
  local keys=() name key file
  while [ "$1" != -- ]; do keys+=("$1") && shift; done
  shift
  for name in "$@"; do
    for key in "${keys[@]}"; do
      for file in "$results/$name"-[0-9]*.json; do
        [ ! -e "$file" ] || printf '%s\t%s\t%s\n' "$name" "$key" "$(value "$file" "$key")"
      done
    done
  done | awk -F'\t' -v keys="${keys[*]}" '
    { if (!($1 in rows)) { rows[$1]; names[++count] = $1 }
      cell = $1 FS $2; runs[cell]++; sum[cell] += $3
      if (runs[cell] == 1 || $3 < low[cell]) low[cell] = $3
      if (runs[cell] == 1 || $3 > high[cell]) high[cell] = $3 }
    END {
      columns = split(keys, key, " "); line = "| setting | runs |"; rule = "|---|---|"
      for (k = 1; k <= columns; k++) { line = line " " key[k] " |"; rule = rule "---|" }
      print line "\n" rule
      for (i = 1; i <= count; i++) {
        line = "| " names[i] " | " runs[names[i] FS key[1]] " |"
        for (k = 1; k <= columns; k++) {
          cell = names[i] FS key[k]
          line = line sprintf(" %.4f (%.4f to %.4f) |", sum[cell] / runs[cell], low[cell], high[cell])
        }
        print line
      } }'
}
# curves TITLE TOKENS_PER_STEP NAME...: validation loss over what was seen.
curves() {
  local title=$1 scale=$2 name file
  shift 2
  for name in "$@"; do
    for file in "$results/$name"-[0-9]*.valid.tsv; do
      [ ! -e "$file" ] || awk -v group="$name" -v run="$file" -v scale="$scale" 'BEGIN { OFS = "\t" } /^[0-9]/ { print group, run, $1 * scale, $2 }' "$file"
    done
  done | awk -v title="$title" -v x_label="million tokens" -v y_label="validation loss" -f "$root/pipelines/curves.awk"
}
lengths=(length-512 length-1024 length-4096)
patterns=(random-4096 window-4096 window+random-4096 length-4096 full-4096)
summary() {
  printf '## Lengths and patterns\n\n'
  table bits_per_base mlm_accuracy -- "${lengths[@]}" "${patterns[@]}"
  printf '\n## Promoters\n\n'
  table f1 mcc auroc -- promoters-untrained promoters-pretrained
  printf '\n## Peaks\n\n'
  table evaluations.groups.TF.mean_auroc evaluations.groups.TF.median_auroc -- peaks-untrained peaks-pretrained
}
summary | tee "$results/summary.md"
million=$(awk -v tokens=$batch_tokens 'BEGIN { print tokens / 1e6 }')
! wants lengths || curves "Lengths" "$million" "${lengths[@]}" >"$results/lengths.svg"
! wants patterns || curves "Patterns over 4,096 tokens" "$million" "${patterns[@]}" >"$results/patterns.svg"
time_taken
