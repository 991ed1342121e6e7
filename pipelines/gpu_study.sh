#!/usr/bin/env bash
# Two studies of pretraining, as in the paper's Fig. 8 and Table 1: does a longer context help when the number of tokens
# seen is the same, and which parts of the attention pattern matter. Held-out accuracy and bits per base along the way.
#   bash pipelines/gpu_study.sh [--data FILE.fa[.gz]]... [-o FOLDER] [--part lengths|patterns] [--only NAME] [--tiny]
#   bash pipelines/gpu_study.sh --part training --seconds N [--data FILE.fa[.gz]]... [-o FOLDER] [--tiny]
# Without --data: the human sequence of ../shared/data where it is, for --part training; else a genome is simulated. Runs
# that are done are kept and runs that were stopped go on: start it again with the same options. --only takes one run: 512,
# 1024, 4096, or random, window, window+random, bigbird, full. --part training is one run of BigBird-base with as many
# updates as fit into N seconds, with all that comes before and behind it: what an update takes is measured first.
# Environment: BIGBIRD (the program; built when not given), DEVICE (auto), PRECISION (the device's own), STEPS (2000),
# STEP_TOKENS (131072: tokens of one update), POINTS (10 on each curve), LAYERS (6; 12 in training), WIDTH (512; 768), HEADS
# (8; 12), VOCABULARY (4096), LEARNING_RATE (3e-4), PATTERN_LENGTH (4096), ACCUMULATE (1), HELD_OUT (tenth of every contig:
# the last), DATA (../shared/data).
set -euo pipefail
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

out=gpu-study data=() parts=(lengths patterns) only='' tiny=no seconds=0
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0" && exit 0 ;;
    --data) data+=("$2") && shift 2 ;;
    -o) out=$2 && shift 2 ;;
    --part) parts=("$2") && shift 2 ;;
    --only) only=$2 && shift 2 ;;
    --seconds) seconds=$2 && shift 2 ;;
    --tiny) tiny=yes && shift ;;
    *) echo "gpu_study.sh: unknown argument '$1'" >&2 && exit 2 ;;
  esac
done

