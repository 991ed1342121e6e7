#!/usr/bin/env bash
# Left-to-right models side by side, on books and on human DNA: a plain window, Transformer-XL, Compressive Transformer and Adaptive-Span, each
# trained on as many tokens, with as many parameters (1 %) and as many keys of a token (256). What came out is in benchmarks/left-to-right.md.
#   bash pipelines/left_to_right.sh DATA     DATA: a folder with text/lm and human-grch37, as benchmarks/left-to-right.md lists them
# It can be stopped at any time and goes on where it was; a run that is finished is not computed again.
# Environment: OUT (left-to-right), PARTS ("text dna"), MODELS ("window transformer-xl compressive adaptive-span"), SEEDS ("1 2 3"), JOBS (runs side by
# side, one a core), TOKENS (4096k: of a run), BIN (the folder of an installed bigbird).
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"
# shellcheck source=pipelines/resumable.sh
source "$(dirname "${BASH_SOURCE[0]}")/resumable.sh"

data=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is no folder" "benchmarks/left-to-right.md says what it holds"
out=${OUT:-left-to-right}
tokens=${TOKENS:-4096k}
parts=${PARTS:-text dna}
read -ra models <<<"${MODELS:-window transformer-xl compressive adaptive-span}"
read -ra seeds <<<"${SEEDS:-1 2 3}"
side_by_side=${JOBS:-$jobs}
books=$data/text/lm/gutenberg
pieces=$data/human-grch37/grch37.pieces.fa.gz
for file in "$books/84-0.txt.gz" "$pieces"; do
  [ -r "$file" ] || fail "$file cannot be read" "benchmarks/left-to-right.md says where it comes from"
done
program_on_path
mkdir -p "$out/results"
cd "$out"
demonstration_log=$PWD/left-to-right.log
SECONDS=0
export BIGBIRD_DEVICE=${BIGBIRD_DEVICE:-cpu}
export BIGBIRD_THREADS=${BIGBIRD_THREADS:-$((jobs > side_by_side ? jobs / side_by_side : 1))}

# Of books what is between Project Gutenberg's marks, in documents of some 60,000 characters that end with a paragraph.
documents_of() {
  local book
  for book in "$@"; do
    gzip -dc "$book" | awk '
      /\*\*\* ?END OF/ { inside = 0 }
      inside && /^[ \r]*$/ { if (size > 60000) { print ""; size = 0 } next }
      inside { print; size += length($0) + 1 }
      /\*\*\* ?START OF/ { inside = 1 }
      END { print "" }'
  done
}
if wants text; then # Frankenstein is held out
  mapfile -t others < <(find "$books" -name '*.txt.gz' ! -name '84-0.txt.gz' | LC_ALL=C sort)
  once text.train.txt documents_of "${others[@]}"
  once text.test.txt documents_of "$books/84-0.txt.gz"
  made text.tokenizer bigbird text vocabulary -q text.train.txt -o text.tokenizer --vocab-size 400
  for set in train test; do made text.$set.json bigbird text pretrain-data -q text.$set.txt -m text.tokenizer -o text.$set; done
fi
if wants dna; then # a token a base; chr20:1,000,001-2,000,000 is held out
  once dna.fa gzip -dc "$pieces"
  once held-out.bed printf 'chr20:1000001-2000000\t0\t1000000\n'
  made dna.train.bed.gz bigbird chunk -q -f dna.fa --chromosomes all --exclude held-out.bed --max-n 0.2 --strands both -o dna.train.bed.gz
  made dna.test.bed.gz bigbird chunk -q -f dna.fa --chromosomes chr20:1000001-2000000 --passes 1 --max-start 0 -o dna.test.bed.gz
  made dna.tokenizer bigbird train-bpe -q -f dna.fa -d dna.train.bed.gz -o dna.tokenizer --vocab-size 10
  for set in train test; do made dna.$set.json bigbird tokenize -q -m dna.tokenizer -f dna.fa -d dna.$set.bed.gz -o dna.$set; done
fi

# Options of a model. A plain window has segments of 512 tokens, of which a token sees 256.5 on average. The others read segments of 128 and see
# 64.5 of them, and what they remember. The inner width makes up for what a layer has more: the product of distances, C x C.
options_of() {
  case $1 in
    window) echo --attention full --position-embedding rotary --length 512 --batch 4 --intermediate 512 ;;
    transformer-xl) echo --attention transformer-xl --memory 192 --length 128 --batch 16 --intermediate 448 ;;
    compressive) echo --attention compressive --memory 128 --compressed 64 --rate 2 --compression conv --length 128 --batch 16 --intermediate 320 ;;
    adaptive-span) echo --attention adaptive-span --max-span 256 --length 128 --batch 16 --intermediate 512 ;;
    *) fail "$1 is no model of this study" "window, transformer-xl, compressive or adaptive-span" ;;
  esac
}
# measured PART MODEL SEED: results/PART-MODEL-SEED.json
measured() {
  local part=$1 model=$2 seed=$3 steps=$(($(count "$tokens") / 2048)) options name=$1-$2-$3
  [ ! -e "results/$name.json" ] || return 0
  read -ra options <<<"$(options_of "$model")"
  [ -e "$name/final" ] ||
    run bigbird pretrain -q --train "$part.train" -m "$part.tokenizer" -o "$name" --objective clm --layers 4 --width 128 --heads 4 \
      --steps "$steps" --lr 2e-3 --optimizer torch --schedule huggingface --clip-norm 1 --dropout 0 --attention-dropout 0 \
      --save-every $((steps / 4 > 0 ? steps / 4 : 1)) --keep-last 1 --keep-best 0 --final last --seed "$seed" --resume "${options[@]}"
  once "results/$name.json" bigbird evaluate -q -m "$name/final" --data "$part.test" --baseline-from "$part.train" --no-provenance \
    $([ "$model" = window ] || echo --length 128)
}
for part in $parts; do
  for seed in "${seeds[@]}"; do
    for model in "${models[@]}"; do side measured "$part" "$model" "$seed"; done
  done
done
together

# A row a model: bits of each seed (of a character, of a base), their mean; and the n-grams of the first seed.
for part in $parts; do
  for model in "${models[@]}"; do
    for seed in "${seeds[@]}"; do
      [ ! -e "results/$part-$model-$seed.json" ] || awk -v part="$part" -v model="$model" -v seed="$seed" -F'[:,]' '
        /"bits_per_(character|base)":/ && !found { printf "%s\t%s\t%s\t%.4f\n", part, model, seed, $2; found = 1 }' "results/$part-$model-$seed.json"
    done
  done
done | tee results/table.tsv
