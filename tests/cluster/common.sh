# What tests/cluster/run.sh and tests/cluster/snakemake.sh share: a folder of their own, small inputs, a Slurm on this
# machine, and a table of what happened. Sourced, not run.
# shellcheck shell=bash disable=SC2034

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" LC_ALL=C
failures=0
patience=${PATIENCE:-2}

stop() { echo "$0: $1" >&2 && exit "${2:-1}"; }

# begin PROGRAM: $bigbird, and $work, which is removed at the end with the Slurm in it, unless something failed or KEEP is
# set. Ends with status 77 where Slurm is not installed.
begin() {
  bash "$here/slurm.sh" available || exit $?
  bigbird=$(realpath -e "$1" 2>/dev/null) || stop "$1: no such program (--program FILE)" 2
  work=$(mktemp -d "${TMPDIR:-/tmp}/bigbird-cluster.XXXXXX")
  chmod 755 "$work"
  slurm=$work/slurm
  started=$(date +%s%N)
  trap finish EXIT
}

finish() {
  local status=$?
  if [ -e "$slurm/slurm.conf" ]; then bash "$here/slurm.sh" stop "$slurm" || status=1; fi
  [ "$failures" -eq 0 ] || status=1
  if [ $status -ne 0 ] && [ $status -ne 77 ]; then
    echo "FAILED: $failures; everything is kept in $work" >&2
  elif [ -z "${KEEP:-}" ]; then
    rm -rf "$work"
  fi
  exit $status
}

start_slurm() { # start_slurm NODES CPUS
  bash "$here/slurm.sh" start "$slurm" "$@"
  # shellcheck source=/dev/null
  . "$slurm/env"
}

# seconds since begin, and what happened then
note() { awk -v now="$(date +%s%N)" -v begin="$started" -v what="$*" 'BEGIN { printf "%7.1f  %s\n", (now - begin) / 1e9, what }'; }
wrong() {
  failures=$((failures + 1))
  note "WRONG: $*" >&2
}
holds() { # holds FILE TEXT: a line of the file has the text
  grep -qF -- "$2" "$1" 2>/dev/null || wrong "$1 does not say: $2"
}
same() { cmp "$1" "$2" >&2 || wrong "$1 and $2 differ"; }
# Of two summaries, all but what the runs took.
same_summary() {
  local cost='/^  "cost": {$/,/^  },*$/d'
  cmp <(sed "$cost" "$1") <(sed "$cost" "$2") >&2 || wrong "$1 and $2 differ"
}
# What a run that ends well leaves nowhere.
nothing_left() { # nothing_left FOLDER...
  local left
  left=$(find "$@" \( -name '*.parts' -o -name '*.lease' -o -name '*.tmp*' -o -name '*.removed*' \) -print)
  [ -z "$left" ] || wrong "left behind: $left"
}

# within SECONDS COMMAND...: tries it until it is true; PATIENCE times as long, on a machine that has much else to do
within() {
  local until=$((SECONDS + $1 * patience))
  shift
  until "$@"; do
    if [ $SECONDS -ge $until ]; then return 1; fi
    sleep 0.05
  done
}

# state JOB: of one job, "COMPLETED" and so on; of an array's task as 12_3.
state() { scontrol -o show job "$1" 2>/dev/null | sed -n '1s/.* JobState=\([A-Z_]*\).*/\1/p'; }
ended() { # ended JOB: a job, or all tasks of an array
  ! scontrol -o show job "$1" 2>/dev/null | grep -qE ' JobState=(PENDING|RUNNING|COMPLETING|CONFIGURING|REQUEUED|SUSPENDED)'
}

# A made-up genome with variants, and models of it that know nothing: in FOLDER genome/, chromatin, promoter, other (as
# chromatin, with other weights), tokenizer.
make_inputs() { # make_inputs FOLDER BASES
  local folder=$1
  {
    "$bigbird" simulate -o "$folder/genome" --bp "$2" --chromosome-count 3 --seed 1
    "$bigbird" chunk -f "$folder/genome/genome.fa.gz" -o "$folder/documents.bed.gz" --passes 1 --max-n 0.5
    "$bigbird" train-bpe -f "$folder/genome/genome.fa.gz" -d "$folder/documents.bed.gz" -o "$folder/tokenizer" \
      --vocab-size 500 --sample-bp 500K
    "$bigbird" tokenize -m "$folder/tokenizer" -f "$folder/genome/genome.fa.gz" -d "$folder/documents.bed.gz" -o "$folder/train"
    "$bigbird" pretrain --train "$folder/train" -m "$folder/tokenizer" -o "$folder/pretrain" --layers 2 --width 96 \
      --heads 4 --length 128 --block-size 8 --random-mode hf-train --batch 4 --steps 2 --warmup 1
    "$bigbird" chromatin build --peaks "$folder/genome/peaks/peaks.tsv" -f "$folder/genome/genome.fa.gz" \
      -o "$folder/chromatin-data" --window 400 --valid chr2 --test chr3
    for seed in 1 2; do
      "$bigbird" chromatin finetune --data "$folder/chromatin-data" --init "$folder/pretrain/final" \
        -o "$folder/chromatin-run$seed" --steps 2 --batch 4 --eval-samples 20 --seed "$seed"
    done
    "$bigbird" promoter build --tss "$folder/genome/promoters.tss.bed" -f "$folder/genome/genome.fa.gz" \
      -o "$folder/promoter-data" --left 300 --right 100
    "$bigbird" promoter finetune --data "$folder/promoter-data" --init "$folder/pretrain/final" \
      -o "$folder/promoter-run" --steps 2 --batch 4
  } 2>"$folder/inputs.log" || { tail -n 3 "$folder/inputs.log" >&2 && stop "the inputs could not be made"; }
  mv "$folder/chromatin-run1/final" "$folder/chromatin"
  mv "$folder/chromatin-run2/final" "$folder/other"
  mv "$folder/promoter-run/final" "$folder/promoter"
}