lengths=(512 1024 4096) block=64 sentence=100 most_bases=0
case ${parts[*]} in
  training)
    [ "$seconds" -gt 0 ] || { echo "gpu_study.sh: --part training needs --seconds N" >&2 && exit 2; }
    end=$((SECONDS + seconds)) STEPS="of $seconds seconds"
    [ ${#data[@]} -gt 0 ] || for file in human-chm13-mhc/chm13_mhc.fa.gz human-grch37/grch37.pieces.fa.gz; do
      [ ! -r "${DATA:=$root/../shared/data}/$file" ] || data+=("$DATA/$file")
    done
    [ $tiny = yes ] || : "${LAYERS:=12}" "${WIDTH:=768}" "${HEADS:=12}" "${POINTS:=4}" "${SAMPLES:=200}" ;;
  *) [ "$seconds" = 0 ] || { echo "gpu_study.sh: --seconds is of --part training" >&2 && exit 2; } ;;
esac
if [ $tiny = yes ]; then # the same proportions, a sixteenth of the size
  most_bases=60000
  lengths=(32 64 256) block=4 sentence=10
  : "${STEPS:=40}" "${STEP_TOKENS:=512}" "${LEARNING_RATE:=3e-3}" "${POINTS:=2}" "${LAYERS:=1}" "${WIDTH:=32}" "${HEADS:=2}" "${VOCABULARY:=100}"
  : "${PATTERN_LENGTH:=256}" "${SIMULATED:=300K}" "${SAMPLES:=20}"
fi
: "${STEPS:=2000}" "${STEP_TOKENS:=131072}" "${POINTS:=10}" "${LAYERS:=6}" "${WIDTH:=512}" "${HEADS:=8}" "${VOCABULARY:=4096}"
: "${LEARNING_RATE:=3e-4}" "${PATTERN_LENGTH:=4096}" "${ACCUMULATE:=1}" "${DEVICE:=auto}" "${SIMULATED:=20M}" "${SAMPLES:=0}"

if [ -z "${BIGBIRD:-}" ]; then
  ensure_packages "${packages_base[@]}"
  configure release
  build release bigbird
  BIGBIRD=$root/build/release/bin/bigbird
fi
[ -x "$BIGBIRD" ] || fail "$BIGBIRD is not a program" "set BIGBIRD to the path of bigbird"
compute=(--device "$DEVICE")
[ -z "${PRECISION:-}" ] || compute+=(--precision "$PRECISION")

mkdir -p "$out"
# What the numbers depend on; another setting needs another folder.
settings="steps $STEPS, $STEP_TOKENS tokens an update, $LAYERS layers, width $WIDTH, $HEADS heads, blocks of $block, vocabulary $VOCABULARY, learning rate $LEARNING_RATE, data ${data[*]:-simulated $SIMULATED}"
if [ -e "$out/settings" ] && [ "$(cat "$out/settings")" != "$settings" ]; then
  fail "$out holds a study with other settings: $(cat "$out/settings")" "give another folder with -o"
fi
printf '%s\n' "$settings" >"$out/settings"

# A part with a limit puts a timeout before every command.
before=()
run() {
  printf '\n$ %s\n' "$*" >>"$out/study.log"
  "${before[@]}" "$@" 2>>"$out/study.log"
}

prepare() { # genome, documents, vocabulary, shards
  [ ! -e "$out/prepared" ] || return 0
  say "preparing the data"
  local genome=$out/genome.fa
  if [ ${#data[@]} -eq 0 ]; then
    run "$BIGBIRD" simulate -o "$out/simulated" --bp "$SIMULATED" --chromosome-count 2 --seed 1 --force
    data=("$out/simulated/genome.fa.gz")
  fi
  local file number=0
  : >"$genome"
  for file in "${data[@]}"; do # contigs of different files may share a name
    number=$((number + 1))
    [ -r "$file" ] || fail "$file cannot be read" "give FASTA files, plain or compressed, with --data"
    case $file in *.gz) gzip -dc "$file" ;; *) cat "$file" ;; esac | sed "s/^>\([^ ]*\).*/>data$number.\1/" |
      awk -v most=$most_bases '/^>/ { bases = 0 } { if (!/^>/) bases += length($0) } !most || bases <= most' >>"$genome"
  done
  # Every contig's length: the last tenth is held out, with what is left of it in whole documents.
  awk '/^>/ { name = substr($1, 2); next } { bases[name] += length($1) } END { for (name in bases) print name "\t" bases[name] }' \
    "$genome" | LC_ALL=C sort >"$out/contigs.tsv"
  awk -v OFS='\t' -v tenths="${HELD_OUT:-1}" '{ print $1, int($2 * (10 - tenths) / 10), $2 }' "$out/contigs.tsv" >"$out/held-out.bed"
  awk -v OFS='\t' '{ print $1, 0, $2 }' "$out/held-out.bed" >"$out/training.bed"
  # Samples are whole sentences of one document: short sentences and long documents fill samples of every length, so that
  # equal steps mean equal tokens (the column tokens_seen says how nearly).
  local chunk=(-f "$genome" --chromosomes all --max-n 0.5 --min-sentences 1000 --max-sentences 2000
    --min-sentence-length "$sentence" --max-sentence-length $((2 * sentence)))
  run "$BIGBIRD" chunk "${chunk[@]}" -o "$out/train.bed" --passes 5 --exclude "$out/held-out.bed"
  run "$BIGBIRD" chunk "${chunk[@]/1000/10}" -o "$out/valid.bed" --passes 1 --exclude "$out/training.bed"
  run "$BIGBIRD" train-bpe -f "$genome" -d "$out/train.bed" -o "$out/tokenizer" --vocab-size "$VOCABULARY" --trainer apart --force
  run "$BIGBIRD" tokenize -m "$out/tokenizer" -f "$genome" -d "$out/train.bed" -o "$out/train"
  run "$BIGBIRD" tokenize -m "$out/tokenizer" -f "$genome" -d "$out/valid.bed" -o "$out/valid"
  touch "$out/prepared"
}

value() { # value FILE KEY: a number at the top of a JSON file
  tr -d ' \n' <"$1" | grep -o "[{,]\"$2\":[-+0-9.eE]*" | head -n 1 | sed 's/.*://'
}

pretrain() { # pretrain FOLDER LENGTH ATTENTION STEPS EVERY [OPTION]...
  # google's rule takes full attention for short sequences; the patterns are compared as they are named.
  local mode=()
  [ "$3" = full ] || mode=(--random-mode google)
  run "$BIGBIRD" pretrain --train "$out/train" -m "$out/tokenizer" -o "$1" --layers "$LAYERS" --width "$WIDTH" \
    --heads "$HEADS" --length "$2" --block-size "$block" --attention "$3" "${mode[@]}" --batch "$((STEP_TOKENS / $2))" \
    --accumulate "$ACCUMULATE" --steps "$4" --lr "$LEARNING_RATE" --no-nsp --optimizer torch --schedule huggingface \
    --clip-norm never --dropout 0.1 --attention-dropout 0.1 \
    --save-every "$5" --keep-last 0 --keep-best 0 "${compute[@]}" "${@:6}"
}
checkpoints() { find "$1" -maxdepth 1 -name 'checkpoint-*' | LC_ALL=C sort -V; }

score() { # score FOLDER CHECKPOINT PART NAME LENGTH ATTENTION: a line of the curve
  local step=${2##*-} tokens seconds
  run "$BIGBIRD" evaluate -m "$2" --data "$out/valid" --length "$5" --no-nsp --samples "$SAMPLES" \
    "${scoring[@]}" >"$1/evaluate-$step.json" || return
  read -r tokens seconds < <(awk -F'\t' -v step="$step" '
    /^##/ { next }
    $1 ~ /^#?step$/ { for (i = 1; i <= NF; i++) column[$i] = i; next }
    $1 <= step + 0 { tokens = $column["tokens"]; seconds = $column["seconds"] }
    END { print tokens, seconds }' "$1/metrics.tsv")
  printf '%s\t%s\t%d\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n' "$3" "$4" "$5" "$6" "$((10#$step))" "$tokens" "$seconds" \
    "$(value "$1/evaluate-$step.json" mlm_accuracy)" "$(value "$1/evaluate-$step.json" mlm_loss)" \
    "$(value "$1/evaluate-$step.json" bits_per_base)"
}

train_and_score() { # train_and_score PART NAME LENGTH ATTENTION
  local part=$1 name=$2 length=$3 attention=$4 folder=$out/$1-$2
  [ ! -e "$folder/curve.tsv" ] || return 0
  say "$part: $name"
  local again=() checkpoint
  [ ! -e "$folder" ] || again=(--resume)
  pretrain "$folder" "$length" "$attention" "$STEPS" $(((STEPS + POINTS - 1) / POINTS)) "${again[@]}"
  for checkpoint in $(checkpoints "$folder"); do
    score "$folder" "$checkpoint" "$part" "$name" "$length" "$attention"
  done >"$folder/curve.part"
  [ -s "$folder/curve.part" ] || fail "$folder holds no checkpoint" "remove it and start again"
  mv "$folder/curve.part" "$folder/curve.tsv"
  rm -r "$folder"/checkpoint-* # each is three times the size of the model; $folder/final stays
}

# A run that ends in time, whatever the machine: --seconds from the start of this script.
left() { echo $((end - SECONDS > 1 ? end - SECONDS : 1)); }
within() { before=(timeout --foreground --signal=TERM --kill-after=10 "$1"); }
train_for_seconds() {
  local folder=$out/training probe=$out/probe length=${lengths[-1]} begin=$SECONDS share steps overhead scored
  [ ! -e "$folder/curve.tsv" ] || return 0
  rm -rf "$folder" "$probe"
  # A few updates first: what one takes (the first ones set things up), and what comes with a run besides.
  within $(($(left) / 3 + 1))
  say "training: what a step takes"
  # A run that was asked to stop has kept what it had.
  pretrain "$probe" "$length" bigbird 12 12 || [ -e "$probe/metrics.tsv" ] || fail "the first run ended with an error" "see $out/study.log"
  overhead=$((SECONDS - begin)) begin=$SECONDS
  share=$(awk -F'\t' '
    /^##/ { next }
    $1 ~ /^#?step$/ { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { time[++rows] = $column["seconds"] }
    END { if (rows > 4) print (time[rows] - time[4]) / (rows - 4); else if (rows > 1) print (time[rows] - time[1]) / (rows - 1) }' \
    "$probe/metrics.tsv" 2>/dev/null || true)
  [ -n "$share" ] || fail "not even two updates in $seconds seconds" "see $out/study.log; a smaller model: LAYERS, WIDTH, STEP_TOKENS"
  # The model as good as untrained: the first point of the curve, and what a score takes.
  local checkpoint
  within "$(left)"
  checkpoint=$(checkpoints "$probe" | tail -n 1)
  score "$probe" "$checkpoint" training probe "$length" bigbird >"$out/probe.curve" || fail "no time to score the first steps" "give more --seconds"
  scored=$((SECONDS - begin + 1))
  rm -r "$probe"
  # A tenth is kept back, for clocks that fall when the device warms up.
  steps=$(awk -v left="$(left)" -v overhead=$overhead -v scored=$scored -v points="$POINTS" -v share="$share" \
    'BEGIN { steps = int(0.9 * (left - overhead - points * (scored + 2)) / share); if (steps < points) steps = points; print steps }')
  echo "$share seconds a step, $overhead seconds for the first run, $scored for a score: $steps steps" | tee -a "$out/study.log" >&2
  within $(($(left) - (POINTS + 1) * scored > 3 ? $(left) - (POINTS + 1) * scored : 3))
  say "training: $steps steps"
  pretrain "$folder" "$length" bigbird "$steps" $(((steps + POINTS - 1) / POINTS)) || echo "training ended before its $steps steps" >&2
  # The last checkpoint first, and if it takes all the time that is left: it is what the run was for.
  : >"$folder/curve.part"
  for checkpoint in $(checkpoints "$folder" | tac); do
    [ ! -s "$folder/curve.part" ] || [ "$(left)" -gt $((scored + 1)) ] || break
    within "$(left)"
    score "$folder" "$checkpoint" training base "$length" bigbird >>"$folder/curve.part" || break
  done
  [ -s "$folder/curve.part" ] || fail "no checkpoint was scored in $seconds seconds" "see $out/study.log; give more --seconds"
  cat "$out/probe.curve" >>"$folder/curve.part"
  mv "$folder/curve.part" "$folder/curve.tsv"
  rm -r "$folder"/checkpoint-*
}

scoring=("${compute[@]}")
[ "$seconds" = 0 ] || within "$(left)"
prepare
for part in "${parts[@]}"; do
  case $part in
    lengths) names=("${lengths[@]}") ;;
    patterns) names=(random window window+random bigbird full) ;;
    training)
      train_for_seconds
      continue ;;
    *) echo "gpu_study.sh: no part '$part' (lengths, patterns, training)" >&2 && exit 2 ;;
  esac
  for name in "${names[@]}"; do
    [ -z "$only" ] || [ "$only" = "$name" ] || continue
    if [ "$part" = lengths ]; then
      train_and_score lengths "$name" "$name" bigbird
    else
      train_and_score patterns "$name" "$PATTERN_LENGTH" "$name"
    fi
  done
