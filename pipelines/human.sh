#!/usr/bin/env bash
# The recipe of pipelines/yeast.sh on 9.5 Mb of human sequence: an encoder, 109 tracks, promoters, a scan, and five folds of TATA promoters.
#   bash pipelines/human.sh DATA     DATA: the folder of pipelines/cpu_study.sh (benchmarks/study.md says what it holds)
# It can be stopped at any time and goes on where it was. chr20:1,000,001-2,000,000 is held out of everything; chr20:9,999,901-10,270,533
# chooses (best states, thresholds, penalties).
# Environment: OUT (human), PARTS ("data encoder tracks promoters tata ship folds peers report"), SEED (1), STEPS (1: the fraction of every run's updates; 0.01
# tries the commands), FOLDS ("1 2 3 4 5"), PEERS (a python with torch, for tests/peers/yeast_peers.py), BIN (the folder of an installed bigbird).
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

data=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is no folder" "benchmarks/study.md says what it holds"
out=${OUT:-human}
parts=${PARTS:-data encoder tracks promoters tata ship folds peers report}
seed=${SEED:-1}
pieces=$data/human-grch37
tata=$data/promoters/DeePromoter_human_TATA_300bp.txt.gz
peaks=$data/peaks-hg19/dream_tf.inside_grch37_pieces.narrowPeak
for file in "$pieces"/{grch37.pieces.fa.gz,grch37.sparse.fa.gz,epdnew.inside.bed,gencode19_tss.inside.bed} \
  "$data/human-chm13-mhc/chm13_mhc.fa.gz" "$tata" "$peaks"; do
  [ -r "$file" ] || fail "$file cannot be read" "benchmarks/study.md says where each file comes from"
done
program_on_path
mkdir -p "$out/results"
cd "$out"
demonstration_log=$PWD/human.log
SECONDS=0
export BIGBIRD_DEVICE=${BIGBIRD_DEVICE:-cpu}

held_out=chr20:1000001-2000000
chooses=chr20:9999901-10270533
piece=chr20:1280001-1330000 # of the held-out side: what bigbird demo looks at
# Windows and peaks are in the coordinates of GRCh37, where all but the pieces is N; documents are of the pieces and of the MHC of CHM13, whose
# records are the regions.
genome=genome.fa.gz
for suffix in "" .fai .gzi; do ln -sfn "$pieces/grch37.sparse.fa.gz$suffix" "$genome$suffix"; done

kept() { printf '%s\t0\t%d\n' "$held_out" 1000000 "$chooses" 270633; } # no document is of these

if wants data; then
  once human.fa gzip -dc "$pieces/grch37.pieces.fa.gz" "$data/human-chm13-mhc/chm13_mhc.fa.gz"
  once kept.bed kept
  made learn.bed.gz bigbird chunk -q -f human.fa --chromosomes all --exclude kept.bed --max-n 0.2 --strands both -o learn.bed.gz
  made once.bed.gz bigbird chunk -q -f human.fa --chromosomes all --exclude kept.bed --max-n 0.2 --strands both --passes 1 --max-start 0 -o once.bed.gz
  made choose.bed.gz bigbird chunk -q -f human.fa --chromosomes "$chooses" --passes 1 --max-start 0 -o choose.bed.gz
  made test.bed.gz bigbird chunk -q -f human.fa --chromosomes "$held_out" --passes 1 --max-start 0 -o test.bed.gz
  made bases bigbird train-bpe -q -f human.fa -d learn.bed.gz -o bases --vocab-size 10
  for documents in learn once choose test; do
    made $documents.json bigbird tokenize -q -m bases -f human.fa -d $documents.bed.gz -o $documents
  done
  once peaks.bed cut -f1-4 "$peaks"
  once peaks.tsv tracks_of peaks.bed TF
  made bins-1000 bigbird chromatin build -q --peaks peaks.tsv -f "$genome" --valid "$chooses" --test "$held_out" --window 1000 --keep all \
    --max-n 0.1 -o bins-1000
  # A place in both lists stands once.
  once tss.bed sort -k1,1 -k2,2n -k6,6 -u "$pieces/epdnew.inside.bed" "$pieces/gencode19_tss.inside.bed"
  for window in "300 249 51" "2000 1000 1000"; do
    read -r bases left right <<<"$window"
    made "promoters-$bases" bigbird promoter build -q --tss tss.bed -f "$genome" --left "$left" --right "$right" --negatives genomic:10 \
      --valid "$chooses" --test "$held_out" -o "promoters-$bases"
  done
