#!/usr/bin/env bash
# Training over ranks on a real Slurm of two nodes, all of it on this machine, as docs/ranks.md has it: srun by PMI-2 (MPICH)
# and PMIx (Open MPI) leaves the bytes of one process; a job that is signalled saves, and goes on in the next; a rank that dies
# ends the others; srun without --mpi is refused.
#   bash tests/cluster/ranks.sh [--program BIGBIRD]   BIGBIRD is build/release/bin/bigbird
# Status 77: Slurm, or every MPI with its plug-in, is not there. KEEP and PATIENCE as in run.sh.
set -euo pipefail
# shellcheck source=tests/cluster/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
program=$root/build/release/bin/bigbird
while [ $# -gt 0 ]; do
  case $1 in
    --program) program=${2:-} && shift ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) stop "unknown word '$1' (--program FILE)" 2 ;;
  esac
  shift
done
plugins=$(cd "$(dirname "$program")/.." && pwd)/lib/bigbird
begin "$program"
cd "$work"

"$bigbird" simulate -q -o genome --bp 300k --chromosome-count 2 --seed 1
"$bigbird" chunk -q -f genome/genome.fa.gz -o documents.bed.gz --passes 2 --max-n 0.5
"$bigbird" train-bpe -q -f genome/genome.fa.gz -d documents.bed.gz -o tokenizer --vocab-size 300 --sample-bp 200k
"$bigbird" tokenize -q -m tokenizer -f genome/genome.fa.gz -d documents.bed.gz -o shards
pretraining() { # pretraining RANKS RUN STEPS OPTION...
  local ranks=$1 run=$2 steps=$3
  shift 3
  echo "$bigbird" pretrain --train shards -m tokenizer -o "$run" --layers 2 --width 32 --heads 2 --block-size 16 --length 128 \
    --batch 16 --accumulate $((8 / ranks)) --steps "$steps" --save-every 100000 --device cpu -@ 1 "$@"
}
# So many steps that a run is still on when a signal comes: some seconds on a machine of any speed.
steps=60 begin=$(date +%s%N)
$(pretraining 1 one $steps) -q
steps=$((steps * (1 + 4000 / ((($(date +%s%N) - begin) / 1000000) + 1))))
rm -r one
$(pretraining 1 one $steps) -q

# Slurm's PMIx keeps its sockets in a folder of each node.
for node in n1 n2 n3; do
  mkdir -p "$slurm/nodes/$node" "$slurm/spool/$node"
  echo "PMIxCliTmpDirBase=$slurm/spool/$node" >"$slurm/nodes/$node/mpi.conf"
done
start_slurm 3 4
# Nodes of one machine are no two machines to an MPI's shared memory. One rank a node: an MPI that waits takes a core.
export OMPI_MCA_btl=self,tcp UCX_TLS=tcp,self
submit() { sbatch --parsable -N 2 --ntasks-per-node=1 --partition main -o "$1.log" --wrap "$2"; } # submit NAME COMMAND: the job
has_begun() { grep -q '^1	' "$1/metrics.tsv" 2>/dev/null; }
rank_process() { # rank_process RUN RANK
  local pid
  for pid in $(pgrep -f -- "$bigbird pretrain .* -o $1 "); do
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "SLURM_PROCID=$2" && echo "$pid" && return
  done
  return 1
}

tried=0
for way in pmi2 pmix; do
  family=mpich
  [ $way = pmi2 ] || family=open_mpi
  [ -e "$plugins/libbigbird_$family.so" ] && srun --mpi=list 2>&1 | grep -qw "$way" || continue
  tried=$((tried + 1))
  launch="srun --mpi=$way --kill-on-bad-exit=1 -n 2"

  job=$(submit $way "$launch $(pretraining 2 $way $steps)")
  within 60 ended "$job" || wrong "$way did not end"
  same one/final/model.safetensors $way/final/model.safetensors
  same one/checkpoint-$steps/optimizer.safetensors $way/checkpoint-$steps/optimizer.safetensors
  holds $way.log "rank 0 of 2 (1 on this machine)"

  # As before a time limit: a signal to the ranks. The next job, of one process, goes on.
  job=$(submit $way-stop "$launch $(pretraining 2 $way-stop $steps)")
  within 30 has_begun $way-stop || wrong "$way-stop did not begin"
  scancel --signal=TERM "$job"
  within 30 ended "$job" || wrong "$way-stop did not end"
  holds $way-stop.log "stopped after step"
  [ ! -e $way-stop/final ] || wrong "$way-stop was not stopped"
  job=$(submit $way-stop "srun --mpi=$way --kill-on-bad-exit=1 -n 1 $(pretraining 1 $way-stop $steps --resume)")
  within 60 ended "$job" || wrong "$way-stop did not end again"
  same one/final/model.safetensors $way-stop/final/model.safetensors

  job=$(submit $way-dies "$launch $(pretraining 2 $way-dies 1000000)")
  within 30 has_begun $way-dies || wrong "$way-dies did not begin"
  kill -KILL "$(rank_process $way-dies 1)"
  within 5 ended "$job" || wrong "$way: the job outlived rank 1"
  [ "$(state "$job")" = FAILED ] || wrong "$way: a job with a dead rank is $(state "$job")"
  note "srun --mpi=$way: the bytes of one process; a signal saves; a dead rank ends the job"
done
[ $tried -gt 0 ] || { note "SKIPPED: no plug-in for an MPI beside the program" && exit 77; }

job=$(submit none "srun --mpi=none -n 2 $(pretraining 2 none 10)")
within 30 ended "$job" || wrong "srun --mpi=none did not end"
holds none.log "srun started 2 processes, which know nothing of each other"
[ ! -e none ] || wrong "srun --mpi=none left a run"
note "srun without --mpi is refused"
