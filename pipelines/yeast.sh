#!/usr/bin/env bash
# A whole genome on two cores: baker's yeast, from its FASTA to measured effects of variants.
#   bash pipelines/yeast.sh DATA     DATA: the folder that pipelines/yeast_data.sh makes
# It can be stopped at any time and goes on where it was: a command whose output is there is not run again. chrII, chrVII, chrXII
# and chrXV are held out of everything; chrX chooses (best states, thresholds, penalties).
# docs/yeast.md goes through it. Part ship makes what models/yeast-r64 is, of the first seed.
# Environment: OUT (yeast), PARTS ("data models variants ship contexts scratch patterns peers report"), SEEDS ("1 2 3"), JOBS (runs side by
# side, one a core), STEPS (1: the fraction of every run's updates; 0.01 tries the commands), PEERS (a python with torch, for tests/peers/yeast_peers.py),
# DEEPROMOTER (a checkout of github.com/egochao/DeePromoter), BIN (the folder of an installed bigbird).
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

data=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is no folder" "bash pipelines/yeast_data.sh $1"
out=${OUT:-yeast}
parts=${PARTS:-data models variants ship contexts scratch patterns peers report}
read -ra seeds <<<"${SEEDS:-1 2 3}"
side_by_side=${JOBS:-$jobs}
for file in S288C_R64-1-1.fa.gz tss_EPDnew_002.bed.gz peaks_rossi2021_chexmix.bed.gz variants_BYxRM.vcf.gz; do
  [ -r "$data/$file" ] || fail "$data/$file cannot be read" "bash pipelines/yeast_data.sh $data"
done
program_on_path
mkdir -p "$out/results"
cd "$out"
demonstration_log=$PWD/yeast.log
SECONDS=0
export BIGBIRD_DEVICE=${BIGBIRD_DEVICE:-cpu}
export BIGBIRD_THREADS=${BIGBIRD_THREADS:-$((jobs > side_by_side ? jobs / side_by_side : 1))}

genome=genome.fa.gz
tss=$data/tss_EPDnew_002.bed.gz
strain=$data/variants_BYxRM.vcf.gz
measured=$data/mpra_BYxRM_promoter_variants.tsv.gz # not everybody has it
held_out=chrII,chrVII,chrXII,chrXV
chooses=chrX
learns=chrI,chrIII,chrIV,chrV,chrVI,chrVIII,chrIX,chrXI,chrXIII,chrXIV,chrXVI
scanned=chrXV
piece=chrXV:150001-200000 # whose variants docs/yeast.md and bigbird demo look at
for suffix in "" .fai .gzi; do ln -sfn "$data/S288C_R64-1-1.fa.gz$suffix" "$genome$suffix"; done

# Points of a base, 100 bases wider on each side.
widened() { gzip -dc "$data/peaks_rossi2021_chexmix.bed.gz" | awk -v OFS='\t' '{ print $1, ($2 > 100 ? $2 - 100 : 0), $3 + 100, $4 }'; }

binned() { # binned WINDOW
  made "bins-$1" bigbird chromatin build -q --peaks peaks.tsv -f "$genome" --chromosomes "$learns,$chooses,$held_out" --valid "$chooses" \
    --test "$held_out" --window "$1" --keep all --clip -o "bins-$1"
}

if wants data; then
  # What the held-out chromosomes share with the rest.
  once copies.bed bigbird copies -q -f "$genome" --of "$held_out" --in "$learns,$chooses"
  # A token a base. Documents begin elsewhere in each of ten passes; Markov models count one.
  made learn.bed.gz bigbird chunk -q -f "$genome" --chromosomes "$learns" --strands both -o learn.bed.gz
  made once.bed.gz bigbird chunk -q -f "$genome" --chromosomes "$learns" --strands both --passes 1 --max-start 0 -o once.bed.gz
  made choose.bed.gz bigbird chunk -q -f "$genome" --chromosomes "$chooses" --passes 1 --max-start 0 -o choose.bed.gz
  made test.bed.gz bigbird chunk -q -f "$genome" --chromosomes "$held_out" --exclude copies.bed --passes 1 --max-start 0 -o test.bed.gz
  made bases bigbird train-bpe -q -f "$genome" -d learn.bed.gz -o bases --vocab-size 10
  for documents in learn once choose test; do
    made $documents.json bigbird tokenize -q -m bases -f "$genome" -d $documents.bed.gz -o $documents
  done
  once peaks.bed widened
  once peaks.tsv tracks_of peaks.bed ChIP-exo
  binned 1000
  # Negatives 50 bases from a TSS teach where it is, and not only that it is near.
  for window in "300 200 100" "2000 1000 1000"; do
    read -r bases left right <<<"$window"
    made "promoters-$bases" bigbird promoter build -q --tss "$tss" -f "$genome" --left "$left" --right "$right" --negatives genomic:10 \
      --min-distance 50 --valid "$chooses" --test "$held_out" -o "promoters-$bases"
  done
