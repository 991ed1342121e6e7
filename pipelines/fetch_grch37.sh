#!/usr/bin/env bash
# Fetches what the main job needs for human GRCh37, into a folder (default data/grch37), about 900 MB:
#   genome.fa.gz               primary assembly from Ensembl (chromosomes named 1-22, X, Y, MT), recompressed as BGZF
#   hg38ToHg19.over.chain.gz   UCSC's chain
#   promoters.hg38.tss.bed     EPDnew human 006 (GRCh38 positions; bigbird promoter build --lift moves them)
# Run it again after an interruption: it resumes. Then: bash pipelines/demo.sh data/grch37/genome.fa.gz
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
folder=${1:-data/grch37}

ensembl=https://ftp.ensembl.org/pub/grch37/current/fasta/homo_sapiens/dna
assembly=Homo_sapiens.GRCh37.dna.primary_assembly.fa.gz
ucsc=https://hgdownload.soe.ucsc.edu/goldenPath/hg38/liftOver
chain=hg38ToHg19.over.chain.gz
epd=https://epd.expasy.org/ftp/epdnew/H_sapiens/006
promoters=Hs_EPDnew_006_hg38.bed
promoter_count=29598 # as EPD states for human release 006

fail() {
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}
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
if [ ! -f promoters.hg38.tss.bed ]; then
  download "$epd/$promoters"
  good=$(awk '$1 ~ /^chr/ && $2 + 0 < $3 + 0 && ($6 == "+" || $6 == "-")' "$promoters" | wc -l)
  [ "$good" -eq "$promoter_count" ] || {
    rm -f "$promoters"
    fail "$promoters holds $good promoters, not $promoter_count; it was removed" "run the script again"
  }
  mv "$promoters" promoters.hg38.tss.bed
fi
echo "$folder is complete: genome.fa.gz $chain promoters.hg38.tss.bed" >&2
echo "next: bash pipelines/demo.sh $folder/genome.fa.gz" >&2
