#!/usr/bin/env bash
# What pipelines/yeast.sh and docs/yeast.md begin with, into a folder: baker's yeast, R64-1-1, 8 MB.
#   S288C_R64-1-1.fa.gz              the genome, as BGZF with its indexes; contigs chrI ... chrXVI, chrM
#   tss_EPDnew_002.bed.gz            5,117 transcription start sites
#   peaks_rossi2021_chexmix.bed.gz   187,506 ChIP-exo peaks of 384 experiments, the target in column 4
#   variants_BYxRM.vcf.gz            45,543 differences between the laboratory strain BY and the vineyard strain RM
#   bash pipelines/yeast_data.sh [FOLDER]   FOLDER: yeast-data
# All of it comes from public repositories, at the commits below. Three files of peaks are empty: 381 targets have one. A file that is
# there stays; run the script again after an interruption.
# Environment: GITHUB (https://raw.githubusercontent.com) and CODELOAD (https://codeload.github.com): other mirrors.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
folder=${1:-yeast-data}
github=${GITHUB:-https://raw.githubusercontent.com}
codeload=${CODELOAD:-https://codeload.github.com}

fail() {
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 3
}
for program in curl bgzip tabix samtools bcftools md5sum; do
  command -v "$program" >/dev/null || fail "$program was not found" "apt-get install curl tabix samtools bcftools"
done
mkdir -p "$folder"
cd "$folder"

# fetched URL FILE [MD5]: whole or not at all.
fetched() {
  [ ! -e "$2" ] || return 0
  echo "fetching $1" >&2
  curl --fail --silent --show-error --location --retry 5 --output "$2.part" "$1" ||
    fail "$1 could not be fetched" "run the script again; if the address moved, see the top of the script"
  if [ -n "${3:-}" ] && [ "$(md5sum <"$2.part" | cut -d' ' -f1)" != "$3" ]; then
    rm "$2.part"
    fail "$1 has changed: its MD5 is not $3; it was removed" "run the script again; if this comes again, the mirror has another file"
  fi
  mv "$2.part" "$2"
}
contigs=(I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI M)
# in_order: lines of a BED in the order of the genome.
in_order() {
  awk -v OFS='\t' -v contigs="${contigs[*]}" 'BEGIN { n = split(contigs, names, " "); for (i = 1; i <= n; ++i) at["chr" names[i]] = i }
    { print at[$1], $0 }' | LC_ALL=C sort -k1,1n -k3,3n -k4,4n -k5,5 | cut -f2-
}

if [ ! -e S288C_R64-1-1.fa.gz ]; then # a copy of Ensembl's file, which names contigs I ... XVI, Mito
  fetched "$github/rpolicastro/yeast_data/d7220d4f5b7c/genome/Saccharomyces_cerevisiae.R64-1-1.dna.toplevel.fa.gz" ensembl.fa.gz 103245e292833b928981d7bf813f615a
  gzip -dc ensembl.fa.gz | awk '/^>/ { name = substr($1, 2); print ">chr" (name == "Mito" ? "M" : name); next } { print toupper($0) }' >unsorted.fa
  samtools faidx unsorted.fa
  samtools faidx unsorted.fa "${contigs[@]/#/chr}" | bgzip >genome.part
  rm unsorted.fa unsorted.fa.fai ensembl.fa.gz
  mv genome.part S288C_R64-1-1.fa.gz
fi
[ -e S288C_R64-1-1.fa.gz.fai ] || samtools faidx S288C_R64-1-1.fa.gz

if [ ! -e tss_EPDnew_002.bed.gz ]; then # 1-based; contigs are RefSeq's: NC_001133 (chrI) to NC_001148, NC_001224 (chrM)
  fetched "$github/sib-swiss/EPD/a1dc2b9a1157/htdocs/ftp/epdnew/S_cerevisiae/002/Sc_EPDnew_002_sacCer3.sga" epd.sga 7a1581db1f2d1994d1d99b364b50ad72
  awk -v OFS='\t' -v contigs="${contigs[*]}" 'BEGIN { split(contigs, names, " ") }
    { number = substr($1, 4, 6) + 0; print "chr" (number == 1224 ? "M" : names[number - 1132]), $3 - 1, $3, $6, 0, $4 }' epd.sga | in_order | bgzip >tss.part
  rm epd.sga
  mv tss.part tss_EPDnew_002.bed.gz
fi

if [ ! -e peaks_rossi2021_chexmix.bed.gz ]; then # a file for each target; contigs chr1 ... chr16
  fetched "$codeload/CEGRcode/2021-Rossi_Nature/tar.gz/650fd9e7fa41" rossi.tar.gz
  mkdir -p rossi
  tar -xzf rossi.tar.gz -C rossi --wildcards --strip-components=2 '*/04_ChExMix_Peaks/*_CX.bed'
  awk -v OFS='\t' -v contigs="${contigs[*]}" 'BEGIN { split(contigs, names, " ") }
    FNR == 1 { target = FILENAME; sub(/.*\//, "", target); sub(/_CX\.bed$/, "", target) }
    { number = substr($1, 4); if (number in names) print "chr" names[number], $2, $3, target, $5, "." }' rossi/*_CX.bed | in_order | bgzip >peaks.part
  rm -r rossi rossi.tar.gz
  mv peaks.part peaks_rossi2021_chexmix.bed.gz
fi

if [ ! -e variants_BYxRM.vcf.gz ]; then # contigs in the order of the alphabet
  fetched "$github/frankwalbert/promoterVariants/24d2d5b040f3/objectsAndAnnotations/01_libraryDesign/A_forFrank051815.sort.blocked.vcf.gz" albert.vcf.gz \
    6c6fe58da3b072b228ba5dca364e779e
  bcftools view albert.vcf.gz 2>/dev/null | bcftools annotate --no-version --remove '^INFO/AC,INFO/AN' | bcftools annotate --no-version --remove '^FORMAT/GT,FORMAT/DP,FORMAT/GQ' |
    bcftools sort --output-type z --output variants.part 2>/dev/null
  rm albert.vcf.gz
  mv variants.part variants_BYxRM.vcf.gz
fi
[ -e variants_BYxRM.vcf.gz.tbi ] || tabix -p vcf variants_BYxRM.vcf.gz
echo "$folder is complete" >&2
