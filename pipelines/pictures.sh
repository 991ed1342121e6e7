#!/usr/bin/env bash
# The pictures of the documentation anew, from finished runs: what the program itself draws, and its curves.
#   bash pipelines/pictures.sh YEAST DEMO TEXT   folders of pipelines/yeast.sh, pipelines/demo.sh and
#                                                pipelines/demo_text.sh; a `-` leaves out that run
# Environment: OUT (docs/pictures), BIN (the folder of an installed bigbird, to use that and build nothing).
# clusters, copies, liftover, quantize and summaries.svg are drawn by hand and stay.
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"
[ $# -eq 3 ] || fail "three folders are wanted" "bash pipelines/pictures.sh --help"
yeast=$1 demo=$2 text=$3
out=${OUT:-$root/docs/pictures}
program_on_path
mkdir -p "$out"
rest=$(mktemp -d)
trap 'rm -rf "$rest"' EXIT
demonstration_log=$rest/pictures.log

run bigbird attention -q --length 1536 --heads 1 --svg "$out/attention.svg" >/dev/null
run bigbird attention -q --compare bigbird,full,window,random,window+random,star,blockbert,sparse-fixed,sparse-strided,longformer,etc,transformer-xl,adaptive-span,bpt \
  --length 768 --parts 4 --stride 256 --attention-window 256 --global first:1 --max-span 256 --svg "$out/attention-systems.svg" >/dev/null

run bigbird demo -q -o "$rest/human" >/dev/null
cp "$rest/human/effects.svg" "$out/human.svg"

if [ "$yeast" != - ]; then
  awk 'BEGIN { OFS = "\t" } /^[0-9]/ { print "chrX", "encoder-1", $1, $2 }' "$yeast/encoder-1/valid.tsv" |
    awk -v title="Pretraining: masked bases" -v x_label="steps" -v y_label="validation loss" -f "$root/pipelines/curves.awk" \
      >"$out/yeast.svg"
  cp "$yeast/curves.svg" "$out/chromatin.svg"
  run bigbird demo --species yeast-r64 -q -o "$rest/demo" >/dev/null
  cp "$rest/demo/effects.svg" "$out/variants.svg"
fi
if [ "$demo" != - ]; then
  cp "$demo/ism.svg" "$out/attribution.svg"
  run bigbird promoter calibrate -q -m "$demo/finetune/final" --data "$demo/promoters" --force -o "$rest/errors.tsv" \
    --svg "$out/promoters.svg"
  run bigbird report -q "$demo/pretrain" "$demo/finetune" -o "$rest/runs.html"
  awk -v chart="masked-token loss" -f "$root/pipelines/chart.awk" "$rest/runs.html" >"$out/report.svg"
fi
[ "$text" = - ] || cp "$text/sections.svg" "$out/text.svg"
ls -l "$out" >&2
