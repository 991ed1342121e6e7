#!/bin/sh
# A small job with an installed bigbird, for systems that have nothing else: a genome, a vocabulary, a model
# of one layer, four updates, an evaluation; and what a shipped model scores. POSIX sh, and of programs only bigbird and what coreutils has.
#   sh packaging/small_job.sh FOLDER [PROGRAM]     FOLDER is made; PROGRAM: bigbird
set -eu
folder=${1:?the folder to write: sh packaging/small_job.sh FOLDER [PROGRAM]}
program=${2:-bigbird}
mkdir -p "$folder"
cd "$folder"

"$program" --version
"$program" --help >help.txt
"$program" devices -q >devices.tsv
"$program" simulate -o genome --bp 200K --chromosome-count 2 --seed 1 -q
"$program" chunk -f genome/genome.fa.gz -o documents.bed.gz --passes 1 --max-n 0.5 -q
"$program" train-bpe -f genome/genome.fa.gz -d documents.bed.gz -o tokenizer --vocab-size 200 -q
"$program" tokenize -m tokenizer -f genome/genome.fa.gz -d documents.bed.gz -o tokens -q
"$program" pretrain --train tokens -m tokenizer -o run --layers 1 --width 32 --heads 2 --length 64 --block-size 8 \
  --batch 4 --steps 4 --device cpu -q
"$program" evaluate -m run/final --data tokens --samples 16 --device cpu -q >evaluation.json
"$program" demo -o demo --device cpu -q >demo.txt
"$program" man pretrain >pretrain.1
for file in help.txt devices.tsv genome/variants.vcf.gz.tbi tokens.bin run/final/model.safetensors evaluation.json demo.txt demo/effects.svg pretrain.1; do
  [ -s "$file" ] || { echo "error: $folder/$file is missing or empty" >&2 && exit 1; }
done
grep mlm_loss evaluation.json
echo "small job: done"
