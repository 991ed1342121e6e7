#!/usr/bin/env bash
# Shards on a real Slurm of three nodes, all of it on this machine: tasks and nodes die, tasks are queued again, two copies
# of one shard meet, a time limit comes near; the merged output has the bytes of one run. Then what goes wrong between
# machines: one line each, and nothing half-written.
#   bash tests/cluster/run.sh [--program BIGBIRD]   a made-up genome, and models that know nothing
#   ... --real            the 29k real variants of BIGBIRD_SHARED (../shared) in place of made-up ones: minutes
# BIGBIRD is build/release/bin/bigbird. Status 77: Slurm is not installed. KEEP=yes keeps the folder of a run that passed;
# PATIENCE=20 waits ten times as long for everything, on a machine that has much else to do.
set -euo pipefail
# shellcheck source=tests/cluster/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
program=$root/build/release/bin/bigbird
real=no
while [ $# -gt 0 ]; do
  case $1 in
    --program) program=${2:-} && shift ;;
    --real) real=yes ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) stop "unknown word '$1' (--program FILE, --real)" 2 ;;
  esac
  shift
done

begin "$program"
cd "$work"
mkdir inputs
make_inputs inputs 2400K
genome=inputs/genome/genome.fa.gz variants=inputs/genome/variants.vcf.gz chunk=20 region=(-r chr1)
if [ $real = yes ]; then
  shared=$(realpath "${BIGBIRD_SHARED:-$root/../shared}")/data
  patience=${PATIENCE:-20}
  genome=$shared/human-grch37/grch37.sparse.fa.gz variants=$shared/vcf-grch37/kgp3_chr20_1M-2M.b37.vcf.gz chunk=100 region=(-r 20:1000000-1300000)
  [ -r "$variants" ] || stop "--real: $variants is not there (BIGBIRD_SHARED names the folder of data)"
fi
score=(variants -m inputs/chromatin -f "$genome" "$variants" --chunk-size "$chunk")
few=(inputs/genome/variants.vcf.gz --chunk-size 20 -r chr2:1-200000)

# What the node n3 has under names that all know: other weights, a genome with a contig more, a small disk, a folder that is
# not shared.
mkdir -p "$slurm/nodes/n3" model genome small apart inputs/other-genome
cp inputs/chromatin/* model
zcat inputs/genome/genome.fa.gz | tee genome/genome.fa >inputs/other-genome/genome.fa
printf '>chrM\nACGT\n' >>inputs/other-genome/genome.fa
for folder in genome inputs/other-genome; do "$bigbird" info -q "$folder/genome.fa" >/dev/null; done
cat >"$slurm/nodes/n3/mounts" <<MOUNTS
mount --bind $work/inputs/other $work/model
mount --bind $work/inputs/other-genome $work/genome
mount -t tmpfs -o size=32k tmpfs $work/small
mount -t tmpfs tmpfs $work/apart
MOUNTS
start_slurm 3 3
if [ -e "$slurm/isolated" ]; then
  note "Slurm $(sinfo --version | cut -d ' ' -f 2), 3 nodes: each a host name, process numbers and mounts of its own"
else
  note "Slurm $(sinfo --version | cut -d ' ' -f 2), 3 nodes of one host name (no name spaces may be made here)"
fi

# --- Shards, tasks and nodes that die

# What tasks run: bigbird, which stands still once it has a finished chunk where its output has a mark under hold/. From
# within the task, because a fast machine is done with a shard before this script has found its process.
mkdir hold
cat >inputs/held <<HELD
#!/usr/bin/env bash
out='' before=''
for word in "\$@"; do
  [ "\$before" != -o ] || out=\$word
  before=\$word
done
mark=$work/hold/\$out
if [ -n "\$out" ] && [ -e "\$mark" ]; then
  rm "\$mark"
  (until compgen -G "\$out.parts/chunk-*" >/dev/null; do sleep 0.002; done; kill -STOP \$\$ && touch "\$mark.held") &
fi
exec $bigbird "\$@"
HELD
chmod +x inputs/held

# submit OUT OPTION... -- COMMAND...: in $array and $merge
submit() {
  local out=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  "$bigbird" cluster sbatch -q --program "$work/inputs/held" --mem 300M "${options[@]}" "$@" -o "$out" >"$out.submit.sh"
  resubmit "$out"
}
resubmit() { # resubmit OUT: the same script once more
  local said
  said=$(bash "$1.submit.sh")
  read -r _ _ array _ _ _ merge _ <<<"${said//;/ ;}"
}

process_of() { # process_of ARRAY SHARD [NODE]: bigbird in the task of a shard
  local folder name
  for folder in /proc/[0-9]*; do
    { read -r name <"$folder/comm" && [ "$name" = "${bigbird##*/}" ]; } 2>/dev/null || continue
    if { tr '\0' '\n' <"$folder/environ" | awk -v slurm="$slurm/" -v job="$1" -v shard="$2" -v node="${3:-}" '
      index($0, "SLURM_CONF=" slurm) == 1 || $0 == "SLURM_ARRAY_JOB_ID=" job || $0 == "SLURM_ARRAY_TASK_ID=" shard { ++fits }
      /^SLURMD_NODENAME=/ && (node == "" || $0 == "SLURMD_NODENAME=" node) { ++fits }
      END { exit fits != 4 }'; } 2>/dev/null; then
      echo "${folder#/proc/}"
    fi
  done
}
mark() { # mark OUT SHARD...: before they are submitted
  mkdir -p "hold/$1.shards"
  for shard in "${@:2}"; do touch "hold/$1.shards/$shard.vcf.gz"; done
}
# hold OUT:ARRAY:SHARD...: waits until those tasks, which were marked, stand still; their processes' numbers in $held
declare -A held
hold() {
  local task out job shard
  for task in "$@"; do
    IFS=: read -r out job shard <<<"$task"
    within 60 test -e "hold/$out.shards/$shard.vcf.gz.held" || stop "shard $shard of $out has no finished chunk"
    [ ! -e "$out.shards/$shard.vcf.gz" ] || stop "shard $shard of $out was whole before it stood still"
    held[$job.$shard]=$(process_of "$job" "$shard" | head -n 1)
  done
}
node_of() { scontrol -o show job "$1" | sed -n '1s/.* NodeList=\(n[0-9]*\).*/\1/p'; }
end_of() { date -d "$(scontrol -o show job "$1" | sed -n '1s/.* EndTime=\([^ ]*\).*/\1/p')" +%s; } # of the limit, since 1970
log_has() { grep -qF -- "$2" "$1" 2>/dev/null; }
is_in() { [ "$(state "$1")" = "$2" ]; } # is_in JOB STATE

