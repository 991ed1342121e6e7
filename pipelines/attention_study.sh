#!/usr/bin/env bash
# Every attention that the program has, side by side on real human DNA: equal tokens, equal parameters (1 %), equal keys of a query (512,
# 6.5 %), masked tokens and next tokens apart, with a planted copy in every sample as a positive control. What came out is in
# benchmarks/attention.md, "The study".
#   bash pipelines/attention_study.sh DATA     DATA: a folder with human-grch37 and human-chm13-mhc, as benchmarks/study.md lists them
#   bash pipelines/attention_study.sh --rows   what is compared: a line for each model, with its options
# It can be stopped at any time and goes on where it was; a part that is finished is not computed again. Seed by seed, so that what is there
# after a stop is as fair as the whole.
# Environment: OUT (attention-study), RESULTS (OUT/results: what is measured, some MB; a model whose results are there is not trained again,
# on another machine either), BUDGET (110: minutes that all may take on JOBS cores), TOKENS (what fits BUDGET after a trial of every model, at
# most 1500k), SEEDS ("1 2 3"), JOBS (models at once, a core each), ROWS (all), EVERY (1: every so many-th held-out document is measured),
# PARTS ("train summary"), TRIAL (20: updates of the trial), BIN (the folder of an installed bigbird).
set -euo pipefail
case ${1:-} in "" | -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"
# shellcheck source=pipelines/resumable.sh
source "$(dirname "${BASH_SOURCE[0]}")/resumable.sh"

# The models. "left-..." read left to right; each is compared with `full` or `left-full`.
all_rows=(full band window random window+random bigbird star longformer sparse-fixed blockbert bpt etc reformer routing performer performer-relu
  left-full left-band left-sparse-fixed left-sparse-strided left-bpt left-adaptive-span left-transformer-xl left-compressive left-reformer
  left-routing left-performer)
# plan_of ROW: the attention, by options that `pretrain` and `attention --compare` both take.
plan_of() {
  case $1 in
    full | left-full) echo --attention full ;;
    band) echo --attention longformer --attention-window 548 --global none ;;
    window) echo --attention window --block-size 176 ;;
    random) echo --attention random --random-blocks 7 ;;
    window+random) echo --attention window+random --random-blocks 5 ;;
    bigbird) echo --attention bigbird --random-blocks 2 ;;
    star) echo --attention star --block-size 176 ;;
    longformer) echo --attention longformer --attention-window 418 --global first:64 ;;
    sparse-fixed) echo --attention sparse-fixed --stride 256 --summary-tokens 32 --block-size 32 ;;
    blockbert) echo --attention blockbert --parts 4 --head-split 1:1:1:1 ;;
    bpt) echo --attention bpt --contextual 72 ;;
    etc) echo --attention etc --radius 200 --max-globals 64 --projections by-query --output-projection shared ;;
    reformer) echo --attention reformer --chunk-length 64 --hashes 4 ;;
    routing) echo --attention routing --clusters 4 --cluster-window 512 --local-heads 2 --local-window 274 ;;
    performer | left-performer) echo --attention performer --features 256 ;;
    performer-relu) echo --attention performer --features 256 --kernel relu --projection gauss ;;
    left-band) echo --attention longformer --attention-window 1198 --global none ;;
    left-sparse-fixed) echo --attention sparse-fixed --stride 512 --summary-tokens 160 --block-size 32 ;;
    left-sparse-strided) echo --attention sparse-strided --stride 64 ;;
    left-bpt) echo --attention bpt --contextual 240 --clip-levels 2 ;;
    left-adaptive-span) echo --attention adaptive-span --max-span 600 ;;
    left-transformer-xl) echo --attention transformer-xl --memory 342 ;;
    left-compressive) echo --attention compressive --memory 170 --compressed 172 --rate 2 --compression conv ;;
    left-reformer) echo --attention reformer --chunk-length 64 --hashes 8 ;;
    left-routing) echo --attention routing --clusters 2 --cluster-window 1024 --local-heads 2 --local-window 599 ;;
    wide) echo --attention longformer --attention-window 4096 --global none ;; # none of the models: a check
    *) fail "$1 is no model of this study" "bash pipelines/attention_study.sh --rows prints them" ;;
  esac
}
# The inner width pays for tensors that others have not.
intermediate_of() {
  case $1 in
    longformer) echo 319 ;;
    bpt) echo 408 ;;
    etc) echo 283 ;;
    reformer | left-reformer) echo 578 ;;
    left-bpt) echo 335 ;;
    left-adaptive-span) echo 490 ;;
    left-transformer-xl) echo 451 ;;
    left-compressive) echo 323 ;;
    *) echo 512 ;;
  esac
}
# Models with a memory read a sample in segments: rows that a segment of 512 remembers at most.
remembered_of() {
  case $1 in
    left-adaptive-span) echo 600 ;;
    left-transformer-xl | left-compressive) echo 342 ;;
    *) echo 0 ;;
  esac
}
# What a model is held to: keys of a query, multiply-adds of as many, or nothing but its parameters.
held_to() {
  case $1 in
    full | left-full | left-sparse-strided) echo nothing ;;
    *performer*) echo work ;;
    *) echo keys ;;
  esac
}
shape_of() { # options of its inputs
  case $1 in
    left-adaptive-span | left-transformer-xl | left-compressive) echo --length 512 --batch 8 ;;
    bpt | etc | left-bpt) echo --length 2048 --batch 2 ;;
    *) echo --length 2048 --batch 2 --position-embedding rotary ;;
  esac
}
objective_of() { if [[ $1 == left-* ]]; then echo clm; else echo mlm; fi; }
reference_of() { if [[ $1 == left-* ]]; then echo left-full; else echo full; fi; }

