#!/usr/bin/env bash
# From a FASTA to a scored VCF on human sequence: every command of docs/tutorial.md, one by one, with its
# seconds.
#   bash pipelines/tutorial.sh DATA [OUT]   DATA: the folder that pipelines/tutorial_data.sh made, or pieces
#                                           that it can begin with; OUT (tutorial-output): where it all goes
# Environment: BIN (the folder of an installed bigbird, to use that, build nothing); BIGBIRD_THREADS=1 where
# other work shares the machine.
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"

data=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is no folder" "bash pipelines/tutorial_data.sh $1"
out=${2:-tutorial-output}
case $out in /*) ;; *) out=$PWD/$out ;; esac
command -v bcftools >/dev/null || fail "bcftools was not found" "apt-get install bcftools"

# The commands, letter by letter those of docs/tutorial.md (tests/policy holds the two together).
steps() {
  cat <<'STEPS'
bigbird info data/genome.fa.gz
printf 'chr20\t1000000\t2000000\n' > held_out.bed
printf 'chr20\t0\t1000000\nchr20\t2000000\t63025520\n' > elsewhere.bed
bigbird chunk -f data/genome.fa.gz -o train.bed.gz --chromosomes chr17,chr20,chr22 --exclude held_out.bed \
  --passes 2 --max-n 0.2 --reverse-complement
bigbird chunk -f data/genome.fa.gz -o valid.bed.gz --chromosomes chr20 --exclude elsewhere.bed --passes 1 --max-n 0.2
bigbird train-bpe -f data/genome.fa.gz -d train.bed.gz -o tokenizer --vocab-size 1000 --sample-bp 5M --trainer apart
bigbird tokenize -m tokenizer -f data/genome.fa.gz -d train.bed.gz -o train
bigbird tokenize -m tokenizer -f data/genome.fa.gz -d valid.bed.gz -o valid
bigbird pretrain --train train --valid valid -m tokenizer -o run --layers 2 --width 128 --heads 4 --length 128 \
  --block-size 8 --random-mode hf-train --batch 32 --steps 800 --lr 1e-3 --warmup 80 --optimizer torch \
  --schedule huggingface --dropout 0 --no-nsp --eval-every 200
bigbird evaluate -m run/final --data valid --baseline-from train --no-nsp > pretrained.json
bigbird chromatin build --peaks data/peaks.tsv -f data/genome.fa.gz -o chromatin --chromosomes chr17,chr20,chr22 \
  --keep all --max-n 0.1 --window 400 --test chr20:1000001-2000000 --valid chr20:9999901-10270533
bigbird chromatin finetune --data chromatin --init run/final -o chromatin-run --steps 600 --batch 32 --lr 3e-4 \
  --optimizer torch --schedule huggingface --dropout 0 --average 0.99 --valid-bins 0 --eval-every 100
bigbird chromatin evaluate -m chromatin-run/final --data chromatin -o chromatin.json --profiles-tsv profiles.tsv \
  --svg curves.svg --plot 0,9,15
bigbird variants background -m chromatin-run/final -f data/genome.fa.gz data/variants.vcf.gz \
  -r chr20:1500001-1550000 -o background.safetensors
bigbird variants -m chromatin-run/final -f data/genome.fa.gz data/variants.vcf.gz -r chr20:1000001-1100000 \
  --background background.safetensors --profiles 0,6,9 -O z -o scored.vcf.gz
bcftools index scored.vcf.gz
bcftools view -H scored.vcf.gz | sed -n 1,2p
bcftools query -i 'BB_E>=0' -f '%POS\t%REF\t%ALT\t%AF\t%BB_PROFILE\t%BB_DIFF\t%BB_LFC\t%BB_E\n' scored.vcf.gz | sort -k8,8g -k1,1n | sed -n 1,8p
bigbird ism -m chromatin-run/final -f data/genome.fa.gz -r chr20:1031807-1031867 --profiles 6 --value lfc -o effects.tsv --svg effects.svg
bigbird report run chromatin-run -o report.html
STEPS
}

begin_demonstration "$out"
cd "$out"
if [ -e "$data/genome.fa.gz" ]; then
  ln -s "$data" data
else
  [ -d "$data/human-grch37" ] || fail "there is no genome.fa.gz in $data" "bash pipelines/tutorial_data.sh $data"
  bash "$root/pipelines/tutorial_data.sh" data "$data"
fi

: >times.tsv
command=
while IFS= read -r line; do
  command+=$line
  case $line in *\\) command+=$'\n' && continue ;; esac
  printf '\n$ %s\n' "$command" | tee -a "$demonstration_log" >&2
  began=$(date +%s%N)
  eval "$command"
  seconds=$(LC_ALL=C awk -v from="$began" -v to="$(date +%s%N)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }')
  printf '%s\t%s\n' "$seconds" "${command%%$'\n'*}" >>times.tsv
  command=
done < <(steps)

echo
{
  echo "Seconds of each step"
  awk -F'\t' '{ printf "  %7.1f  %s\n", $1, substr($2, 1, 90) }' times.tsv
  echo "Results on chr20:1,000,001-2,000,000, which nothing was trained on"
  row "bits per base of masked tokens" "$(number pretrained.json bits_per_base)"
  row "the same by token bigrams" "$(number pretrained.json baseline.bigram.bits_per_base)"
  row "16 tracks: median AUROC, one strand" "$(number chromatin.json evaluations.groups.all.median_auroc)"
  row "alleles scored" "$(value scored.vcf.gz.summary.json scored)"
  time_taken
} | tee summary.txt
