#!/usr/bin/env bash
# Training over ranks, as users start it: by a folder, and for every MPI that is here, runs on 1, 2, 4 and 8 ranks leave the bytes of one
# process, go on from one number of ranks to another, and end together when one of them dies, is asked to stop or cannot go on.
#   bash tests/mpi/training.sh PROGRAM     PROGRAM: bigbird, with the plug-ins in ../lib/bigbird beside its folder
# Status 77 when there is no MPI, or no plug-in for it.
set -euo pipefail
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: bash tests/mpi/training.sh PROGRAM" >&2 && exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
plugins=$(cd "$(dirname "$program")/.." && pwd)/lib/bigbird
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader \
  OMPI_MCA_hwloc_base_binding_policy=none OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed() { echo "tests/mpi/training.sh: $*" >&2 && exit 1; }

# --- data, and runs of one process to compare with

"$program" simulate -q -o genome --bp 300k --chromosomes 2 --seed 1
"$program" chunk -q -f genome/genome.fa.gz -o documents.bed.gz --passes 4 --max-n 0.5
"$program" train-bpe -q -f genome/genome.fa.gz -d documents.bed.gz -o tokenizer --vocab-size 300 --sample-bp 200k
"$program" tokenize -q -m tokenizer -f genome/genome.fa.gz -d documents.bed.gz -o shards
"$program" promoter build -q --tss genome/promoters.tss.bed -f genome/genome.fa.gz -o promoters --left 100 --right 28
parts=8
# What all runs have in common, but for `steps`, `every`, `save` and `rate`; arguments are added to it.
pretraining() {
  local ranks=$1 run=$2
  shift 2
  echo "$program" pretrain --train shards --valid shards -m tokenizer -o "$run" --layers 2 --width 32 --heads 2 --block-size 16 \
    --length 128 --batch 16 --accumulate $((parts / ranks)) --eval-samples 20 --eval-every "${every:-3}" --steps "${steps:-8}" \
    --save-every "${save:-4}" --lr "${rate:-1e-3}" --device cpu -@ 1 "$@"
}
fine_tuning() {
  local ranks=$1 run=$2
  shift 2
  echo "$program" promoter finetune --data promoters --init one/final -o "$run" --batch 16 --accumulate $((parts / ranks)) --steps 6 \
    --eval-every 2 --lr 1e-3 --device cpu -@ 1 "$@"
}
adafactor=(--optimizer adafactor --clip-norm 1 --average 0.9 --seed 3)
$(pretraining 1 one) -q
lamb=(--optimizer lamb --clip-norm 1 --layer-decay 0.8 --seed 3)
$(pretraining 1 one-adafactor "${adafactor[@]}") -q
$(pretraining 1 one-lamb "${lamb[@]}") -q
streams=(--objective clm --attention transformer-xl --memory 64)
$(pretraining 1 one-streams "${streams[@]}") -q
$(fine_tuning 1 one-promoter) -q
"$program" evaluate -q -m one/final --data shards --baseline-from shards --no-provenance > one.json
"$program" evaluate -q -m one-streams/final --data shards --baseline-from shards --no-provenance > one-streams.json

# Everything of a run but the times that it took.
digests() {
  (cd "$1" && find . -type f ! -name config.toml ! -name memory.tsv | LC_ALL=C sort | while read -r file; do
    case $file in
      */metrics.tsv) awk -F'\t' -v OFS='\t' '/^##/ { print; next } { NF -= 4; print }' "$file" ;;
      */trainer_state.json) grep -v '"seconds"' "$file" ;;
      *) cat "$file" ;;
    esac | sha256sum | sed "s#-#$file#"
  done)
}
same() { diff <(digests "$1") <(digests "$2") > differences || failed "$2 is not $1: $(head -5 differences)"; }