if [ "$1" = --rows ]; then
  for row in "${all_rows[@]}"; do printf '%s\t%s\n' "$row" "$(plan_of "$row")"; done
  exit 0
fi

data=$1
out=${OUT:-attention-study}
results=${RESULTS:-$out/results}
parts=${PARTS:-train summary}
read -ra seeds <<<"${SEEDS:-1 2 3}"
read -ra rows <<<"${ROWS:-${all_rows[*]}}"
side_by_side=${JOBS:-$jobs}
budget=${BUDGET:-110}
trial=${TRIAL:-20}
batch_tokens=4096 # of an update
held_out=chr20:1000001-2000000
pieces=$data/human-grch37/grch37.pieces.fa.gz
mhc=$data/human-chm13-mhc/chm13_mhc.fa.gz
for file in "$pieces" "$mhc"; do
  [ -r "$file" ] || fail "$file cannot be read" "benchmarks/study.md says where each file comes from"
done
program_on_path
mkdir -p "$out/logs" "$out/trial" "$results"
[ -e "$results/every" ] || echo "${EVERY:-1}" >"$results/every" # as it was begun
every=$(<"$results/every")
demonstration_log=$out/study.log
SECONDS=0
export BIGBIRD_DEVICE=${BIGBIRD_DEVICE:-cpu} BIGBIRD_THREADS=1

