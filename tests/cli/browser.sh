#!/usr/bin/env bash
# That a page of `bigbird report` is what a browser shows: chromium opens it without a network, prints it, and its
# document has the figures, headings and numbers that the file has, and nothing on its console.
#   bash tests/cli/browser.sh PROGRAM INPUT...      INPUT as `bigbird report` takes them
# 77 where no chromium is installed.
set -euo pipefail
program=$1
shift
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "SKIPPED: tests/cli/browser.sh: no chromium here (apt-get install chromium)"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" report -q "$@" -o "$work/page.html"

open() { # open OPTION...: headless, in a profile of its own, unable to reach anything
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
    --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --v=0 "$@" "file://$work/page.html" 2>"$work/log"
}
fail() {
  echo "error: $1" >&2
  exit 1
}
open --dump-dom >"$work/dom.html"
if grep -E 'CONSOLE' "$work/log"; then fail 'the page writes to the console'; fi
count() { grep -o -E -e "$1" "$2" | wc -l; }
for what in '<svg class="chart' '<h2' '<table' '<img ' '<td'; do
  in_file=$(count "$what" "$work/page.html")
  in_browser=$(count "$what" "$work/dom.html")
  [ "$in_file" = "$in_browser" ] || fail "$what: $in_file in the file, $in_browser in the browser"
done
[ "$(count '<svg class="chart' "$work/dom.html")" -gt 0 ] || fail 'no chart'
[ "$(count '<script' "$work/dom.html")" -eq 0 ] || fail 'a script'
open --print-to-pdf="$work/page.pdf"
[ "$(head -c 5 "$work/page.pdf")" = '%PDF-' ] || fail 'it does not print'
for size in 1400,1000 400,800; do # wide, and as on a phone
  open --hide-scrollbars --window-size=$size --screenshot="$work/$size.png"
  [ -s "$work/$size.png" ] || fail "no picture at $size"
done
echo "a page of $# inputs in $("$browser" --version 2>/dev/null | head -1): $(count '<svg class="chart' "$work/dom.html") charts, $(count '<td' "$work/dom.html") cells"