fi

if wants encoder; then
  pretrained encoder "$seed" 8000 --attention full --length 1024 --batch 16
  once results/encoder.json bigbird evaluate -q -m encoder/final --data test --masks all --no-nsp --length 1024 --baseline-from once --baseline-tokens all
fi
if wants tracks; then
  profiled shared "$seed" 1000 2000 --batch 4 --init encoder/final --lr 3e-4 --bins-per-window 16 --pool middle:200
  profiled tracks "$seed" 1000 300 --batch 64 --init shared/final --lr 3e-4
  once results/tracks.json bigbird chromatin evaluate -q -m tracks/final --data bins-1000 --precision bf16 --baseline kmers --baseline-samples all \
    --table tracks.profiles.tsv
fi
if wants promoters; then
  promoter promoters-run-300 "$seed" 300 600 --batch 32 --init tracks/final --fresh-head --pool mean
  promoter promoters-run-2000 "$seed" 2000 600 --batch 16 --init tracks/final --fresh-head --pool middle:200
  for bases in 300 2000; do
    once results/promoters-$bases.json bigbird promoter evaluate -q -m promoters-run-$bases/final --data promoters-$bases/test.tsv --strands + --precision bf16 \
      --baseline-from promoters-$bases
    [ -e results/scan-$bases.json ] || run bigbird promoter scan -q -m promoters-run-$bases/final -f "$genome" -r "$held_out" --step 100 \
      -o scan-$bases.bw --calls scan-$bases.bed --tss tss.bed --within 500 --precision bf16 --summary results/scan-$bases.json --force \
      --baseline-from promoters-$bases
  done
fi

# Promoters against the same with 12 of 20 blocks replaced (tests/peers/promoter_folds.py): first windows of the genome, then each fold.
peers=$root/tests/peers
against_altered=(promoter finetune --fresh-negatives random --batch 32 --average 0.99 --dropout 0)
altered_windows() { # altered_windows RUN MODEL [OPTION...]
  local name=$1 init=$2
  shift 2
  made windows python3 "$peers/promoter_windows.py" human.fa "$tata" --held-out "$held_out" -o windows
  trained "$name" "${against_altered[@]}" --train windows/windows.fa --valid windows/valid.tsv --init "$init/final" --lr 3e-4 \
    --steps "$(updates 2200)" --eval-every "$(every 2200)" --seed "$seed" "$@"
}
folds_of() { # folds_of FOLDER MODEL FOLD,FOLD...
  run python3 "$peers/promoter_folds.py" "$tata" --init "$2/final" --work "$1" --only "$3" --program "$(command -v bigbird)" \
    -- --epochs 4 --eval-every 128 --lr 6e-4 --layer-decay 0.6 "${against_altered[@]:2}" "${optimizer[@]:0:8}" -q
}
# The model of TATA promoters that ships: a row for each base, as blocks of 15 bases want it (docs/promoters.md, "Training on few promoters").
# It never sees the second fold. models/human/README.md says what had been seen of that when the recipe was fixed.
if wants tata; then
  trained bases-encoder pretrain --train learn --valid choose -m bases --layers 3 --width 128 --heads 4 --length 304 --block-size 16 \
    --attention full --position-embedding rotary --batch 32 --steps "$(updates 1200)" --lr 1e-3 --dropout 0 --attention-dropout 0 --no-nsp \
    --eval-every "$(every 1200)" --seed "$seed"
  altered_windows bases-natural bases-encoder
  folds_of tata bases-natural 2
fi

