#!/usr/bin/env bash
# Makes a model that ships anew, from data to the folder of models/, and compares it with the one that is here.
#   bash models/make.sh yeast DATA     DATA: the folder that pipelines/yeast_data.sh makes; about 2.5 hours of two cores
#   bash models/make.sh human DATA     DATA: the folder of pipelines/cpu_study.sh (benchmarks/study.md); about 3 hours
# Environment: OUT (model-yeast, model-human), and what pipelines/yeast.sh and pipelines/human.sh take. The same bytes on a processor with AVX2 and
# without AVX-512; others add in another order. The promoters of yeast-r64 begin from the tracks in bf16.
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
data=${2:?the folder of the data}
export OUT=${OUT:-$PWD/model-$1}
case $1 in
  yeast)
    made=$OUT/yeast-r64 kept=$root/models/yeast-r64
    SEEDS=1 PARTS="data models variants ship" bash "$root/pipelines/yeast.sh" "$data"
    ;;
  human)
    made=$OUT/human-model kept=$root/models/human
    PARTS="data encoder tracks tata ship" bash "$root/pipelines/human.sh" "$data"
    ;;
  *) printf 'error: no such model: %s\nhint: yeast or human\n' "$1" >&2 && exit 2 ;;
esac
if diff -rq --exclude README.md "$made" "$kept" >&2; then
  echo "$made: the same bytes as $kept"
else
  echo "$made: other bytes than $kept, named above"
fi