# The process of a rank, by what its launcher told it.
pid_of_rank() {
  local pid
  for pid in $(pgrep -f -- "$program pretrain .* -o $1 "); do
    tr '\0' '\n' < "/proc/$pid/environ" 2>/dev/null | grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK|RANK)=$2" && echo "$pid" && return
  done
  return 1
}
# started RUN: waits until its first update is done.
started() {
  for _ in $(seq 600); do
    [ ! -s "$1/metrics.tsv" ] || ! grep -q '^1	' "$1/metrics.tsv" || return 0
    sleep 0.05
  done
  failed "$1 did not begin: $(cat "$1.log")"
}
# refused STATUS TEXT COMMAND...: ends so, says so once, and leaves nothing. A launcher that kills its processes may drop their last
# words (seen once of MPICH 4.0.2: status 1, neither our line nor its own): then once more, and the test says so.
refused() {
  local status=$1 text=$2 ended try
  shift 2
  for try in 1 2 3; do
    ended=0
    timeout 60 "$@" > refused.out 2> refused.err || ended=$?
    [ $ended -eq "$status" ] || failed "status $ended, not $status: $* : $(cat refused.err)"
    ! grep -qE '^bigbird: error: |MPI_Abort' refused.err || break
    echo "tests/mpi: try $try: the launcher dropped all that the rank said: $*" >&2
    rm -rf full
  done
  [ "$(grep -c '^bigbird: error: ' refused.err)" -eq 1 ] || failed "not one error: $* : $(cat refused.err)"
  grep -q "^bigbird: error: .*$text" refused.err || failed "no '$text': $* : $(cat refused.err)"
  grep -q '^hint: ' refused.err || failed "no hint: $* : $(cat refused.err)"
  [ ! -e refused ] || failed "left a run behind: $*"
}

# --- without an MPI: processes that meet in a folder

together() { # together RUN FOLDER OPTION...: four ranks; 0 when all ended well
  local run=$1 folder=$2 rank pids=() status=0
  shift 2
  for rank in 0 1 2 3; do
    RANK=$rank WORLD_SIZE=4 $(pretraining 4 "$run") --ranks "folder:$folder" "$@" >> "$run.log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  return $status
}
together meeting "$work/meet" -q || failed "ranks by a folder: $(cat meeting.log)"
same one meeting
together meeting-streams "$work/meet" "${streams[@]}" -q || failed "streams on ranks by a folder: $(cat meeting-streams.log)"
same one-streams meeting-streams
[ ! -e meet ] || failed "ranks by a folder left it"
(steps=100000 every=0 together meeting-dies "$work/meet") &
pid=$!
started meeting-dies
begin=$SECONDS
kill -KILL "$(pid_of_rank meeting-dies 2)"
if wait $pid; then failed "a run of ranks by a folder outlived one of them"; fi
[ $((SECONDS - begin)) -le 10 ] || failed "ranks by a folder: the others outlived rank 2 by $((SECONDS - begin)) s"
grep -q 'rank 2 has ended' meeting-dies.log || failed "ranks by a folder: $(cat meeting-dies.log)"
RANK=0 WORLD_SIZE=4 $(pretraining 4 refused) --ranks "folder:$work/meet" 2> refused.err && failed "a folder was used twice"
grep -q 'meet: was used before' refused.err || failed "a folder used twice: $(cat refused.err)"
echo "tests/mpi: a folder: four ranks without an MPI leave the bytes of one process; they end together"

# --- under every MPI