mark stopped.vcf.gz 1 2
mark scored.vcf.gz 1 2 3 4 5 6
submit stopped.vcf.gz --shards 2 --partition spare --time 2 --stop-before 90s -- "${score[@]}" "${region[@]}"
stopped=$array stopped_merge=$merge
submit scored.vcf.gz --shards 8 --time 60 -- "${score[@]}"
first=$array
note "submitted: 8 shards to n1 and n2 (job $first); 2 to n3 with a limit of 120 s, to stop 90 s before it (job $stopped)"

hold stopped.vcf.gz:"$stopped":{1,2} scored.vcf.gz:"$first":{1..6}
on_n1=() on_n2=()
for shard in 1 2 3 4 5 6; do
  if [ "$(node_of "${first}_$shard")" = n1 ]; then on_n1+=("$shard"); else on_n2+=("$shard"); fi
done
[ "${#on_n1[@]}${#on_n2[@]}" = 33 ] || stop "n1 has shards ${on_n1[*]}, n2 ${on_n2[*]}: not three each"
requeued=${on_n1[0]} lost=("${on_n1[@]:1}") killed=${on_n2[0]} waits=${on_n2[1]} unseen=${on_n2[2]}
note "six shards on n1 and n2, two on n3 have finished chunks, and stand still"

kill -KILL "${held[$first.$killed]}"
scontrol requeue "${first}_$requeued"
within 60 is_in "${first}_$killed" FAILED || wrong "shard $killed was killed, and is $(state "${first}_$killed")"
within 60 is_in "${first}_$requeued" PENDING || wrong "shard $requeued is $(state "${first}_$requeued"), not queued again"
note "shard $killed: its process killed, the task failed; shard $requeued: queued again by scontrol"
bash "$here/slurm.sh" hang "$slurm" n2
kill -CONT "${held[$first.$unseen]}"
note "n2's daemon dead; shard $unseen goes on there unseen, shard $waits stands still there"
bash "$here/slurm.sh" fail "$slurm" n1
bash "$here/slurm.sh" revive "$slurm" n1
note "n1 switched off, with shards ${lost[*]}, and on again"

# By Slurm's clock, and not by when they were submitted: a task that goes on early is whole before it should stop. Two
# seconds more, for what the program and its task round to whole ones.
for shard in 1 2; do
  while [ "$(date +%s)" -lt $(($(end_of "${stopped}_$shard") - 90 + 2)) ]; do sleep 0.1; done
done
kill -CONT "${held[$stopped.1]}" "${held[$stopped.2]}" 2>/dev/null || wrong "shards of job $stopped ended while they stood still"
for shard in 1 2; do
  within 60 log_has stopped.vcf.gz.shards/$shard.log "stopped before the end of the job (--stop-before)" ||
    wrong "stopped.vcf.gz.shards/$shard.log does not say that it stopped before the end"
