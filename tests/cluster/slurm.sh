#!/usr/bin/env bash
# A Slurm of several nodes on this machine, for tests: one controller, all of it bound to loopback and kept in one folder.
# No systemd, no cgroups, nothing under /etc; root or not. Where name spaces may be made (unshare), each node is a machine
# of its own to what runs on it: a host name, process numbers, mounts (DIR/isolated is there; before start,
# DIR/nodes/NODE/mounts may hold a script that mounts what only this node has).
#   slurm.sh available                    status 77, and what is missing, where Slurm is not installed
#   slurm.sh start DIR [NODES [CPUS]]     default 3 nodes of 2 CPUs: n1, n2 ... in the partition main, the last in spare
#   . DIR/env                             then sbatch, squeue, scontrol ... talk to it
#   slurm.sh hang DIR NODE                the node's daemon dies, and Slurm is told; its jobs live on, unseen
#   slurm.sh fail DIR NODE                the node dies with all that runs on it, and Slurm is told
#   slurm.sh revive DIR NODE              the daemon, or the node, starts again
#   slurm.sh stop DIR                     ends all that was started, by process number
# Environment: SLURM_PORT (21800: the controller's, the nodes' behind it), SLURM_ISOLATE (no: do not try name spaces).
set -euo pipefail
export LC_ALL=C

die() { echo "tests/cluster/slurm.sh: $*" >&2 && exit 1; }
usage() { sed -n '2,14s/^# \{0,1\}//p' "$0" && exit "$1"; }

# The processes of a node, or of all: daemons have its settings in their environment, jobs its name. With NAME only those.
processes_of() { # processes_of NODE|all [NAME]
  local folder name pid
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    if [ "$pid" = $$ ] || [ "$pid" = "$PPID" ]; then continue; fi
    { read -r name <"$folder/comm" && [ "$name" = "${2:-$name}" ]; } 2>/dev/null || continue
    if { tr '\0' '\n' <"$folder/environ" | awk -v conf="SLURM_CONF=$dir/" -v node="$1" '
      index($0, conf) == 1 { ours = 1; rest = substr($0, length(conf) + 1); if (node == "all" || rest == "nodes/" node "/slurm.conf") there = 1 }
      $0 == "SLURMD_NODENAME=" node { there = 1 }
      END { exit !(ours && there) }'; } 2>/dev/null; then
      echo "$pid"
    fi
  done
}

is_program() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]; } # is_program PID NAME

gone() { # gone PID...: within ten seconds
  local pid tries=0
  for pid in "$@"; do
    while [ -e "/proc/$pid" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null)" != Z ]; do
      [ $((++tries)) -le 100 ] || return 1
      sleep 0.1
    done
  done
}

kill_all() { # kill_all PID...
  [ $# -gt 0 ] || return 0
  kill -KILL "$@" 2>/dev/null || true
  gone "$@" || die "processes $* do not end"
}

end_daemon() { # end_daemon NAME: what its file says, if that is still it
  local pid
  pid=$(head -n 1 "$dir/run/$1.pid" 2>/dev/null) || return 0
  is_program "$pid" "$1" && grep -qzF -- "$dir" "/proc/$pid/cmdline" || return 0
  kill -TERM "$pid"
  gone "$pid" || kill_all "$pid"
}

# The first process of a node that is a machine of its own: its number here. Nothing of others, and of one that has ended.
machine_of() { # machine_of NODE
  local pid
  pid=$(cat "$dir/nodes/$1/machine" 2>/dev/null) || return 0
  if grep -qzF "bigbird-test-node $dir/nodes/$1" "/proc/$pid/cmdline" 2>/dev/null; then echo "$pid"; fi
}

# Options of unshare, and of nsenter; as an ordinary user in a name space of users, in which one keeps one's number.
spaces=(--mount --pid --uts)
if [ "$(id -u)" -eq 0 ]; then
  unshare_options=("${spaces[@]}") enter_options=("${spaces[@]}")
else
  unshare_options=(--user --map-current-user --keep-caps "${spaces[@]}")
  enter_options=(--user --preserve-credentials "${spaces[@]}")
fi
may_isolate() {
  [ "${SLURM_ISOLATE:-yes}" != no ] &&
    unshare "${unshare_options[@]}" --fork bash -c 'mount -t proc proc /proc && hostname n1' 2>/dev/null
}

# A node's first process: it has the daemon started, and takes what the daemon leaves behind. The daemon looks its own
# name up.
# shellcheck disable=SC2016
first_process='
set -e
hostname "$2"
mount -t proc proc /proc
mount --bind "$1/hosts" /etc/hosts
if [ -e "$1/mounts" ]; then . "$1/mounts"; fi
slurmd -N "$2" -f "$SLURM_CONF"
while :; do sleep 3600 & wait; done'

start_node() { # start_node NODE
  local folder=$dir/nodes/$1 machine outer
  machine=$(machine_of "$1")
  export SLURM_CONF=$folder/slurm.conf
  if [ ! -e "$dir/isolated" ]; then
    slurmd -N "$1" -f "$SLURM_CONF"
  elif [ -n "$machine" ]; then
    nsenter "${enter_options[@]}" --target "$machine" slurmd -N "$1" -f "$SLURM_CONF"
  else
    setsid unshare "${unshare_options[@]}" --fork --kill-child=KILL \
      bash -c "$first_process" "bigbird-test-node $folder" "$folder" "$1" </dev/null >>"$dir/log/$1.log" 2>&1 &
    outer=$!
    for _ in {1..50}; do
      machine=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null) && [ -n "$machine" ] && break
      sleep 0.1
    done
    echo "${machine%% *}" >"$folder/machine"
  fi
}