# What the program does not know is left out by name.
known=()
for row in "${rows[@]}"; do
  plan=$(plan_of "$row") || exit 3
  name=${plan#--attention } && name=${name%% *}
  if bigbird attention -q --attention "$name" --length 1024 >"$out/logs/known" 2>&1; then known+=("$row"); else
    say "skipped: $row (this bigbird has no attention $name)"
  fi
done
rows=("${known[@]}")

# Documents of one sample each, with the copy; and where it is.
documents() { # documents SIDE SEED EVERY FILE...
  gzip -dc "${@:4}" | awk -v side="$1" -v seed="$2" -v every="$3" -v held_out=$held_out -v places="$out/$1.places.part" -f "$root/pipelines/copies.awk"
  mv "$out/$1.places.part" "$out/$1.places.tsv"
}
once "$out/train.txt" documents train 1 1 "$pieces" "$mhc"
once "$out/held-out.txt" documents held-out 2 "$every" "$pieces"
made "$out/tokenizer" bigbird train-bpe -q --lines "$out/train.txt" -o "$out/tokenizer" --vocab-size 10 --sample-bp 1M
for side in train held-out; do
  made "$out/$side.json" bigbird tokenize -q -m "$out/tokenizer" --lines "$out/$side.txt" -o "$out/$side"
done
held_out_documents=$(awk 'END { print NR - 1 }' "$out/held-out.places.tsv")

# logged LOG COMMAND...: shown as it is typed; what it prints on stderr, last its CPU seconds and memory, in LOG.
logged() {
  local log=$1
  shift
  { shown "$@" && echo; } >>"$demonstration_log"
  "$@" 2>"$log" >"$log.out" || { tail -2 "$log" >&2 && return 1; }
}
# cost LOG: CPU seconds (user and system) and MiB at most
cost() { awk '/ s CPU, / { for (i = 2; i <= NF; i++) { if ($i == "CPU,") cpu = $(i - 2); if ($i == "MiB") peak = $(i - 1) } } END { print cpu + 0, peak + 0 }' "$1"; }

# trains ROW SEED UPDATES FOLDER LOG: without stops, so that its seconds are those of all of it.
trains() {
  local row=$1 seed=$2 updates=$3 folder=$4 log=$5 options=()
  rm -rf "$folder"
  read -ra options <<<"$(plan_of "$row") $(shape_of "$row") --intermediate $(intermediate_of "$row")"
  if [ "$(objective_of "$row")" = mlm ]; then options+=(--no-nsp); else options+=(--objective clm); fi
  logged "$log" bigbird pretrain --train "$out/train" -m "$out/tokenizer" -o "$folder" --layers 3 --width 128 --heads 4 --dropout 0 \
    --attention-dropout 0 --optimizer torch --schedule huggingface --lr 1e-3 --clip-norm 1 --steps "$updates" --save-every "$updates" --keep-last 1 \
    --keep-best 0 --final last --seed "$seed" "${options[@]}"
}
evaluates() { # evaluates ROW MODEL LOG OPTION...
  local options=(--length 2048)
  [ "$(remembered_of "$1")" -eq 0 ] || options=(--length 512)
  [ "$(objective_of "$1")" = clm ] || options+=(--no-nsp)
  logged "$3" bigbird evaluate -m "$2" --data "$out/held-out" --no-provenance --batch 2 "${options[@]}" "${@:4}"
}
# Numbers that are learned: no state of the attention, and nothing that neither these losses nor these tokens reach.
trained_numbers() {
  local file=$1/model.safetensors header
  header=$(od -An -tu8 -N8 "$file" | tr -d ' ')
  head -c $((header + 8)) "$file" | tail -c +9 | tr '{' '\n' | awk -v unused="$2" -F'[][]' '
    NR > 2 && name !~ unused && /"shape"/ { count = split($2, sides, ","); product = 1; for (i = 1; i <= count; i++) product *= sides[i]; sum += product }
    { name = $0; sub(/":[^"]*$/, "", name); sub(/.*"/, "", name) }
    END { printf "%d\n", sum }'
}
# keys_of ROW: mean and most keys of a query in samples of 2,048, and multiply-adds of a layer of this width; counted by the program, of models
# with a memory in a segment of 512, with what it remembers of the sample added here.
keys_of() {
  local options=() length=2048 remembered
  remembered=$(remembered_of "$1")
  [ "$remembered" -eq 0 ] || [ "$1" = left-adaptive-span ] || length=512
  read -ra options <<<"$(plan_of "$1")"
  options[0]=--compare
  [ "$(objective_of "$1")" = mlm ] || options+=(--left-to-right)
  bigbird attention -q --length $length --heads 4 "${options[@]}" | awk -F'\t' -v length_=$length -v remembered="$remembered" '
    NR == 2 {
      if (length_ < 2048) { # of four segments the first remembers nothing
        for (s = 0; s < 4; s++) sum += $2 + (s * 512 < remembered ? s * 512 : remembered)
        print sum / 4, $3 + remembered, 2 * 128 * sum / 4 * 2048
      } else print $2, $3, $5 * 128 / 768 # the program counts layers of width 768
    }'
}

# What every model is, and what it costs, by a trial of some updates.
facts() {
  local row=$1 unused='^state\.|self\.features|pooler|seq_relationship' updates=$trial cpu peak seconds samples=16
  [ ! -e "$out/trial/$row.tsv" ] || return 0
  case $row in *band) unused+='|_global' ;; esac # no token is global
  trains "$row" 1 "$trial" "$out/trial/$row" "$out/logs/trial-$row.log"
  read -r cpu peak <<<"$(cost "$out/logs/trial-$row.log")"
  [ "$held_out_documents" -ge $samples ] || samples=$held_out_documents
  evaluates "$row" "$out/trial/$row/final" "$out/logs/trial-$row.evaluate.log" --samples $((samples * ($(remembered_of "$row") > 0 ? 4 : 1)))
  seconds=$(cost "$out/logs/trial-$row.evaluate.log")
  printf '%s\t%s\t%s\t%s\t%s\n' "$row" "$(trained_numbers "$out/trial/$row/final" "$unused")" \
    "$(awk -v cpu="$cpu" -v updates="$updates" 'BEGIN { printf "%.4f", cpu / updates }')" "$peak" \
    "$(awk -v cpu="${seconds% *}" -v samples="$samples" -v all="$held_out_documents" 'BEGIN { printf "%.2f", cpu / samples * all }')" >"$out/trial/$row.part"
  cp "$out/trial/$row/metrics.tsv" "$out/trial/$row.metrics.tsv"
  rm -r "$out/trial/$row"
  mv "$out/trial/$row.part" "$out/trial/$row.tsv"
}
# A window that holds all tokens is full attention: the same losses, or the study does not begin.
wide_window() {
  [ ! -e "$out/trial/wide.metrics.tsv" ] || return 0
  trains wide 1 "$trial" "$out/trial/wide" "$out/logs/trial-wide.log"
  mv "$out/trial/wide/metrics.tsv" "$out/trial/wide.metrics.tsv"
  rm -r "$out/trial/wide"
}
checked() {
  local row column
  for row in "${rows[@]}"; do [[ " ${rows[*]} " == *" $(reference_of "$row") "* ]] || fail "ROWS: $row without $(reference_of "$row")"; done
  for row in "${rows[@]}"; do
    once "$out/trial/$row.keys" keys_of "$row"
    side facts "$row"
  done
  [[ " ${rows[*]} " != *" full "* ]] || side wide_window
  together
  for row in "${rows[@]}"; do
    printf '%s\t%s\t%s\t%s\n' "$(objective_of "$row")" "$(held_to "$row")" "$(<"$out/trial/$row.tsv")" "$(tr ' ' '\t' <"$out/trial/$row.keys")"
  done | awk -F'\t' -v OFS='\t' '
    BEGIN { print "model", "objective", "parameters", "keys_mean", "keys_most", "multiply_adds", "cpu_seconds_of_an_update", "peak_mib", "evaluation_cpu_seconds", "outside" }
    { lines[NR] = $0 }
    $3 == "full" || $3 == "left-full" { parameters[$1] = $4 }
    END { for (i = 1; i <= NR; i++) { $0 = lines[i]; judge() } }
    function judge(    outside, wanted) {
      outside = ""
      if ($4 > 1.01 * parameters[$1] || $4 < 0.99 * parameters[$1]) outside = "parameters"
      if ($2 == "keys" && ($8 > 1.065 * 512 || $8 < 0.935 * 512)) outside = outside (outside == "" ? "" : ",") "keys"
      wanted = 2 * 128 * 512 * 2048
      if ($2 == "work" && ($10 > 1.065 * wanted || $10 < 0.935 * wanted)) outside = outside (outside == "" ? "" : ",") "multiply_adds"
      print $3, $1, $4, sprintf("%.1f", $8), $9, sprintf("%.0f", $10), $5, $6, $7, outside == "" ? "-" : outside
    }' >"$out/facts.tsv"
  cat "$out/facts.tsv"
  column=$(awk -F'\t' 'NR > 1 && $10 != "-" { printf "%s%s (%s)", found++ ? ", " : "", $1, $10 }' "$out/facts.tsv")
  [ -z "$column" ] || fail "not equal: $column" "parameters within 1 % of full's, keys within 6.5 % of 512"
  [[ " ${rows[*]} " != *" full "* ]] || paste "$out/trial/full.metrics.tsv" "$out/trial/wide.metrics.tsv" | awk -F'\t' '
    NR == 1 { half = NF / 2; next }
    { distance = $2 - $(half + 2); if (distance < 0) distance = -distance; if (distance > most) most = distance }
    END { printf "full attention and a window of 4,096: losses at most %.1e apart over %d updates\n", most, NR - 1; exit NR < 2 || most > 1e-4 }' >&2 ||
    fail "full attention and a window of all tokens learn different things" "$out/trial has both curves"
}
# As many updates as fit, the same for all and from then on.
updates_of_budget() {
  awk -F'\t' -v minutes="$budget" -v cores="$side_by_side" -v seeds="${#seeds[@]}" -v trial="$trial" -v batch=$batch_tokens '
    NR > 1 { update += $7; evaluation += $9 }
    END {
      updates = int((0.95 * minutes * 60 * cores - (trial + 1) * update - seeds * evaluation) / (seeds * update))
      if (updates < 1) updates = 1
      most = int(1500000 / batch)
      print updates < most ? updates : most
    }' "$out/facts.tsv"
}

# measured ROW SEED: RESULTS/ROW-SEED.tsv, of every held-out sample its losses outside the copy and within; and .run.tsv, its cost.
measured() {
  local row=$1 seed=$2 name=$1-$2 cpu peak seconds span=-
  [ ! -e "$results/$name.tsv" ] || return 0
  mkdir -p "$out/runs"
  trains "$row" "$seed" "$updates" "$out/runs/$name" "$out/logs/$name.log"
  evaluates "$row" "$out/runs/$name/final" "$out/logs/$name.evaluate.log" --losses "$out/runs/$name.losses.tsv"
  read -r cpu peak <<<"$(cost "$out/logs/$name.log")"
  seconds=$(cost "$out/logs/$name.evaluate.log")
  [ "$row" != left-adaptive-span ] || span=$(bigbird attention -q -m "$out/runs/$name/final" | awk '$1 == "mean_span" { print $2 }')
  printf 'model\tseed\tupdates\ttokens\tcpu_seconds\tpeak_mib\tevaluation_cpu_seconds\tmean_span\n%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$row" "$seed" "$updates" \
    $((updates * batch_tokens)) "$cpu" "$peak" "${seconds% *}" "$span" >"$results/$name.run.tsv"
  awk -F'\t' -v OFS='\t' '
    NR == FNR { if (FNR > 1) { copy[$1] = $2; distance[$1] = $3 }; next }
    FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { sample = $column["sample"]; base = $column["position"] - 1; nats = $column["nats"]; begin = copy[sample]
      if (base >= begin && base < begin + 64) { inside[sample] += nats; inside_bases[sample]++ }
      else if (base < begin - distance[sample] || base >= begin - distance[sample] + 64) { outside[sample] += nats; bases[sample]++ } }
    END {
      print "sample", "nats", "bases", "distance", "copy_nats", "copy_bases"
      for (sample = 0; sample in copy; sample++)
        printf "%d\t%.6f\t%d\t%d\t%.6f\t%d\n", sample, outside[sample], bases[sample], distance[sample], inside[sample], inside_bases[sample]
    }' "$out/held-out.places.tsv" "$out/runs/$name.losses.tsv" >"$results/$name.part"
  rm -r "$out/runs/$name" "$out/runs/$name.losses.tsv"
  mv "$results/$name.part" "$results/$name.tsv"
}

updates_wanted=0
if wants train; then
  checked
  if [ -n "${TOKENS:-}" ]; then updates_wanted=$(($(count "$TOKENS") / batch_tokens)); fi
  [ "$updates_wanted" -gt 0 ] || updates_wanted=$(updates_of_budget)
  once "$results/updates" echo "$updates_wanted"
  updates=$(<"$results/updates")
  say "$updates updates of $batch_tokens tokens for each of ${#rows[@]} models and ${#seeds[@]} seeds"
  for seed in "${seeds[@]}"; do
    for row in "${rows[@]}"; do side measured "$row" "$seed"; done
  done
  together
  cp "$out/facts.tsv" "$results/facts.tsv"
fi

wants summary || exit 0
# A line for every model: its bits, its distance from full attention, its cost, its copy.
for row in "${rows[@]}"; do
  for seed in "${seeds[@]}"; do
    [ ! -e "$results/$row-$seed.tsv" ] || { cat "$results/$row-$seed.run.tsv" && awk -v OFS='\t' -v row="$row" -v seed="$seed" -v of="$(reference_of "$row")" \
      'NR > 1 { print "sample", row, seed, of, $0 }' "$results/$row-$seed.tsv"; }
  done
done | awk -v draws="${DRAWS:-1000}" -v facts="$results/facts.tsv" -f "$root/pipelines/paired.awk" >"$results/table.part"
mv "$results/table.part" "$results/table.tsv"
summary() {
  local objective
  for objective in mlm clm; do
    if [ "$objective" = mlm ]; then echo "## Masked tokens, both directions"; else printf '\n## Next tokens, left to right\n'; fi
    echo
    awk -F'\t' -v objective=$objective '
      function shown(value) { return value == "-" ? "" : value }
      NR == 1 {
        for (i = 1; i <= NF; i++) column[$i] = i
        print "| model | seeds | keys | bits per base | minus full (95 %: samples; samples and seeds) | tokens a CPU second | MiB | copy less rest (95 %) | copy at 256, 512, 1,024, 1,536 |"
        print "|---|---|---|---|---|---|---|---|---|"
        next
      }
      $column["objective"] == objective {
        printf "| %s | %s | %s | %s | %s (%s to %s; %s to %s) | %s | %s | %s (%s to %s) | %s, %s, %s, %s |\n", $column["model"], $column["seeds"], $column["keys"], $column["bits"],
          $column["less_full"], $column["low_samples"], $column["high_samples"], $column["low_both"], $column["high_both"], $column["tokens_a_cpu_second"], $column["peak_mib"],
          $column["copy_less_rest"], $column["copy_low"], $column["copy_high"], $column["copy_256"], $column["copy_512"], $column["copy_1024"], $column["copy_1536"]
        if (($column["model"] == "full" || $column["model"] == "left-full") && $column["copy_high"] >= 0) silent = $column["model"]
      }
      END { if (silent) printf "\nThe control is silent: `%s` predicts copies no better than the rest, so that nothing here shows a use of keys far away.\n", silent }' "$results/table.tsv"
  done
}
summary | tee "$results/summary.md"
# One picture: the two objectives below each other, which share no axis.
{
  echo '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 860">'
  for objective in mlm clm; do
    if [ "$objective" = mlm ]; then at=0 words="Masked tokens, both directions"; else at=430 words="Next tokens, left to right"; fi
    awk -F'\t' -v OFS='\t' -v objective=$objective 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
      $column["objective"] == objective { print $column["model"], "mean", $column["cpu_seconds"], $column["bits"] }' "$results/table.tsv" >"$results/points.part"
    [ ! -s "$results/points.part" ] || awk -v marks=1 -v title="$words" -v x_label="CPU seconds of a training" -v y_label="held-out bits per base" \
      -f "$root/pipelines/curves.awk" "$results/points.part" | sed "1s/<svg /<svg y=\"$at\" width=\"760\" height=\"420\" /"
  done
  rm -f "$results/points.part"
  echo '</svg>'
} >"$results/study.svg.part"
mv "$results/study.svg.part" "$results/study.svg"
time_taken
