#!/usr/bin/env bash
# pipelines/fetch_human.sh on a small mirror: both builds arrive, a cut transfer goes on, and what is not what its site says is refused.
#   bash tests/cli/fetch_human.sh FOLDER     an empty folder to work in; MIRROR=http://... has the mirror in FOLDER/site served by others
# Exit status 77: a program that the script needs is not there.
set -euo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../pipelines" && pwd)/fetch_human.sh
for program in curl bgzip md5sum sum; do
  command -v "$program" >/dev/null || { echo "SKIPPED: $program is not installed" && exit 77; }
done
cd "$1"
site=$PWD/site
export ENSEMBL="${MIRROR:-file://$site}/ensembl" UCSC="${MIRROR:-file://$site}/ucsc" EPD="${MIRROR:-file://$site}/epd"

wrong() {
  echo "wrong: $1" >&2
  exit 1
}
# genome BUILD FOLDER: what Ensembl has.
genome() {
  local name=Homo_sapiens.$1.dna.primary_assembly.fa.gz folder=$site/ensembl/$2/homo_sapiens/dna
  mkdir -p "$folder"
  printf '>1 dna:chromosome chromosome:%s:1:1:8:1 REF\nACGTACGT\n' "$1" | gzip >"$folder/$name"
  (cd "$folder" && printf '%s %s\n' "$(sum "$name" | awk '{ print $1, $2 }')" "$name" >CHECKSUMS)
}
genome GRCh37 grch37/current/fasta
genome GRCh38 current_fasta
for pair in hg38/hg38ToHg19 hg19/hg19ToHg38; do
  mkdir -p "$site/ucsc/${pair%/*}/liftOver"
  echo "$pair" | gzip >"$site/ucsc/${pair%/*}/liftOver/${pair#*/}.over.chain.gz"
  (cd "$site/ucsc/${pair%/*}/liftOver" && md5sum ./*.gz | sed 's#\./##' >md5sum.txt)
done
mkdir -p "$site/epd/H_sapiens/006"
sites=$site/epd/H_sapiens/006/Hs_EPDnew_006_hg38.bed
awk 'BEGIN { for (i = 0; i < 29598; ++i) print "chr1", i, i + 1, "P" i, 900, i % 2 ? "+" : "-" }' >"$sites"

fetched() { bash "$script" "$@" >said.txt 2>&1; }
refused() { # refused TEXT BUILD FOLDER
  local text=$1
  shift
  if fetched "$@"; then wrong "taken: $*, where '$text' was to be said"; fi
  grep -qF -- "$text" said.txt || wrong "not said: $text; but $(cat said.txt)"
}
has() { # has FOLDER FILE...: these and no others
  local folder=$1
  shift
  [ "$(LC_ALL=C ls "$folder")" = "$(printf '%s\n' "$@" | LC_ALL=C sort)" ] || wrong "$folder holds $(ls "$folder")"
}
fetched GRCh37 a || wrong "GRCh37: $(cat said.txt)"
has a genome.fa.gz hg38ToHg19.over.chain.gz promoters.hg38.tss.bed
fetched GRCh38 || wrong "GRCh38: $(cat said.txt)"
has data/grch38 genome.fa.gz hg19ToHg38.over.chain.gz promoters.tss.bed
gzip -dc data/grch38/genome.fa.gz | grep -q ':GRCh38:' || wrong "the genome of GRCh38 is another one"
bgzip --reindex data/grch38/genome.fa.gz || wrong "the genome is not BGZF" # makes an index, which plain gzip has not
cmp data/grch38/promoters.tss.bed "$sites"

# A part of the genome is there: the rest is added to it.
mkdir c
head -c 20 "$site/ensembl/current_fasta/homo_sapiens/dna/Homo_sapiens.GRCh38.dna.primary_assembly.fa.gz" >c/Homo_sapiens.GRCh38.dna.primary_assembly.fa.gz.part
fetched GRCh38 c || wrong "resumed: $(cat said.txt)"
cmp c/genome.fa.gz data/grch38/genome.fa.gz

refused "is not a build" hg18 d
printf 'chr1\t0\t1\tP\t900\t+\n' >>"$sites"
refused "holds 29599 promoters" GRCh38 e
[ ! -e e/promoters.tss.bed ] || wrong "refused promoters stay"
echo changed >>"$site/ucsc/hg19/liftOver/hg19ToHg38.over.chain.gz"
refused "does not have the checksum" GRCh38 f
echo changed | gzip >>"$site/ensembl/current_fasta/homo_sapiens/dna/Homo_sapiens.GRCh38.dna.primary_assembly.fa.gz"
refused "does not have the checksum" GRCh38 g
has g CHECKSUMS
cp "$site"/ensembl/grch37/current/fasta/homo_sapiens/dna/*.gz "$site/ensembl/current_fasta/homo_sapiens/dna/Homo_sapiens.GRCh38.dna.primary_assembly.fa.gz"
sed 's/GRCh37/GRCh38/' "$site/ensembl/grch37/current/fasta/homo_sapiens/dna/CHECKSUMS" >"$site/ensembl/current_fasta/homo_sapiens/dna/CHECKSUMS"
refused "does not name GRCh38" GRCh38 h
[ ! -e h/genome.fa.gz ] || wrong "the genome of another build stays"
