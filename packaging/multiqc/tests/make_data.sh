#!/bin/sh
# Small outputs of the program, as the tests read them: two summaries of variants, tables of three training runs, JSON of
# a scan and of evaluations. tests/data was made by it.
#   sh make_data.sh FOLDER [PROGRAM]     FOLDER is made; PROGRAM: bigbird
set -eu
folder=${1:?the folder to write: sh make_data.sh FOLDER [PROGRAM]}
program=${2:-bigbird}
models=$(cd "$(dirname "$0")/../../../models" && pwd)
mkdir "$folder"
out=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export BIGBIRD_QUIET=1 BIGBIRD_THREADS=1 BIGBIRD_DEVICE=cpu BIGBIRD_MODELS="$models"
# Copies with short names: paths stand in what is written. A tenth of the REFs is made wrong, to be skipped.
cp "$models/yeast-r64/demo/genome.fa.gz" .
gzip -dc "$models/yeast-r64/demo/strain.vcf.gz" | awk 'BEGIN { FS = OFS = "\t" }
  /^#/ { print; next } ++seen <= 60 { if (seen % 10 == 0) $4 = $4 == "A" ? "C" : "A"; if ($4 != $5) print }' >strain.vcf

"$program" variants -m yeast-r64/tracks -f genome.fa.gz strain.vcf --profiles 0,1 -o "$out/tracks.vcf.gz"
"$program" variants -m yeast-r64/promoters -f genome.fa.gz strain.vcf -o "$out/promoters.vcf.gz"
rm "$out"/*.vcf.gz "$out"/*.skipped.tsv
"$program" promoter scan -m yeast-r64/promoters -f genome.fa.gz --step 2000 -o scan.bedgraph --calls calls.bed
cp scan.bedgraph.summary.json "$out/scan.summary.json"

"$program" simulate -o genome --bp 400K --chromosomes 3 --seed 1
"$program" chunk -f genome/genome.fa.gz -o documents.bed.gz --passes 1 --max-n 0.5
"$program" train-bpe -f genome/genome.fa.gz -d documents.bed.gz -o tokenizer --vocab-size 200
"$program" tokenize -m tokenizer -f genome/genome.fa.gz -d documents.bed.gz -o tokens
"$program" pretrain --train tokens --valid tokens -m tokenizer -o encoder --layers 1 --width 32 --heads 2 --length 64 \
  --max-positions 512 --block-size 8 --batch 4 --steps 8 --eval-every 4 --eval-samples 16
"$program" promoter build --tss genome/promoters.tss.bed -f genome/genome.fa.gz -o promoters --valid chr2 --test chr3 \
  --left 100 --right 100
"$program" promoter finetune --data promoters --init encoder/final -o promoter-run --steps 4 --batch 4 --eval-every 2
"$program" promoter evaluate -m promoter-run/final --data promoters/test.tsv -o "$out/promoters.evaluation.json"
"$program" chromatin build --peaks genome/peaks/peaks.tsv -f genome/genome.fa.gz --valid chr2 --test chr3 --window 400 -o chromatin
"$program" chromatin finetune --data chromatin --init encoder/final -o chromatin-run --steps 4 --batch 4 --eval-every 2
"$program" chromatin evaluate -m chromatin-run/final --data chromatin --baseline gc -o "$out/chromatin.evaluation.json"
for run in encoder promoter-run chromatin-run; do
  mkdir "$out/$run"
  cp "$run/metrics.tsv" "$run/valid.tsv" "$out/$run/"
done
