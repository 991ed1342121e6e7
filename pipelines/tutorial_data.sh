#!/usr/bin/env bash
# The three files that docs/tutorial.md begins with, all of GRCh37 (hg19), into a folder:
#   genome.fa.gz       chromosomes 17, 20 and 22, as BGZF with its indexes
#   peaks.tsv          16 ChIP-seq tracks of ENCODE as a table, with the narrowPeak files that it names
#   variants.vcf.gz    1000 Genomes, chr20:1,000,001-2,000,000, without genotypes, with its index
#   bash pipelines/tutorial_data.sh FOLDER          downloads them from the addresses that the sites
#                                                   publish; this part was run with a local copy only
#   bash pipelines/tutorial_data.sh FOLDER PIECES   takes them from a folder with human-grch37, peaks-hg19 and
#                                                   vcf-grch37 (docs/study.md): six regions, 4.6 Mb
# A file that is there stays. Environment: UCSC, KGP (other mirrors).
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
folder=$1
pieces=${2:-}
ucsc=${UCSC:-https://hgdownload.soe.ucsc.edu/goldenPath/hg19}
kgp=${KGP:-https://ftp.1000genomes.ebi.ac.uk/vol1/ftp/release/20130502}
kgp_file=ALL.chr20.phase3_shapeit2_mvncall_integrated_v5b.20130502.genotypes.vcf.gz

fail() {
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 3
}
need() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || fail "$program was not found" "apt-get install curl tabix samtools bcftools"
  done
}

# Tracks: the cell line and factor, and the file of ENCODE's uniform peaks for it.
tracks() {
  cat <<'TRACKS'
K562|CTCF BroadK562Ctcf
HepG2|CTCF BroadHepg2Ctcf
MCF-7|CTCF UtaMcf7Ctcf
H1-hESC|CTCF BroadH1hescCtcf
HeLa-S3|CTCF BroadHelas3Ctcf
A549|CTCF UtaA549Ctcf
K562|MAX HaibK562MaxV0416102
HepG2|MAX SydhHepg2MaxIggrab
A549|MAX SydhA549MaxIggrab
H1-hESC|MAX SydhH1hescMaxUcd
IMR-90|CEBPB SydhImr90CebpbIggrab
HepG2|CEBPB SydhHepg2CebpbIggrab
K562|CEBPB SydhK562CebpbIggrab
A549|CEBPB SydhA549CebpbIggrab
HepG2|FOXA1 HaibHepg2Foxa1sc101058V0416101
HepG2|FOXA2 HaibHepg2Foxa2sc6554V0416101
TRACKS
}

mkdir -p "$folder"
if [ -n "$pieces" ]; then
  peaks=dream_tf.inside_grch37_pieces.narrowPeak
  put() { # put FROM TO
    [ -r "$pieces/$1" ] || fail "$pieces/$1 cannot be read" "docs/study.md says where each file comes from"
    [ -e "$folder/$2" ] || install -m 644 "$pieces/$1" "$folder/$2"
  }
  for suffix in "" .fai .gzi; do put "human-grch37/grch37.sparse.fa.gz$suffix" "genome.fa.gz$suffix"; done
  put "peaks-hg19/$peaks" "$peaks"
  put vcf-grch37/kgp3_chr20_1M-2M.b37.vcf.gz variants.vcf.gz
  put vcf-grch37/kgp3_chr20_1M-2M.b37.vcf.gz.tbi variants.vcf.gz.tbi
  touch "$folder/variants.vcf.gz.tbi" # an index is younger than its file
  {
    printf '#name\tgroup\tfile\ttrack\n'
    tracks | while read -r name _; do printf '%s\tTF\t%s\t%s\n' "$name" "$peaks" "$name"; done
  } >"$folder/peaks.tsv"
else
  need curl bgzip samtools bcftools
  fetched() { # fetched URL FILE: whole or not at all
    [ -e "$2" ] && return 0
    echo "fetching $1" >&2
    curl --fail --location --retry 5 --continue-at - --output "$2.part" "$1" ||
      fail "$1 could not be fetched" "run the script again: it goes on; if the address moved, see the top of the script"
    mv "$2.part" "$2"
  }
  if [ ! -e "$folder/genome.fa.gz" ]; then
    for number in 17 20 22; do fetched "$ucsc/chromosomes/chr$number.fa.gz" "$folder/chr$number.fa.gz"; done
    gzip -dc "$folder"/chr{17,20,22}.fa.gz | bgzip >"$folder/genome.fa.gz.part"
    mv "$folder/genome.fa.gz.part" "$folder/genome.fa.gz"
    rm "$folder"/chr{17,20,22}.fa.gz
  fi
  [ -e "$folder/genome.fa.gz.fai" ] || samtools faidx "$folder/genome.fa.gz"
  tracks | while read -r _ file; do
    file=wgEncodeAwgTfbs${file}UniPk.narrowPeak.gz
    fetched "$ucsc/encodeDCC/wgEncodeAwgTfbsUniform/$file" "$folder/$file"
  done
  {
    printf '#name\tgroup\tfile\n'
    tracks | while read -r name file; do printf '%s\tTF\twgEncodeAwgTfbs%sUniPk.narrowPeak.gz\n' "$name" "$file"; done
  } >"$folder/peaks.tsv"
  if [ ! -e "$folder/variants.vcf.gz" ]; then # of the file one megabase is read, and its index, which bcftools keeps
    (cd "$folder" && bcftools view --drop-genotypes --regions 20:1000001-2000000 --output-type z --output part.vcf.gz "$kgp/$kgp_file") ||
      fail "$kgp/$kgp_file could not be read" "another mirror: KGP=https://... bash pipelines/tutorial_data.sh $folder"
    mv "$folder/part.vcf.gz" "$folder/variants.vcf.gz"
  fi
  [ -e "$folder/variants.vcf.gz.tbi" ] || bcftools index --tbi "$folder/variants.vcf.gz"
fi
echo "$folder is complete: genome.fa.gz peaks.tsv variants.vcf.gz" >&2
