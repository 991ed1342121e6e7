#!/usr/bin/env bash
# A pretraining run that is killed, goes on, is asked to stop, and goes on again ends with the same bits as one that ran
# through.  bash tests/gpu/resume.sh PATH_OF_BIGBIRD [DEVICE]     Environment: STEPS (1000), LENGTH (1024)
set -euo pipefail
bigbird=$1 device=${2:-cuda} steps=${STEPS:-1000} length=${LENGTH:-1024}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed() {
  echo "FAILED: $*" >&2
  tail -n 15 "$work/log" >&2
  exit 1
}
run() { "$bigbird" "$@" 2>>"$work/log"; }

run simulate -o genome --bp 600K --chromosome-count 2 --seed 1
run chunk -f genome/genome.fa.gz -o documents.bed --chromosomes all --passes 2 --max-n 0.5
run train-bpe -f genome/genome.fa.gz -d documents.bed -o tokenizer --vocab-size 512
run tokenize -m tokenizer -f genome/genome.fa.gz -d documents.bed -o shards
pretrain() { # pretrain RUN [OPTION]...
  run pretrain --train shards -m tokenizer -o "$1" --layers 2 --width 128 --heads 2 --length "$length" --batch 4 \
    --accumulate 2 --steps "$steps" --lr 1e-3 --save-every $((steps / 10)) --device "$device" "${@:2}"
}
pretrain whole || failed "the uninterrupted run"

# The newest checkpoint's step; nothing before the first.
reached() { find pieces -maxdepth 1 -name 'checkpoint-*' 2>/dev/null | sed 's/.*-//' | sort -n | tail -n 1; }
stop_behind() { # stop_behind STEP SIGNAL [OPTION]...: the run gets the signal once it has passed that checkpoint
  local step=$1 signal=$2 running=0
  pretrain pieces "${@:3}" &
  local pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    if [ "$(reached || true)" != "" ] && [ "$(reached)" -ge "$step" ]; then
      pkill "-$signal" -P "$pid" && running=1
      break
    fi
    sleep 0.02
  done
  wait "$pid" || true
  [ $running = 1 ] || failed "the run ended before it could be stopped: give more STEPS"
  [ ! -e pieces/final ] || failed "the run ended all the same: give more STEPS"
}
stop_behind $((steps / 10)) KILL
stop_behind $((steps / 2)) TERM --resume
pretrain pieces --resume || failed "the resumed run"

cmp whole/final/model.safetensors pieces/final/model.safetensors || failed "the models differ"
# Steps, losses, learning rates and norms; not what says how long they took.
columns() { grep -v '^##' "$1/metrics.tsv" | cut -f 1-9; }
cmp <(columns whole) <(columns pieces) || failed "the logged losses differ"
echo "killed, resumed, stopped, resumed: $steps steps, the same bits as the uninterrupted run"