done

# The tables, of every run that is done.
shopt -s nullglob
curves=("$out"/*/curve.tsv)
[ ${#curves[@]} -gt 0 ] || fail "no run is done" "see $out/study.log"
{
  printf 'part\trun\tlength\tattention\tstep\ttokens_seen\tseconds\tmlm_accuracy\tmlm_loss\tbits_per_base\n'
  cat "${curves[@]}" | LC_ALL=C sort -t "$(printf '\t')" -k1,1 -k3,3n -k2,2 -k5,5n
} >"$out/study.tsv"

table() { # table PART TITLE: the last point of every run, then the curves side by side
  awk -F'\t' -v part="$1" -v title="$2" '
    NR > 1 && $1 == part {
      if (!($2 in last)) order[++runs] = $2
      last[$2] = $0; steps[$5] = 1; bits[$2, $5] = $10; accuracy[$2, $5] = $8
    }
    END {
      if (!runs) exit
      printf "## %s\n\n| run | tokens seen | accuracy | bits per base | nats per token | seconds |\n|---|---|---|---|---|---|\n", title
      for (i = 1; i <= runs; i++) {
        split(last[order[i]], f, "\t")
        printf "| %s | %d | %.4f | %.4f | %.4f | %.0f |\n", f[2], f[6], f[8], f[10], f[9], f[7]
      }
      printf "\nAccuracy / bits per base along the way:\n\n| step |"
      for (i = 1; i <= runs; i++) printf " %s |", order[i]
      printf "\n|---|"
      for (i = 1; i <= runs; i++) printf "---|"
      print ""
      count = 0
      for (s in steps) { points[++count] = s + 0 }
      for (i = 1; i <= count; i++) for (j = i + 1; j <= count; j++) if (points[j] < points[i]) { t = points[i]; points[i] = points[j]; points[j] = t }
      for (p = 1; p <= count; p++) {
        printf "| %d |", points[p]
        for (i = 1; i <= runs; i++)
          if ((order[i], points[p]) in bits) printf " %.4f / %.4f |", accuracy[order[i], points[p]], bits[order[i], points[p]]
          else printf " |"
        print ""
      }
      print ""
    }' "$out/study.tsv"
}
{
  printf '# Pretraining study\n\nSettings: %s. Held out: the last tenth of every contig. Device: %s.\n\n' "$settings" \
    "$(grep -o 'cuda:[0-9].*\|cpu: .*' "$out/study.log" | head -n 1)"
  table lengths "Context length, equal tokens seen"
  table patterns "Attention pattern at $PATTERN_LENGTH tokens"
  table training "One run of at most $seconds seconds (probe: a few steps)"
} >"$out/study.md"
cat "$out/study.md"
echo "files: $out/study.tsv, $out/study.md"
