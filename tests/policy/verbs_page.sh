#!/usr/bin/env bash
# docs/verbs.md, of what a program says of its verbs in --help; tests/policy compares the two.
#   bash tests/policy/verbs_page.sh build/release/bin/bigbird > docs/verbs.md
set -euo pipefail
program=${1:?the program bigbird}
docs=$(dirname "${BASH_SOURCE[0]}")/../../docs

# The page of a verb's task; the first that fits.
page_of() {
  case $1 in
    demo | simulate | chunk | train-bpe | tokenize | pretrain | evaluate) echo getting-started.md ;;
    variants*) echo variants.md ;;
    promoter*) echo promoters.md ;;
    "chromatin import-deepsea") echo coming-from-deepsea.md ;;
    chromatin*) echo chromatin.md ;;
    ism | attribute) echo attribution.md ;;
    "text summarize"* | "text hibert"*) echo summaries.md ;;
    text* | fill-mask) echo text.md ;;
    info | embed) echo outputs.md ;;
    report) echo reports.md ;;
    check | convert) echo weights.md ;;
    quantize | attention | copies | liftover) echo "$1.md" ;;
    merge | cluster*) echo clusters.md ;;
    theory*) echo theory.md ;;
    devices) echo gpu.md ;;
    bench) echo performance.md ;;
  esac
}

# The first paragraph of the verb's help.
sentence_of() {
  local -a words
  read -ra words <<<"$1"
  "$program" "${words[@]}" --help </dev/null |
    awk 'over { next } NF == 0 { over = 1; next } { gsub(/\|/, "\\|"); text = text (NR > 1 ? " " : "") $0 } END { print text }'
}

cat <<'END'
# Verbs

Every verb, in the order of `bigbird --help`. The name of a verb leads to the page of its task.
`bigbird VERB --help` begins with examples. Paste them after `bigbird demo`, `bash pipelines/demo.sh` and
`bash pipelines/demo_text.sh`. Common to all: [command-line.md](command-line.md).
`bash tests/policy/verbs_page.sh build/release/bin/bigbird > docs/verbs.md` makes this page.
END
title=
"$program" --help </dev/null | while IFS= read -r line; do
  if [[ $line != "  "* ]]; then
    title=$line
    continue
  fi
  [[ -z $title ]] || printf '\n## %s\n\n| verb | does |\n|---|---|\n' "$title"
  title=
  verb=${line#  }
  verb=${verb%%  *}
  name="\`$verb\`"
  page=$(page_of "$verb")
  if [[ -n $page ]]; then
    [[ -e $docs/$page ]] || { echo "$0: there is no docs/$page" >&2 && exit 1; }
    name="[$name]($page)"
  fi
  printf '| %s | %s |\n' "$name" "$(sentence_of "$verb")"
done