done
[ ! -e stopped.vcf.gz.shards/1.vcf.gz ] || wrong "shard 1 of job $stopped is whole, and should have been stopped"
note "on n3: both shards stopped before their time limit, and are queued again"

within 90 log_has "scored.vcf.gz.shards/$waits.log" "; waiting for it" || wrong "shard $waits does not wait for its twin"
note "shard $waits: its second copy waits for the first, on n2"
kill -CONT "${held[$first.$waits]}" || wrong "the first copy of shard $waits is gone"
within 60 is_in "${first}_$waits" COMPLETED || wrong "shard $waits is $(state "${first}_$waits")"
bash "$here/slurm.sh" revive "$slurm" n2
note "shard $waits: the first copy is done, the second found its output whole; n2's daemon is back"

# --- What goes wrong between machines; and one run of all, while a shard waits for the lease of the machine that was
# switched off to be over

on() { srun --quiet --nodes=1 --ntasks=1 --partition=main,spare --nodelist="$1" "${@:2}"; } # on NODE COMMAND...
refused() { # refused STATUS TEXT COMMAND...: with one line that has the text, and one hint
  local want=$1 text=$2 status=0
  shift 2
  "$@" >refused.out 2>refused.err || status=$?
  grep -v '^srun: ' refused.err >refused.said || true
  if [ $status -ne "$want" ] || ! grep -q "^bigbird: error: .*$text" refused.said ||
    [ "$(grep -c '^bigbird: error: ' refused.said)" -ne 1 ] || [ "$(grep -c '^hint: ' refused.said)" -ne 1 ]; then
    wrong "status $status, not $want with \"$text\", of: $*: $(cat refused.err)"
  fi
}
refusal() { note "refused: $1: $(sed -n 's/^bigbird: error: //p' refused.said)"; }

mkdir few
on n2 "$bigbird" variants -q -m model -f genome/genome.fa "${few[@]}" --shard 1/2 -o few/1.vcf.gz
if [ -e "$slurm/isolated" ]; then
  on n3 "$bigbird" variants -q -m model -f inputs/genome/genome.fa.gz "${few[@]}" --shard 2/2 -o few/weights.vcf.gz
  refused 1 "few/weights.vcf.gz: models differ" on n2 "$bigbird" variants merge few/1.vcf.gz few/weights.vcf.gz -o never.vcf.gz
  refusal "other weights on n3"
  on n3 "$bigbird" variants -q -m inputs/chromatin -f genome/genome.fa "${few[@]}" --shard 2/2 -o few/genome.vcf.gz
  refused 1 "few/genome.vcf.gz: genomes differ" on n2 "$bigbird" variants merge few/1.vcf.gz few/genome.vcf.gz -o never.vcf.gz
  refusal "another genome on n3"
  refused 1 "small/2.vcf.gz" on n3 "$bigbird" variants -q -m model -f genome/genome.fa "${few[@]}" --shard 2/2 -o small/2.vcf.gz
  refusal "n3's disk is full"
  on n2 "$bigbird" variants -q -m model -f genome/genome.fa "${few[@]}" --shard 1/2 -o apart/1.vcf.gz
  on n3 "$bigbird" variants -q -m model -f genome/genome.fa "${few[@]}" --shard 2/2 -o apart/2.vcf.gz
  refused 1 "apart/2.vcf.gz" on n2 "$bigbird" variants merge apart/1.vcf.gz apart/2.vcf.gz -o never.vcf.gz
  refusal "n3 does not share the folder of shards"
  mkdir apart/model
  refused 1 "apart/model" on n3 "$bigbird" variants -q -m apart/model -f genome/genome.fa "${few[@]}" -o few/never.vcf.gz
  refusal "n3 does not have the model"
else
  echo "SKIPPED: nodes that differ (weights, genome, disks, folders): no name spaces may be made here" >&2
fi
seconds=$SECONDS
"$bigbird" "${score[@]}" -o whole.vcf.gz 2>whole.log
"$bigbird" "${score[@]}" "${region[@]}" -o whole-stopped.vcf.gz 2>>whole.log
note "one run of each, to compare with: $((SECONDS - seconds)) s on this machine"

# --- What is left to do is done, and put together

same_run() { # same_run OUT WHOLE: the merged output and what lies beside it
  same "$1" "$2"
  same "$1.skipped.tsv" "$2.skipped.tsv"
  same_summary "$1.summary.json" "$2.summary.json"
}

