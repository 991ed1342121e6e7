#!/usr/bin/env bash
# The examples of every verb's --help, as they are pasted after the demonstrations: each is run, in the order of `bigbird --help`.
#   bash tests/cli/examples.sh PROGRAM FOLDER DEMO DEMO_OUTPUT [DEMO_TEXT_OUTPUT]
# FOLDER is made anew; the others are what `bigbird demo`, pipelines/demo.sh and pipelines/demo_text.sh left, copied beforehand. Without
# the last one, names of it are compared with pipelines/demo_text.sh. Training is cut to two updates of two sequences, other work to less of it.
# Left out, and counted, is what names data or models that no demonstration leaves, a GPU, or minutes of work (the lists below).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(realpath "$1")
work=$2
rm -rf "$work"
mkdir -p "$work/home"
cp -r "$3" "$work/bigbird-demo"
cp -r "$4" "$work/demo-output"
[ -z "${5:-}" ] || cp -r "$5" "$work/demo-text-output"
cd "$work"
PATH="$(dirname "$program"):$PATH"
export PATH HOME="$PWD/home" MANPAGER=cat

# Verbs of which no example can run after a demonstration: no demonstration makes a model of summaries, GLUE's tasks or what forward reads.
no_example="chromatin import-deepsea|liftover|forward|text summarize (finetune|predict|evaluate)|text glue (finetune|predict|evaluate)|text hibert (finetune|predict|evaluate)"
elsewhere=(data/grch3 hf: glue_data bert-base roberta-base pegasus hotpot nq- trivia ag_news -v2.0.json eqtl.tsv clinvar mpra.tsv cadd.tsv
  valid.mat "\\.shards" batch.safetensors papers.jsonl pairs.tsv "test.jsonl --predictions summaries" "test.jsonl --predictions generated"
  dev.jsonl "test.jsonl -m run" "train.jsonl --init model"
  "text hibert (finetune|predict|evaluate)")
long=("bigbird demo$" 100M "bigbird bench$" "--size base" --tune --hard-negatives "quantize .*(chromatin-run|pretrain|&& bigbird check)" "compare bigbird")
device=("pretrain .*--device cuda" "check .*--device cuda")
# Shards of answers, and what the model that continues texts learned from, come from the text demonstration.
[ -n "${5:-}" ] || elsewhere+=("merge answers" "-m clm/final")
command -v man >/dev/null || elsewhere+=("man -l -")
matches() { # matches TEXT PATTERN...: notes the pattern that does
  local text=$1 pattern
  shift
  for pattern in "$@"; do
    [[ $text =~ $pattern ]] && used[$pattern]=yes && return 0
  done
  return 1
}
declare -A used=()
ran=0 left=0 compared=0 failed=0
mapfile -t verbs < <(bigbird --help | sed -n 's/^  \([a-z][^ ]*\( [^ ]\+\)*\)  .*/\1/p')
for verb in "${verbs[@]}"; do
  ran_of_verb=0
  while IFS= read -r example; do
    if matches "$example" "${elsewhere[@]}" "${device[@]}" "${long[@]}"; then
      left=$((left + 1))
      continue
    fi
    if [[ $example == *demo-text-output/* && ! -e demo-text-output ]]; then
      while IFS= read -r name; do
        name=${name#demo-text-output/}
        name=${name/.test.json/.\$set.json}
        grep -qF -e "\$out/$name" -e "\$pages/${name#pages/}" "$root/pipelines/demo_text.sh" && continue
        name=${name/.\$set.json/.test.json}
        grep -qF -e "\$out/$name" -e "\$pages/${name#pages/}" "$root/pipelines/demo_text.sh" && continue
        echo "pipelines/demo_text.sh leaves no $name: $example" >&2
        failed=$((failed + 1))
      done < <(grep -o 'demo-text-output/[^ ]*' <<<"$example")
      compared=$((compared + 1)) ran_of_verb=1
      continue
    fi
    command=$example
    case $verb in
      pretrain | "text hibert pretrain" | *finetune)
        command=$(sed -E 's/ --(accumulate|steps|batch) [^ ]+//g' <<<"$example")" --steps 2 --batch 2"
        [ "$verb" != pretrain ] || command+=" --eval-samples 20"
        ;;
      bench) command=${example/--seconds 5/--seconds 0.2} ;;
      quantize) command="$example --samples 100 --effect-samples 8" ;;
    esac
    if ! timeout 300 bash -euo pipefail -c "$command" </dev/null >said.txt 2>&1; then
      printf '%s\n' "$verb: $command" >&2
      tail -n 3 said.txt >&2
      failed=$((failed + 1))
    fi
    ran=$((ran + 1)) ran_of_verb=1
  done < <(bigbird "$verb" --help 2>/dev/null | awk '/^Examples:/ { on = 1; next } on && /^$/ { exit } on { print substr($0, 3) }')
  if [[ $verb =~ ^($no_example)$ ]]; then
    [ "$ran_of_verb" = 0 ] || { echo "an example of $verb ran: take it from the list" >&2 && failed=$((failed + 1)); }
  elif [ "$ran_of_verb" = 0 ]; then
    echo "no example of $verb was run" >&2
    failed=$((failed + 1))
  fi
done
for pattern in "${elsewhere[@]}" "${device[@]}" "${long[@]}"; do
  [ -n "${used[$pattern]:-}" ] || { echo "no example has '$pattern' any more: take it from the list" >&2 && failed=$((failed + 1)); }
done
echo "examples: $ran were run, $compared of text compared by name, $left left out, $failed failed"
[ "$failed" = 0 ]