idle_nodes() { timeout 5 sinfo -h -N -t idle,mixed,allocated -o %N 2>/dev/null | sort -u; }
wait_for() { # wait_for NODE...: within thirty seconds Slurm may start jobs there
  local node tries=0
  for node in "$@"; do
    until idle_nodes | grep -qx "$node"; do
      [ $((++tries)) -le 150 ] || { tail -n 5 "$dir"/log/*.log >&2 && die "$node does not come up; logs: $dir/log"; }
      sleep 0.2
    done
  done
}

available() {
  local program
  for program in slurmctld slurmd munged sbatch; do
    command -v "$program" >/dev/null ||
      { echo "SKIPPED: a Slurm on this machine: $program is missing (slurmctld slurmd slurm-client munge)" >&2 && exit 77; }
  done
}

start() {
  local nodes=${1:-3} cpus=${2:-2} port=${SLURM_PORT:-21800} host user memory i
  [ ! -e "$dir/slurm.conf" ] || die "$dir has a Slurm already: stop it, and remove the folder"
  for ((i = 0; i <= nodes; ++i)); do
    ! (: <"/dev/tcp/127.0.0.1/$((port + i))") 2>/dev/null || die "port $((port + i)) is taken; set SLURM_PORT"
  done
  host=$(uname -n | cut -d . -f 1) user=$(id -un)
  memory=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
  # munged wants folders that all may search, and a key that only its owner reads.
  mkdir -p "$dir"/{run,log,state,spool,bin}
  chmod 755 "$dir" "$dir/run"
  (umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
  ! may_isolate || touch "$dir/isolated"

  # cred_expire: how long a requeued job waits before it starts again, 120 seconds without it. MinJobAge: a
  # finished job is remembered for as long. Nodes share the machine's cores and memory, and may claim more than it has.
  cat >"$dir/slurm.conf" <<CONF
ClusterName=bigbird
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/run/munge.socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
MailProg=/bin/true
MpiDefault=none
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0,bf_interval=1
SlurmctldTimeout=30
SlurmdTimeout=30
InactiveLimit=0
KillWait=5
MinJobAge=3600
ReturnToService=2
JobRequeue=1
TreeWidth=65533
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=$cpus RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=n[1-$((nodes > 1 ? nodes - 1 : 1))] Default=YES MaxTime=INFINITE State=UP
PartitionName=spare Nodes=n$nodes MaxTime=INFINITE State=UP
CONF
  # The commands by themselves, for programs that do not hand SLURM_CONF on to those that they start.
  for i in scancel scontrol sbatch sinfo squeue srun; do
    # shellcheck disable=SC2016 # for the script that is written
    printf '#!/bin/sh\nSLURM_CONF=${SLURM_CONF:-%q} exec %q "$@"\n' "$dir/slurm.conf" "$(command -v $i)" >"$dir/bin/$i"
    chmod +x "$dir/bin/$i"
  done
  # shellcheck disable=SC2016
  printf 'export SLURM_CONF=%q\nexport PATH=%q:$PATH\n' "$dir/slurm.conf" "$dir/bin" >"$dir/env"
  for ((i = 1; i <= nodes; ++i)); do
    mkdir -p "$dir/nodes/n$i" "$dir/spool/n$i"
    ln -s "$dir/slurm.conf" "$dir/nodes/n$i/slurm.conf"
    echo "127.0.0.1 localhost $host n$i" >"$dir/nodes/n$i/hosts"
  done

  munged --key-file="$dir/munge.key" --socket="$dir/run/munge.socket" --pid-file="$dir/run/munged.pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/run/munged.seed"
  SLURM_CONF=$dir/slurm.conf slurmctld -f "$dir/slurm.conf"
  for ((i = 1; i <= nodes; ++i)); do (start_node "n$i"); done
  export SLURM_CONF=$dir/slurm.conf
  for ((i = 1; i <= nodes; ++i)); do wait_for "n$i"; done
}

down() { SLURM_CONF=$dir/slurm.conf scontrol update NodeName="$1" State=DOWN Reason=test; } # Slurm would see it after SlurmdTimeout

stop() {
  local node machine
  [ -e "$dir/slurm.conf" ] || return 0
  export SLURM_CONF=$dir/slurm.conf
  # shellcheck disable=SC2046
  kill_all $(processes_of all slurmd)
  for node in "$dir"/nodes/*; do
    machine=$(machine_of "${node##*/}")
    [ -z "$machine" ] || kill_all "$machine"
  done
  # shellcheck disable=SC2046
  kill_all $(processes_of all)
  end_daemon slurmctld
  end_daemon munged
}

verb=${1:-}
case $verb in
  -h | --help) usage 0 ;;
  available) available && exit ;;
  start | stop) [ $# -ge 2 ] || usage 2 ;;
  hang | fail | revive) [ $# -eq 3 ] || usage 2 ;;
  *) usage 2 ;;
esac
if [ "$verb" = start ]; then available && mkdir -p "$2"; fi
dir=$(cd "$2" && pwd -P)
shift 2
case $verb in
  start) start "$@" ;;
  stop) stop ;;
  hang)
    # shellcheck disable=SC2046
    kill_all $(processes_of "$1" slurmd)
    down "$1"
    ;;
  fail)
    machine=$(machine_of "$1")
    if [ -n "$machine" ]; then
      # The number of its name space is not used again: the node that starts next is another machine.
      SLURM_CONF=$dir/slurm.conf setsid sleep 3600 9<"/proc/$machine/ns/pid" </dev/null >/dev/null 2>&1 &
      kill_all "$machine"
    else
      # shellcheck disable=SC2046
      kill_all $(processes_of "$1")
    fi
    down "$1"
    ;;
  revive)
    (start_node "$1")
    SLURM_CONF=$dir/slurm.conf wait_for "$1"
    ;;
esac
