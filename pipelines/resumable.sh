# Long studies that can be stopped and go on where they were: files and folders that are made once, and runs side by side.
# Sourced behind setup.sh and demonstration.sh, not run. The study sets demonstration_log (what is typed is kept there),
# side_by_side (runs at once) and parts (of its own, by name).
# shellcheck shell=bash disable=SC2154

count() { # 2000k -> 2000000
  case $1 in *[kK]) echo $((${1%?} * 1000)) ;; *[mM]) echo $((${1%?} * 1000000)) ;; *) echo "$1" ;; esac
}
wants() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac }
# once FILE COMMAND...: COMMAND's output in FILE, unless it is there; FILE appears when COMMAND has succeeded.
once() {
  local file=$1
  shift
  [ -e "$file" ] && return 0
  { shown "$@" && printf ' > %q\n' "$file"; } | tee -a "$demonstration_log" >&2
  "$@" >"$file.part"
  mv "$file.part" "$file"
}
# side COMMAND...: COMMAND beside others, of which JOBS run at once. together: until all of them are done. One that fails
# ends the study; the others save and stop.
set -m # each in a process group of its own: a signal reaches the program too, not the shell around it alone
running=()
stop_all() {
  local pid
  for pid in "${running[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
  wait
}
trap 'stop_all; exit 130' INT
trap 'stop_all; exit 143' TERM
until_fewer_than() {
  local pid left
  while [ ${#running[@]} -ge "$1" ]; do
    left=()
    for pid in "${running[@]}"; do
      if kill -0 "$pid" 2>/dev/null; then
        left+=("$pid")
      elif ! wait "$pid"; then
        stop_all
        fail "a run failed" "what it said is above; the same command goes on from here"
      fi
    done
    running=("${left[@]}")
    [ ${#running[@]} -lt "$1" ] || sleep 1
  done
}
side() {
  until_fewer_than "$side_by_side"
  "$@" </dev/null &
  running+=($!)
}
together() { until_fewer_than 1; }
# made FOLDER COMMAND...: for a command that makes FOLDER, whole or not at all.
made() {
  local folder=$1
  shift
  [ -e "$folder" ] || run "$@"
}