fi

# What a model is worth on the held-out chromosomes: results/NAME.json. What costs nothing stands beside the first seed's.
beside() { # beside SEED OPTION...: the options, of the first seed
  local seed=$1
  shift
  [ "$seed" != "${seeds[0]}" ] || printf '%s\n' "$@"
}
measured_bases() { # measured_bases NAME LENGTH [OPTION...]
  local name=$1 length=$2
  shift 2
  once "results/$name.json" bigbird evaluate -q -m "$name/final" --data test --masks all --no-nsp --length "$length" "$@"
}
measured_tracks() { # measured_tracks NAME WINDOW [OPTION...]
  local name=$1 window=$2
  shift 2
  once "results/$name.json" bigbird chromatin evaluate -q -m "$name/final" --data "bins-$window" --exclude copies.bed --precision bf16 \
    --table "$name.profiles.tsv" "$@"
}
measured_promoters() { # measured_promoters NAME BASES [OPTION...]
  local name=$1 bases=$2
  shift 2
  once "results/$name.json" bigbird promoter evaluate -q -m "$name/final" --data "promoters-$bases/test.tsv" --strands + --exclude copies.bed \
    --precision bf16 "$@"
}
scan_of() { # scan_of NAME MODEL [OPTION...]
  local name=$1 model=$2
  shift 2
  [ -e "results/$name.json" ] || run bigbird promoter scan -q -m "$model/final" -f "$genome" -r "$scanned" --step 25 -o "$name.bw" --calls "$name.bed" \
    --tss "$tss" --within 100 --merge-distance 200 --exclude copies.bed --precision bf16 --summary "results/$name.json" --force "$@"
}

