#!/usr/bin/env bash
# clang-tidy on one source file. A file found clean is remembered by the text that the compiler sees, so that the next run
# over the same text takes a second.
#   bash tests/tidy.sh BUILD_FOLDER SOURCE      BUILD_FOLDER holds compile_commands.json; SOURCE may be one of its unity files
# The memory is a folder that outlives the checkout: BIGBIRD_TIDY_CACHE, else bigbird-tidy in the user's cache folder.
set -euo pipefail
build=$1 source=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${BIGBIRD_TIDY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bigbird-tidy}

# The command of this file, as a shell takes it, with preprocessing (comments kept: NOLINT is one) in place of compiling.
command=$(awk -v file="\"file\": \"$root/$source\"" '
  /"command": / { command = $0 }
  index($0, file) { print command; exit }' "$build/compile_commands.json" |
  sed -e 's/^ *"command": "//' -e 's/",$//' -e 's/\\"/"/g' -e 's/\\\\/\\/g' -e 's/ -o [^ ]* -c / -E -CC -P /')
key=''
if [ -n "$command" ]; then
  text=$(mktemp)
  trap 'rm -f "$text"' EXIT
  # Text that cannot be made has no key: clang-tidy says why.
  if eval "$command" >"$text" 2>/dev/null; then
    # Where the checkout lies does not matter.
    key=$({ clang-tidy --version && cat "$root/.clang-tidy" && echo "$command" && cat "$text"; } | sed "s|$root/|./|g" | sha256sum | cut -c1-40)
  fi
fi
if [ -n "$key" ] && [ -e "$cache/$key" ]; then
  touch "$cache/$key" # it is still of use, to whoever cleans the folder by age
  exit 0
fi
checks=()
case $source in */Unity/*) checks=(--checks=-bugprone-suspicious-include) ;; esac # that a .cpp is included is what they are
clang-tidy -p "$build" --quiet ${checks[@]+"${checks[@]}"} "$root/$source" 2> >(grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed |^Use -header-filter' >&2)
if [ -n "$key" ]; then
  if mkdir -p "$cache" 2>/dev/null; then : >"$cache/$key"; fi # without a place for it, there is no memory
fi