# What models/human is but for its page: the tracks in bf16, which chr20:9,999,901-10,270,533 calibrates, the model of TATA promoters, which
# its own validation side does, and what bigbird demo reads.
# Variants are those of 1000 Genomes that one in a hundred has; effects for E-values are of another part of the same held-out megabase.
ship() { # ship FOLDER
  local folder=$1 common=common.vcf.gz contig=${piece%:*} range=${piece#*:} program
  for program in samtools bgzip bcftools; do
    command -v $program >/dev/null || fail "$program was not found" "apt-get install samtools tabix bcftools"
  done
  rm -rf "$folder"
  mkdir -p "$folder/demo"
  run bigbird convert -q tracks/final "$folder/tracks" --dtype bf16
  run bigbird chromatin calibrate -q -m "$folder/tracks" --data bins-1000 --measure-split valid -o calibration-tracks.tsv --force
  run bigbird convert -q tata/fold2/run/final "$folder/tata-promoters" --dtype bf16
  # The file of promoters tells no places: 249 bases before the start site, and 51 from it on.
  printf '{"task": "promoter", "length": 300, "target_offset": 249, "target_length": 1}\n' >"$folder/tata-promoters/window.json"
  run bigbird promoter calibrate -q -m "$folder/tata-promoters" --valid tata/fold2/valid.tsv -o calibration-tata.tsv --force
  bcftools view --no-version --drop-genotypes --include 'AF>=0.01' "$data/vcf-grch37/kgp3_chr20_1M-2M.b37.vcf.gz" |
    sed -e 's/^20\t/chr20\t/' -e 's/^##contig=<ID=20\b/##contig=<ID=chr20/' | bcftools annotate --no-version --remove 'INFO,^INFO/AF' --output-type z --output $common
  bcftools index --tbi --force $common
  run bigbird variants background -q -m "$folder/tracks" -f "$genome" $common -r chr20:1500001-2000000 --max-records 500 -o "$folder/background.safetensors"
  # The piece stands in its place, a window wider on each side, with N around it.
  samtools faidx "$genome" "$contig" | awk -v from="$((${range%-*} - 1000))" -v to="$((${range#*-} + 1000))" '
    /^>/ { print; next }
    { for (i = 1; i <= length($0); ++i) { ++at; printf "%s", (at >= from && at <= to ? substr($0, i, 1) : "N") } print "" }' |
    bgzip >"$folder/demo/genome.fa.gz"
  samtools faidx "$folder/demo/genome.fa.gz"
  # Without lengths of contigs: the genome beside it ends where the pieces end.
  bcftools view --no-version --regions "$piece" $common | sed -e '/^##contig=/d' -e "s/^#CHROM/##contig=<ID=$contig>\n#CHROM/" | bgzip >"$folder/demo/variants.vcf.gz"
}
if wants ship; then ship human-model; fi

if wants folds; then
  altered_windows natural encoder --pool mean
  folds=$(tr ' ' , <<<"${FOLDS:-1 2 3 4 5}")
  folds_of folds natural "$folds"
  [ ! -e bases-natural/final ] || folds_of tata bases-natural "$folds"
fi

if wants peers && [ -n "${PEERS:-}" ]; then
  [ -e deepsea.npy ] || run "$PEERS" "$root/tests/peers/yeast_peers.py" tracks bins-1000 "$genome" -o deepsea.npy --filters 64,96,192 --minutes "${MINUTES:-10}" --seed "$seed"
  once results/deepsea.json bigbird chromatin evaluate -q --predictions deepsea.npy --data bins-1000
fi

if wants report; then
  for file in results/*.json; do
    echo "$file"
    for key in bits_per_base baseline.markov.best_bits_per_base evaluations.{name,groups.all.median_auroc,groups.all.median_auprc} \
      auroc auprc mcc baselines.kmers.auroc baselines.kmers.auprc baselines.kmers.mcc \
      evaluation.ranking.{model,kmers,gc}.{average_precision,auroc,precision_at_recall_50}; do
      numbers=() # of tracks those of one strand, of both, and of what costs nothing
      while number=$(value "$file" "$key" $((${#numbers[@]} + 1))) && [ -n "$number" ]; do numbers+=("$number"); done
      [ ${#numbers[@]} = 0 ] || printf '  %s\t%s\n' "$key" "${numbers[*]}"
    done
  done
  time_taken
fi