models_of() { # models_of SEED
  local seed=$1 more bases
  pretrained "encoder-$seed" "$seed" 12000 --attention full --length 1024 --batch 16
  mapfile -t more < <(beside "$seed" --baseline-from once --baseline-tokens all)
  measured_bases "encoder-$seed" 1024 "${more[@]}"
  # Sixteen bins share a window first: a quarter of the work, and each bin sees more than its 1,000 bases. Then every bin its own.
  profiled "shared-$seed" "$seed" 1000 6600 --batch 4 --init "encoder-$seed/final" --lr 3e-4 --bins-per-window 16 --pool middle:200
  profiled "tracks-$seed" "$seed" 1000 900 --batch 64 --init "shared-$seed/final" --lr 3e-4
  mapfile -t more < <(beside "$seed" --baseline kmers --baseline-samples all --svg curves.svg --plot 306)
  measured_tracks "tracks-$seed" 1000 "${more[@]}"
  # Promoters begin with the tracks as they ship, so that the models that ship are enough to make them again.
  made "tracks-$seed/bf16" bigbird convert -q "tracks-$seed/final" "tracks-$seed/bf16" --dtype bf16
  promoter "promoters-300-$seed" "$seed" 300 2000 --batch 32 --init "tracks-$seed/bf16" --fresh-head --pool mean
  promoter "promoters-2000-$seed" "$seed" 2000 2000 --batch 16 --init "tracks-$seed/bf16" --fresh-head --pool middle:200
  for bases in 300 2000; do
    mapfile -t more < <(beside "$seed" --baseline-from "promoters-$bases")
    measured_promoters "promoters-$bases-$seed" $bases "${more[@]}"
    scan_of "scan-$bases-$seed" "promoters-$bases-$seed" "${more[@]}"
  done
}
# What the variants of the strain do, and how that goes with what was measured of those in promoters.
alleles() { gzip -dc "$measured" | awk -F'\t' -v OFS='\t' 'NR > 1 && !seen[$1, $2, $3, $4]++ { print $1, $2, ".", $3, $4 }'; }
against_measured() { # against_measured TABLE [OPTION...]: results/TABLE
  local table=$1
  shift
  once "results/$table" bigbird variants evaluate -q "$table" --effects "$measured" --effects-column logFC_RM_vs_BY --effects-where BY_is_ref=1 \
    --significance-column FDR "$@"
}
variants_of() { # variants_of SEED
  local seed=$1 model
  made "background-$seed.safetensors" bigbird variants background -q -m "tracks-$seed/final" -f "$genome" "$strain" -r chrIII \
    -o "background-$seed.safetensors"
  made "strain-$seed.vcf.gz" bigbird variants -q -m "tracks-$seed/final" -f "$genome" "$strain" -r "$piece" \
    --background "background-$seed.safetensors" -o "strain-$seed.vcf.gz"
  [ -r "$measured" ] || return 0
  for model in tracks promoters-300 promoters-2000; do
    made "measured-$model-$seed.tsv" bigbird variants -q -m "$model-$seed/final" -f "$genome" measured.variants --strands both \
      -o "measured-$model-$seed.tsv"
    against_measured "measured-$model-$seed.tsv"
  done
}
# Does context help? 900 updates more of the tracks as they ship, with bins that see 1,000, 4,000 and 8,000 bases: as many bins an
# update, in shared windows where they are long.
contexts_of() { # contexts_of SEED
  local seed=$1 window
  made "tracks-$seed/bf16" bigbird convert -q "tracks-$seed/final" "tracks-$seed/bf16" --dtype bf16
  profiled "tracks-1000-$seed" "$seed" 1000 900 --batch 64 --init "tracks-$seed/bf16" --lr 3e-4
  profiled "tracks-4000-$seed" "$seed" 4000 900 --batch 16 --bins-per-window 4 --init "tracks-$seed/bf16" --lr 3e-4
  profiled "tracks-8000-$seed" "$seed" 8000 900 --batch 8 --bins-per-window 8 --init "tracks-$seed/bf16" --lr 3e-4
  for window in 1000 4000 8000; do measured_tracks "tracks-$window-$seed" $window; done
}
# What pretraining is worth: the same from random weights; and promoters from the encoder, without the tracks.
scratch_of() { # scratch_of SEED
  local seed=$1
  rate=1e-12 pretrained "untrained-$seed" "$seed" 1 --attention full --length 1024 --batch 1
  profiled "shared-scratch-$seed" "$seed" 1000 6600 --batch 4 --init "untrained-$seed/final" --lr 3e-4 --bins-per-window 16 --pool middle:200
  profiled "tracks-scratch-$seed" "$seed" 1000 900 --batch 64 --init "shared-scratch-$seed/final" --lr 3e-4
  measured_tracks "tracks-scratch-$seed" 1000
  promoter "promoters-scratch-$seed" "$seed" 300 2000 --batch 32 --init "untrained-$seed/final" --pool mean
  promoter "promoters-encoder-$seed" "$seed" 300 2000 --batch 32 --init "encoder-$seed/final" --pool mean
  measured_promoters "promoters-scratch-$seed" 300
  measured_promoters "promoters-encoder-$seed" 300
}
# Patterns at 4,096 bases and lengths with full attention: 8.2 million bases each. After the stem 4,096 bases are 512 tokens, which in
# google mode are full attention whatever the pattern, and with blocks of 64 hardly less in any: blocks of 16, in the other mode.
patterns_of() { # patterns_of SEED
  local seed=$1 pattern length blocks
  for pattern in full bigbird window random window+random; do
    blocks=(--block-size 16 --random-mode hf-train)
    [ $pattern != full ] || blocks=() # the same in any blocks, and fastest in large ones
    average=0.99 pretrained "pattern-$pattern-$seed" "$seed" 500 --attention "$pattern" --length 4096 --batch 4 ${blocks[@]+"${blocks[@]}"}
    measured_bases "pattern-$pattern-$seed" 4096
  done
  for length in 512 1024; do
    average=0.99 pretrained "length-$length-$seed" "$seed" 500 --attention full --length $length --batch $((16384 / length))
    measured_bases "length-$length-$seed" $length
  done
}
for part in models variants contexts scratch patterns; do
  wants $part || continue
  if [ $part = contexts ]; then binned 4000 && binned 8000; fi
  if [ $part = variants ] && [ -r "$measured" ]; then once measured.variants alleles; fi
  for seed in "${seeds[@]}"; do side "${part}_of" "$seed"; done
  together
