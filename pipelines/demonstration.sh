# What pipelines/demo.sh and pipelines/demo_text.sh share: the program, the folder of a demonstration, commands that are shown
# as they run, and numbers read from JSON. Sourced behind setup.sh, not run.
# shellcheck shell=bash disable=SC2154

# program_on_path: bigbird on PATH, from BIN or built here.
program_on_path() {
  if [ -n "${BIN:-}" ]; then
    [ -x "$BIN/bigbird" ] || fail "$BIN/bigbird is no program" "BIN is the folder that holds the installed bigbird"
  else
    ensure_packages "${packages_base[@]}"
    # Kernels for devices are half of the build. A folder that was configured before stays what it is.
    local options=()
    if [ ! -f "$root/build/release/CMakeCache.txt" ] && ! has_nvidia_device; then
      options=("-DBIGBIRD_CUDA=${BIGBIRD_CUDA:-OFF}")
      [ -n "${BIGBIRD_CUDA:-}" ] || say "no NVIDIA device in this machine: built without CUDA (BIGBIRD_CUDA=AUTO in the environment builds it)"
    fi
    configure release "${options[@]}"
    build release bigbird
    BIN=$root/build/release/bin
  fi
  export PATH="$BIN:$PATH"
}
# begin_demonstration FOLDER: program_on_path; FOLDER empty, with demo.log in it.
begin_demonstration() {
  local folder=$1
  demonstration_log=$folder/demo.log
  program_on_path
  # The folder of an earlier demonstration may be replaced, anything else may not.
  if [ -e "$folder" ]; then
    [ -e "$demonstration_log" ] ||
      fail "$folder exists and is not a demonstration's output" "set OUT to another folder"
    rm -r "$folder"
  fi
  mkdir -p "$folder"
  : >"$demonstration_log"
  SECONDS=0
  printf '\n$ export PATH="%s:$PATH"\n' "$BIN" >&2
}

shown() { # a command as it may be typed again
  local word
  printf '\n$'
  for word in "$@"; do
    case $word in
      *[!A-Za-z0-9_./,:=+-]* | "") printf ' %q' "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
}
run() { # runs a command and shows it
  { shown "$@" && echo; } | tee -a "$demonstration_log" >&2
  "$@"
}
run_to() { # run_to FILE COMMAND...: with its output in a file
  local file=$1
  shift
  { shown "$@" && printf ' > %q\n' "$file"; } | tee -a "$demonstration_log" >&2
  "$@" >"$file"
}

# value FILE KEY [N]: a number from a JSON file, nested keys joined by dots; of what stands in a list the Nth.
value() {
  awk -v wanted="$2" -v left="${3:-1}" '
    { text = text $0 }
    END {
      while (match(text, /"([^"\\]|\\.)*"|[{}\[\],:]|[^][{}",: \t]+/)) {
        token = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH)
        if (token == "{") { depth++; expects_key = 1 }
        else if (token == "}") { depth--; expects_key = 0 }
        else if (token == ",") expects_key = 1
        else if (token == ":") expects_key = 0
        else if (expects_key) { gsub(/"/, "", token); key[depth] = token; expects_key = 0 }
        else {
          path = key[1]; for (i = 2; i <= depth; i++) path = path "." key[i]
          if (path == wanted && --left == 0) { print token; exit }
        }
      }
    }' "$1"
}
row() { printf '  %-46s %s\n' "$1" "$2"; }
number() { local v && v=$(value "$1" "$2") && LC_ALL=C printf '%.4f' "${v:?$2 is not in $1}"; }
time_taken() { echo "Time: $((SECONDS / 60)) min $((SECONDS % 60)) s after the build"; }