tried=0
for family in open_mpi mpich; do
  launcher=mpirun.openmpi
  [ $family = open_mpi ] || launcher=mpirun.mpich
  command -v "$launcher" >/dev/null && [ -e "$plugins/libbigbird_$family.so" ] || continue
  tried=$((tried + 1))
  rm -rf run-* moved* one-long long dies full

  # The bytes of one process.
  for ranks in 1 2 4 8; do
    "$launcher" -n $ranks $(pretraining $ranks run-$ranks) -q
    same one run-$ranks
  done
  "$launcher" -n 4 $(pretraining 4 run-adafactor "${adafactor[@]}") -q
  same one-adafactor run-adafactor
  "$launcher" -n 4 $(pretraining 4 run-lamb "${lamb[@]}") -q
  same one-lamb run-lamb
  # What streams remember goes with their ranks, and from 8 of them to 2.
  "$launcher" -n 8 $(pretraining 8 run-streams "${streams[@]}") -q
  same one-streams run-streams
  rm -r run-streams/checkpoint-8 run-streams/final
  "$launcher" -n 2 $(pretraining 2 run-streams "${streams[@]}" --resume) -q
  same one-streams run-streams
  "$launcher" -n 4 "$program" evaluate -q -m one-streams/final --data shards --baseline-from shards --no-provenance > ranks.json
  cmp one-streams.json ranks.json || failed "$launcher: evaluate, of streams"
  "$launcher" -n 2 $(fine_tuning 2 run-promoter) -q
  same one-promoter run-promoter
  "$launcher" -n 4 "$program" evaluate -q -m one/final --data shards --baseline-from shards --no-provenance > ranks.json
  cmp one.json ranks.json || failed "$launcher: evaluate"

  # From 4 ranks to 1 to 2.
  "$launcher" -n 4 $(pretraining 4 moved --log-ranks --log moved.log) > moved.out 2>&1
  grep -q 'rank 3 of 4' moved.log.rank-3 || failed "--log-ranks: $(cat moved.out)"
  rm -r moved/checkpoint-8 moved/final
  $(pretraining 1 moved --resume) -q
  same one moved
  rm -r moved/checkpoint-8 moved/final
  "$launcher" -n 2 $(pretraining 2 moved --resume) -q
  same one moved

  # A signal to one rank stops all of them after the update; another number of ranks goes on.
  export steps=60 every=1000 save=1000
  $(pretraining 1 one-long) -q
  "$launcher" -n 4 $(pretraining 4 long) > long.log 2>&1 &
  pid=$!
  started long
  kill -TERM "$(pid_of_rank long 2)"
  ended=0
  wait $pid || ended=$?
  [ $ended -ne 0 ] && [ -n "$(ls -d long/checkpoint-*)" ] && [ ! -e long/final ] || failed "$launcher: a signal: $(cat long.log)"
  grep -qE 'stopped( by SIGTERM)?: stopped after step|stopped after step' long.log || failed "$launcher: a signal: $(cat long.log)"
  $(pretraining 1 long --resume) -q
  cmp one-long/final/model.safetensors long/final/model.safetensors || failed "$launcher: what a signal stopped went on otherwise"

  # Any rank may die.
  export steps=100000 every=0 save=5
  for dead in 0 1 2 3; do
    rm -rf dies
    "$launcher" -n 4 $(pretraining 4 dies) > dies.log 2>&1 &
    pid=$!
    started dies
    begin=$SECONDS
    kill -KILL "$(pid_of_rank dies $dead)"
    ended=0
    wait $pid || ended=$?
    [ $ended -ne 0 ] && [ $((SECONDS - begin)) -le 10 ] || failed "$launcher: status $ended, $((SECONDS - begin)) s after rank $dead died"
    [ -z "$(pgrep -f -- "$program pretrain .* -o dies ")" ] || failed "$launcher: ranks outlived rank $dead"
    # The launcher's own words: Open MPI's name the rank; MPICH's a process, the killed one or one that was reading from it.
    grep -qE "process rank $dead with PID|BAD TERMINATION|returned -1: No such process" dies.log || failed "$launcher: rank $dead: $(cat dies.log)"
  done
  unset steps every save

  # Ranks that do not fit together, and what one of them meets alone.
  refused 2 '3 ranks, each with --accumulate 2: 6 parts do not make --batch 16' "$launcher" -n 3 $(pretraining 4 refused)
  refused 2 "rank 1 has '0.002' for --lr, rank 0 has '0.001'" \
    "$launcher" -n 1 $(pretraining 2 refused) : -n 1 $(rate=2e-3 pretraining 2 refused)
  refused 1 'rank 1: .*nowhere' "$launcher" -n 1 $(pretraining 2 refused) : -n 1 $(pretraining 2 refused | sed 's/--train shards/--train nowhere/')
  refused 2 'for the device, rank 0 has' \
    "$launcher" -n 1 $(pretraining 2 refused) : -n 1 env BIGBIRD_CPU_LEVEL=x86-64-v2 $(pretraining 2 refused)
  refused 1 'one: holds a run already' "$launcher" -n 2 $(pretraining 2 one)
  # A full disk: files of rank 0 must not grow past 16 KiB (nor those by which an MPI shares memory, so it must not).
  refused 1 'rank 0: .*full' env OMPI_MCA_btl=self,tcp PMIX_MCA_gds=hash UCX_TLS=tcp,self "$launcher" -n 1 bash -c "ulimit -f 16; exec $(pretraining 2 full)" : -n 1 $(pretraining 2 full)
  echo "tests/mpi: $launcher: training on 1, 2, 4 and 8 ranks leaves the bytes of one process; ranks end together"
done
if [ $tried -eq 0 ]; then
  echo "SKIPPED: tests/mpi: no mpirun.openmpi or mpirun.mpich with a plug-in (libopenmpi-dev openmpi-bin, or libmpich-dev mpich)"
  exit 77
fi