within 120 ended "$stopped_merge" || wrong "the merge of job $stopped is $(state "$stopped_merge")"
is_in "$stopped_merge" COMPLETED || wrong "the merge of job $stopped is $(state "$stopped_merge")"
for shard in 1 2; do
  holds stopped.vcf.gz.shards/$shard.log "records were finished by the run before"
  scontrol -o show job "${stopped}_$shard" | grep -q ' Restarts=[1-9]' || wrong "shard $shard of job $stopped was not queued again"
done
same_run stopped.vcf.gz whole-stopped.vcf.gz
note "the shards that stopped before their limit went on, and are merged"

within 240 ended "$first" || wrong "job $first goes on: $(squeue -h -j "$first" -o '%K %T %R' | tr '\n' ';')"
within 60 ended "$merge"
is_in "$merge" CANCELLED || wrong "a shard failed, and the merge is $(state "$merge"), not cancelled"
[ ! -e scored.vcf.gz ] || wrong "there is an output although a shard is missing"
for shard in "$requeued" "${lost[@]}"; do holds "scored.vcf.gz.shards/$shard.log" "records were finished by the run before"; done
for shard in "$waits" "$unseen"; do holds "scored.vcf.gz.shards/$shard.log" "is whole already, and of this run"; done
if [ -e "$slurm/isolated" ]; then
  holds "scored.vcf.gz.shards/$waits.log" " on n2 (since "
  holds "scored.vcf.gz.shards/${lost[0]}.log" " on n1 (since "
  holds "scored.vcf.gz.shards/${lost[0]}.log" " is gone, its work is taken over"
fi
for shard in 1 2 3 4 5 6 7 8; do
  [ "$shard" = "$killed" ] || is_in "${first}_$shard" COMPLETED || wrong "shard $shard is $(state "${first}_$shard")"
done
note "7 shards are whole; the merge was cancelled: shard $killed had failed"
refused 1 "scored.vcf.gz.shards/$killed.vcf.gz.summary.json" "$bigbird" variants merge scored.vcf.gz.shards/{1..8}.vcf.gz -o never.vcf.gz
shards=()
for shard in 1 2 3 4 5 6 7 8; do [ "$shard" = "$killed" ] || shards+=("scored.vcf.gz.shards/$shard.vcf.gz"); done
refused 1 "of 8, $killed is missing" "$bigbird" variants merge "${shards[@]}" -o never.vcf.gz
refusal "7 of 8 shards"

resubmit scored.vcf.gz
within 120 ended "$merge" || true
is_in "$merge" COMPLETED || wrong "the script run again: the merge is $(state "$merge")"
holds "scored.vcf.gz.shards/$killed.log" "records were finished by the run before"
same_run scored.vcf.gz whole.vcf.gz
note "the script run again: the last shard done, merged: the bytes of one run"
nothing_left scored.vcf.gz.shards stopped.vcf.gz.shards inputs/genome few .

# --- Two merges at once; a shard that was cut; shards of another run

shards=(scored.vcf.gz.shards/{1..8}.vcf.gz)
for try in 1 2 3; do
  on n1 "$bigbird" variants merge -q "${shards[@]}" -o twice.vcf.gz 2>twice1.err & one=$!
  on n2 "$bigbird" variants merge -q "${shards[@]}" -o twice.vcf.gz 2>twice2.err & two=$!
  wait $one || wrong "one of two merges at once, try $try: $(cat twice1.err)"
  wait $two || wrong "the other of two merges at once, try $try: $(cat twice2.err)"
  same_run twice.vcf.gz whole.vcf.gz
done
note "two merges of one output at once, on two nodes, three times: both end well, with the bytes of one run"

truncate -s -100 scored.vcf.gz.shards/3.vcf.gz
refused 1 "3.vcf.gz: was cut or changed" "$bigbird" variants merge "${shards[@]}" -o never.vcf.gz
refusal "a shard that was cut"
resubmit scored.vcf.gz
within 120 ended "$merge" || true
is_in "$merge" COMPLETED || wrong "after a cut shard: the merge is $(state "$merge")"
for shard in 1 2 4 5 6 7 8; do
  tail -n 4 scored.vcf.gz.shards/$shard.log | grep -qF "is whole already" || wrong "shard $shard was scored again"
done
same_run scored.vcf.gz whole.vcf.gz
note "the script run again: that shard alone is made again"

submit scored.vcf.gz --shards 2 --folder stopped.vcf.gz.shards --time 60 -- "${score[@]}"
within 120 ended "$merge" || true
is_in "$merge" COMPLETED || wrong "in the folder of another run: the merge is $(state "$merge")"
same_run scored.vcf.gz whole.vcf.gz
note "a run in the folder of another run's shards: begun anew"

[ ! -e never.vcf.gz ] || wrong "a merge that was refused left never.vcf.gz"
nothing_left .