done

# What models/yeast-r64 is but for its page: the first seed's models in bf16, which chrX calibrates, and what bigbird demo reads.
ship() { # ship FOLDER SEED
  local folder=$1 seed=$2 contig=${piece%:*} range=${piece#*:} model program
  for program in samtools bgzip bcftools; do
    command -v $program >/dev/null || fail "$program was not found" "apt-get install samtools tabix bcftools"
  done
  rm -rf "$folder"
  mkdir -p "$folder/demo"
  for model in encoder tracks promoters; do
    run bigbird convert -q "${model/promoters/promoters-2000}-$seed/final" "$folder/$model" --dtype bf16
  done
  run bigbird chromatin calibrate -q -m "$folder/tracks" --data bins-1000 --measure-split valid -o calibration-tracks.tsv --force
  run bigbird promoter calibrate -q -m "$folder/promoters" --data promoters-2000 -o calibration-promoters.tsv --force
  run bigbird variants background -q -m "$folder/tracks" -f "$genome" "$strain" -r chrIII --max-records 70 -o "$folder/background.safetensors"
  # The piece stands in its place, a window wider on each side, with N around it.
  samtools faidx "$genome" "$contig" | awk -v from="$((${range%-*} - 1000))" -v to="$((${range#*-} + 1000))" '
    /^>/ { print; next }
    { for (i = 1; i <= length($0); ++i) { ++at; printf "%s", (at >= from && at <= to ? substr($0, i, 1) : "N") } print "" }' |
    bgzip >"$folder/demo/genome.fa.gz"
  samtools faidx "$folder/demo/genome.fa.gz"
  bcftools view --no-version --drop-genotypes --regions "$piece" --output-type z "$strain" >"$folder/demo/strain.vcf.gz"
}
if wants ship; then ship yeast-r64 "${seeds[0]}"; fi

# Networks that a biologist would train, on the same files.
peers=$root/tests/peers/yeast_peers.py
peer_promoters() { # peer_promoters MODEL BASES SEED
  local name=$1-$2-$3 left=200 right=100 more=()
  [ "$2" = 300 ] || { left=1000 && right=1000; }
  [ "$1" != deepromoter ] || more=(--checkout "$DEEPROMOTER")
  [ -e "$name.bedgraph" ] || run "$PEERS" "$peers" promoters "promoters-$2" -o "$name.tsv" --model "$1" --minutes "$(minutes 10)" --seed "$3" "${more[@]}" \
    --track "$name.bedgraph" --genome "$genome" --contigs "$scanned" --left $left --right $right --step 25
  once "results/$name.json" bigbird promoter evaluate -q --predictions "$name.tsv" --exclude copies.bed
  once "results/scan-$name.json" "$PEERS" "$peers" rank "$name.bedgraph" --tss "$tss" --exclude copies.bed
}
minutes() { awk -v n="$1" -v of="${STEPS:-1}" 'BEGIN { n *= of; print n < 0.05 ? 0.05 : n }'; }
peer_tracks() { # peer_tracks SEED: as long as the encoder and the tracks of a seed take together
  local more=()
  [ ! -r "$measured" ] || more=(--variants "$measured" --scores "measured-deepsea-$1.tsv")
  [ -e "deepsea-$1.npy" ] || run "$PEERS" "$peers" tracks bins-1000 "$genome" -o "deepsea-$1.npy" --minutes "$(minutes 35)" --seed "$1" "${more[@]}"
  [ ! -r "$measured" ] || against_measured "measured-deepsea-$1.tsv" --score strongest
  once "results/deepsea-$1.json" bigbird chromatin evaluate -q --predictions "deepsea-$1.npy" --data bins-1000 --exclude copies.bed
}
# What needs no network: words that proteins bind, and the encoder's own opinion of a base.
peer_variants() {
  local seed
  once measured-motifs.tsv "$PEERS" "$peers" motifs "$data/peaks_rossi2021_chexmix.bed.gz" "$genome" --contigs "$learns" --variants "$measured" -o /dev/stdout
  against_measured measured-motifs.tsv --score strongest
  for seed in "${seeds[@]}"; do
    once "measured-masked-$seed.tsv" "$PEERS" "$peers" masked "encoder-$seed/final" "$genome" --variants "$measured" -o /dev/stdout
    against_measured "measured-masked-$seed.tsv" --score llr
  done
}
if wants peers && [ -n "${PEERS:-}" ]; then
  [ ! -r "$measured" ] || peer_variants
  once orfs.bed "$PEERS" "$peers" orfs "$genome" --contigs "$scanned" -o /dev/stdout
  once results/scan-orfs.json "$PEERS" "$peers" rank orfs.bed --tss "$tss" --exclude copies.bed
  for seed in "${seeds[@]}"; do
    side peer_tracks "$seed"
    for bases in 300 2000; do
      side peer_promoters cnn $bases "$seed"
      [ -z "${DEEPROMOTER:-}" ] || side peer_promoters deepromoter $bases "$seed"
    done
  done
  together
fi

# listed KEY NAME [N]: that number of every seed's results/NAME-SEED.json, the Nth where it stands in a list, a - where there is none.
listed() {
  local seed file number
  for seed in "${seeds[@]}"; do
    file=results/$2-$seed.json
    number=
    [ ! -e "$file" ] || number=$(value "$file" "$1" "${3:-1}")
    case $number in "" | null) printf -- '- ' ;; *) LC_ALL=C printf '%.4f ' "$number" ;; esac
  done
}
line() { # line TEXT COMMAND...
  local text=$1
  shift
  printf '| %s | %s |\n' "$text" "$("$@")"
}
if wants report; then
  {
    printf '| masked bases, bits per base | seeds %s |\n|---|---|\n' "${seeds[*]}"
    for name in encoder pattern-full pattern-bigbird pattern-window pattern-random pattern-window+random length-512 length-1024; do
      line "$name" listed bits_per_base $name
    done
    printf '\n| tracks, both strands: median AUROC, median AUPRC | |\n|---|---|\n'
    for name in tracks tracks-1000 tracks-4000 tracks-8000 tracks-scratch; do
      line "$name: AUROC" listed evaluations.groups.all.median_auroc $name 2
      line "$name: AUPRC" listed evaluations.groups.all.median_auprc $name 2
    done
    line "deepsea: AUROC" listed evaluations.groups.all.median_auroc deepsea
    line "deepsea: AUPRC" listed evaluations.groups.all.median_auprc deepsea
    printf '\n| promoters: MCC, AUROC, AUPRC | |\n|---|---|\n'
    for name in promoters-300 promoters-2000 promoters-encoder promoters-scratch cnn-300 cnn-2000 deepromoter-300 deepromoter-2000; do
      for key in mcc auroc auprc; do line "$name: $key" listed $key $name; done
    done
    printf '\n| scan of %s: precision at a recall of 0.5 | |\n|---|---|\n' "$scanned"
    for name in scan-300 scan-2000; do line "$name" listed evaluation.ranking.model.precision_at_recall_50 $name; done
    for name in scan-cnn-300 scan-cnn-2000 scan-deepromoter-300 scan-deepromoter-2000; do line "$name" listed precision_at_recall_50 $name; done
    printf '\n| measured variants: rank correlation, AUROC of its size | |\n|---|---|\n'
    for table in results/measured-*.tsv; do
      [ ! -e "$table" ] || awk -F'\t' -v name="$(basename "$table" .tsv)" '$1 ~ /^(diff|strongest|llr)$/ { value[$3] = $3 == "size" ? $11 : $6 }
        END { printf "| %s | %.4f, %.4f |\n", name, value["signed"], value["size"] }' "$table"
    done
    [ ! -e results/scan-orfs.json ] || line "start of every open reading frame" number results/scan-orfs.json precision_at_recall_50
  } >report.md
  cat report.md
  time_taken
fi
