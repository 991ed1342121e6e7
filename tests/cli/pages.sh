#!/usr/bin/env bash
# The commands of every page, as they are pasted after the demonstrations: each block of a page that has a `bigbird` line is run, in the page's order.
#   bash tests/cli/pages.sh PROGRAM FOLDER DEMO DEMO_OUTPUT [PAGE...]
# FOLDER is made anew; DEMO and DEMO_OUTPUT are what `bigbird demo` and pipelines/demo.sh left. PAGE: README.md, docs/*.md where none is named.
# Training is cut to two updates of two sequences, other long work to less of it (the program `bigbird` below).
# A block that cannot run has a comment right before it: <!-- not run: REASON -->; one on a page's first lines with `page` is of all
# blocks after it: <!-- page not run: REASON -->. They are counted. A block without a line that begins with `bigbird`, or of ```text, is
# output, or another program's.
# One that names demo-text-output runs where DEMO_TEXT in the environment is what pipelines/demo_text.sh left.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(realpath "$1")
work=$2 demo=$(realpath "$3") made=$(realpath "$4")
shift 4
rm -rf "$work"
mkdir -p "$work/bin" "$work/home"
work=$(realpath "$work")
pages=("$@")
[ ${#pages[@]} -gt 0 ] || pages=(README.md docs/*.md)

cat >"$work/bin/bigbird" <<EOF
#!/usr/bin/env bash
# bigbird, with less of what takes minutes
set -e
program=$program
EOF
cat >>"$work/bin/bigbird" <<'EOF'
words=() steps=() skip=
case "${1:-} ${2:-} ${3:-}" in pretrain*) steps=(--steps 2 --batch 2 --eval-samples 20) ;; *" finetune"*) steps=(--steps 2 --batch 2) ;; esac
for word in "$@"; do
  if [ -n "$skip" ]; then skip= && continue; fi
  case ${steps[*]:+training}${1:-}" $word" in
    "training"*" --steps" | "training"*" --batch" | "training"*" --accumulate" | "training"*" --eval-samples") skip=yes && continue ;;
    "training"*" --steps="* | "training"*" --batch="* | "training"*" --accumulate="*) continue ;;
    "simulate 10M" | "simulate 100M") word=1M ;;
    "evaluate --samples") skip=yes && continue ;;
    "attention 4096" | "pretrain 4096") word=1024 ;;
  esac
  words+=("$word")
done
case ${1:-} in
  bench) words+=(--seconds 0.05) ;;
  evaluate) words+=(--samples 20) ;;
  demo) words+=(--force) ;;
  quantize) words+=(--samples 100 --effect-samples 8) ;;
esac
case " $* " in *" --help"* | *" -h "*) steps=() words=("$@") ;; esac
# The tour that one page has made is the next page's too.
if [ "${1:-}" = demo ] && [ ${#steps[@]} = 0 ] && [[ " ${words[*]} " == *" --force "* ]]; then
  out=bigbird-demo previous='' kept=$HOME/tours/${*//\//_}
  for word in "$@"; do
    [ "$previous" != -o ] || out=$word
    previous=$word
  done
  if [ ! -e "$kept/made" ]; then
    mkdir -p "$kept"
    "$program" "${words[@]}" >"$kept/printed"
    cp -rl "$out" "$kept/made"
  fi
  rm -rf "$out"
  cp -rl "$kept/made" "$out"
  cat "$kept/printed"
  exit
fi
exec "$program" "${words[@]}" ${steps[@]+"${steps[@]}"}
EOF
chmod +x "$work/bin/bigbird"
export PATH="$work/bin:$PATH" HOME="$work/home" MANPAGER=cat PAGER=cat BIGBIRD_MODELS="${BIGBIRD_MODELS:-$root/models}"

# blocks PAGE: a file for each block, $work/blocks/NNN.sh, with its line and its reason not to run beside it.
blocks() {
  rm -rf "$work/blocks"
  mkdir -p "$work/blocks"
  awk -v to="$work/blocks" '
    function finish() {
      if (!output && text ~ /(^|\n)([A-Z_]+=[^ ]* )*bigbird /) {
        file = sprintf("%s/%03d", to, ++n)
        printf "%s", text > (file ".sh"); close(file ".sh")
        print first "\t" (page != "" ? page : why) > (file ".about"); close(file ".about")
      }
      text = why = ""
    }
    match($0, /^<!-- page not run: /) { page = $0; sub(/^<!-- page not run: /, "", page); sub(/ *-->.*/, "", page); next }
    match($0, /^<!-- not run: /) { why = $0; sub(/^<!-- not run: /, "", why); sub(/ *-->.*/, "", why); next }
    /^ *```/ { fenced = !fenced; if (fenced) { first = NR; output = /```text/ } else { finish(); output = 0 } next }
    fenced { sub(/^\$ /, ""); text = text $0 "\n"; next }
    /^    [^ ]/ && (indented || blank) { if (!indented) first = NR; indented = 1; text = text substr($0, 5) "\n"; next }
    indented && /^     / { text = text substr($0, 5) "\n"; next }
    indented { indented = 0; finish() }
    { blank = /^ *$/; if (!blank) why = "" }
    END { if (indented) finish() }' "$1"
}

ran=0 left=0 failed=0
for page in "${pages[@]}"; do
  blocks "$root/$page"
  place=$work/$(basename "$page" .md)
  mkdir -p "$place"
  cp -rl "$demo" "$place/bigbird-demo"
  cp -rl "$made" "$place/demo-output"
  # Its runs have the paths of where they were made.
  sed 's#"[^"]*/\(train\|valid\|tokenizer\|pretrain\)"#"demo-output/\1"#' "$made/pretrain/config.toml" >"$place/config.toml"
  mv -f "$place/config.toml" "$place/demo-output/pretrain/config.toml"
  [ -z "${DEMO_TEXT:-}" ] || cp -rl "$(realpath "$DEMO_TEXT")" "$place/demo-text-output"
  for block in "$work"/blocks/*.sh; do
    [ -e "$block" ] || continue
    IFS=$'\t' read -r line why <"${block%.sh}.about"
    if [ -n "$why" ] || { [ -z "${DEMO_TEXT:-}" ] && grep -q demo-text-output "$block"; }; then
      left=$((left + 1))
      continue
    fi
    ran=$((ran + 1))
    status=0 begin=${EPOCHREALTIME/[.,]/}
    (cd "$place" && timeout 300 bash -euo pipefail "$block") </dev/null >"$work/said.txt" 2>&1 || status=$?
    printf '%d\t%s:%s\n' $(((${EPOCHREALTIME/[.,]/} - begin) / 1000)) "$page" "$line" >>"$work/times.tsv"
    if [ $status != 0 ] && [ $status != 141 ]; then # 141: `head` at a pipe's end has had enough
      echo "$page:$line: this block failed:" >&2
      sed 's/^/    /' "$block" >&2
      tail -n 4 "$work/said.txt" >&2
      failed=$((failed + 1))
    fi
  done
done
echo "pages: $ran blocks were run, $left left out with a reason, $failed failed; those that took longest:"
sort -rn "$work/times.tsv" | head -n 8 | awk -F'\t' '{ printf "  %5.1f s  %s\n", $1 / 1000, $2 }'
[ "$failed" = 0 ]
