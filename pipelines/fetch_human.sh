#!/usr/bin/env bash
# Fetches what the main job needs for the human genome, of either build, into a folder (about 900 MB for GRCh37):
#   bash pipelines/fetch_human.sh GRCh37 [FOLDER]   FOLDER: data/grch37
#   bash pipelines/fetch_human.sh GRCh38 [FOLDER]   FOLDER: data/grch38
#   genome.fa.gz                  primary assembly from Ensembl (chromosomes named 1-22, X, Y, MT), recompressed as BGZF
#   hg38ToHg19.over.chain.gz      UCSC's chain to this build from the other; for GRCh38 hg19ToHg38.over.chain.gz
#   promoters.tss.bed             EPDnew human 006, for GRCh38, whose positions it has; for GRCh37 promoters.hg38.tss.bed, the same file,
#                                 which `bigbird promoter build --lift CHAIN` moves
# Run it again after an interruption: it resumes. Then: bash pipelines/demo.sh FOLDER/genome.fa.gz
# Environment: ENSEMBL (https://ftp.ensembl.org/pub), UCSC (https://hgdownload.soe.ucsc.edu/goldenPath) and
# EPD (https://epd.expasy.org/ftp/epdnew): other mirrors.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;; esac

fail() {
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}
build=${1:-}
case $build in
  GRCh37) release=grch37/current/fasta from=hg38 to=hg19 sites=promoters.hg38.tss.bed ;;
  GRCh38) release=current_fasta from=hg19 to=hg38 sites=promoters.tss.bed ;;
  *) fail "'$build' is not a build of the human genome" "bash pipelines/fetch_human.sh GRCh37 or GRCh38, then a folder if you want" ;;
esac
folder=${2:-data/${build,,}}

ensembl=${ENSEMBL:-https://ftp.ensembl.org/pub}/$release/homo_sapiens/dna
assembly=Homo_sapiens.$build.dna.primary_assembly.fa.gz
ucsc=${UCSC:-https://hgdownload.soe.ucsc.edu/goldenPath}/$from/liftOver
chain=${from}To${to^}.over.chain.gz
epd=${EPD:-https://epd.expasy.org/ftp/epdnew}/H_sapiens/006
promoters=Hs_EPDnew_006_hg38.bed
promoter_count=29598 # as EPD states for human release 006

for program in curl bgzip md5sum sum; do
  command -v "$program" >/dev/null || fail "$program was not found" "apt-get install curl tabix coreutils"
done
mkdir -p "$folder"
cd "$folder"

# download URL: into the current folder, resuming a part that is there.
download() {
  local name=${1##*/}
  [ -f "$name" ] && return 0
  echo "fetching $1" >&2
  curl --fail --location --retry 5 --continue-at - --output "$name.part" "$1" ||
    fail "$1 could not be fetched" "run the script again: it resumes; if the address moved, see the top of the script"
  mv "$name.part" "$name"
}

# A small list of checksums is fetched anew each time.
fresh() {
  rm -f "${1##*/}" "${1##*/}.part"
  download "$1"
}

damaged() {
  rm -f "$1"
  fail "$folder/$1 does not have the checksum that its site publishes; it was removed" "run the script again"
}

if [ ! -f genome.fa.gz ]; then
  download "$ensembl/$assembly"
  fresh "$ensembl/CHECKSUMS" # lines of "sum": checksum, blocks, name
  published=$(awk -v name="$assembly" '$NF == name {print $1 + 0, $2 + 0}' CHECKSUMS)
  [ -n "$published" ] || fail "$ensembl/CHECKSUMS does not name $assembly" "see what the folder holds now"
  computed=$(sum "$assembly" | awk '{print $1 + 0, $2 + 0}')
  [ "$published" = "$computed" ] || damaged "$assembly"
  # `>1 dna:chromosome chromosome:GRCh38:1:1:248956422:1 REF`: a mirror that has another build under this name is not believed.
  read -r header < <(gzip --decompress --stdout "$assembly" 2>/dev/null) || true
  case $header in
    ">"*":$build:"*) ;;
    *) fail "$folder/$assembly begins with '${header:0:80}', which does not name $build" "remove it, and see what $ensembl holds now" ;;
  esac
  echo "recompressing as BGZF, so that regions can be read without the whole" >&2
  gzip --decompress --stdout "$assembly" | bgzip --threads "$(nproc)" --stdout >genome.fa.gz.part
  mv genome.fa.gz.part genome.fa.gz
  rm -f "$assembly" CHECKSUMS
fi

fresh "$ucsc/md5sum.txt"
download "$ucsc/$chain"
published=$(awk -v name="$chain" '$2 == name {print $1}' md5sum.txt)
[ -n "$published" ] || fail "$ucsc/md5sum.txt does not name $chain" "see what the folder holds now"
[ "$published" = "$(md5sum "$chain" | awk '{print $1}')" ] || damaged "$chain"
rm -f md5sum.txt

# EPD publishes no checksum beside the file; the number of its promoters and their form are what can be held against it.
if [ ! -f "$sites" ]; then
  download "$epd/$promoters"
  good=$(awk '$1 ~ /^chr/ && $2 + 0 < $3 + 0 && ($6 == "+" || $6 == "-")' "$promoters" | wc -l)
  [ "$good" -eq "$promoter_count" ] || {
    rm -f "$promoters"
    fail "$promoters holds $good promoters, not $promoter_count; it was removed" "run the script again"
  }
  mv "$promoters" "$sites"
fi
echo "$folder is complete: genome.fa.gz $chain $sites" >&2
echo "next: bash pipelines/demo.sh $folder/genome.fa.gz" >&2
