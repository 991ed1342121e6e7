#!/usr/bin/env bash
# Text, end to end: manual pages -> vocabulary -> shards -> pretraining -> classes of pages, questions about pages -> results.
#   bash pipelines/demo_text.sh                     the pages of two Debian packages; about two minutes after the build
# What is learned here are labels by rule: it shows that the parts work, not that a small model understands a page.
# Environment: OUT (demo-text-output), STEPS (of pretraining), CLASSIFY_STEPS, TAG_STEPS, QA_STEPS, BIN (the folder of an installed
# bigbird, to use that and build nothing), and those of pipelines/manual_pages.sh (MAN, PAGES, WORDS, ROUNDS).
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"

out=${OUT:-demo-text-output}
begin_demonstration "$out"
pages=$out/pages
run bash "$root/pipelines/manual_pages.sh" "$pages"
run bigbird text vocabulary "$pages/train" -o "$out/tokenizer" --vocab-size 4000
run bigbird text pretrain-data "$pages/train" -m "$out/tokenizer" -o "$out/train"
run bigbird text pretrain-data "$pages/held-out" -m "$out/tokenizer" -o "$out/held-out"
# A model small enough for minutes: 16 blocks of 8 tokens, so that attention is as sparse as the paper's pattern allows.
# Random mode hf-train, because google's takes full attention up to 512 tokens. Whole words are masked, short pages joined.
run bigbird pretrain --train "$out/train" --valid "$out/held-out" -m "$out/tokenizer" -o "$out/pretrain" \
  --layers 2 --width 128 --heads 4 --length 128 --block-size 8 --random-mode hf-train --batch 16 --steps "${STEPS:-600}"
run_to "$out/evaluate.json" bigbird evaluate -m "$out/pretrain/final" --data "$out/held-out" --baseline-from "$out/train" \
  --samples 1000
run bigbird fill-mask -m "$out/pretrain/final" "The function returns 0 on success and -1 on [MASK]." --top 3

# Which section of the manual a page is of, told by its first tokens.
run bigbird text classify finetune --train "$pages/train.jsonl" --valid "$pages/valid.jsonl" --init "$out/pretrain/final" \
  -o "$out/classify" --steps "${CLASSIFY_STEPS:-300}" --batch 16
run_to "$out/sections.tsv" bigbird text classify predict -m "$out/classify/final" "$pages/test.jsonl"
run_to "$out/classify.json" bigbird text classify evaluate --data "$pages/test.jsonl" --predictions "$out/sections.tsv" \
  --table "$out/sections-table.tsv" --svg "$out/sections.svg"
run bigbird text classify predict -m "$out/classify/final" --text "The kernel returns -1 and sets errno to EFAULT."

# Which words of a sentence are the names of pages, errors and paths.
run bigbird text tag finetune --train "$pages/words.train.conll" --init "$out/pretrain/final" -o "$out/words" \
  --length 128 --steps "${TAG_STEPS:-300}" --batch 16 --lr 1e-3
run bigbird text tag predict -m "$out/words/final" "$pages/words.test.conll" -o "$out/words.conll"
run_to "$out/words.json" bigbird text tag evaluate --data "$pages/words.test.conll" --predictions "$out/words.conll" \
  --baseline-from "$pages/words.train.conll"
run bigbird text tag predict -m "$out/words/final" --text "See read (2) and /etc/passwd , or it fails with EINTR ."

# What a page's program or function does, found among other pages.
run bigbird text qa finetune --format squad --train "$pages/questions.train.json" --init "$out/pretrain/final" -o "$out/qa" \
  --length 128 --overlap 32 --steps "${QA_STEPS:-450}" --batch 32 --lr 1e-3
for set in test exchanged; do
  run bigbird text qa predict -m "$out/qa/final" --format squad "$pages/questions.$set.json" -o "$out/answers.$set.json"
  run_to "$out/qa.$set.json" bigbird text qa evaluate --format squad --data "$pages/questions.$set.json" \
    --predictions "$out/answers.$set.json"
done
: >"$out/asked.txt"
while IFS=$'\t' read -r question answer context; do
  printf '%s\n' "$context" >"$out/context.txt"
  run_to "$out/answer.txt" bigbird text qa predict -m "$out/qa/final" --question "$question" --context "$out/context.txt"
  {
    printf '  %s\n    answered: ' "$question"
    cat "$out/answer.txt"
    printf '    the page: %s\n' "$answer"
  } >>"$out/asked.txt"
done <"$pages/asked.tsv"

summary() {
  echo "Results (pages held out: $(awk '!/^#/ { n += $3 + $4 } END { print n }' "$pages/counts.tsv") of $(
    awk '!/^#/ { n += $2 + $3 + $4 } END { print n }' "$pages/counts.tsv"))"
  row "masked-word loss (nats a token)" "$(number "$out/evaluate.json" mlm_loss)"
  row "masked-word accuracy" "$(number "$out/evaluate.json" mlm_accuracy)"
  row "bits per token, model" "$(number "$out/evaluate.json" bits_per_token)"
  row "bits per token, token unigrams" "$(number "$out/evaluate.json" baseline.unigram.bits_per_token)"
  row "bits per token, token bigrams" "$(number "$out/evaluate.json" baseline.bigram.bits_per_token)"
  row "bits per byte, model" "$(number "$out/evaluate.json" bits_per_byte)"
  row "section of a page: accuracy" "$(number "$out/classify.json" accuracy)"
  row "section of a page: the largest one always" "$(number "$out/classify.json" majority)"
  row "section of a page: macro F1" "$(number "$out/classify.json" macro_f1)"
  row "names of pages, errors, paths: F1" "$(number "$out/words.json" f1)"
  row "each word's usual label: F1" "$(number "$out/words.json" baseline.most_frequent_label_of_each_word.f1)"
  row "questions: exact match (%)" "$(number "$out/qa.test.json" exact_match)"
  row "questions: F1 (%)" "$(number "$out/qa.test.json" f1)"
  row "questions exchanged: exact match (%)" "$(number "$out/qa.exchanged.json" exact_match)"
  echo "Three questions, as they came out"
  cat "$out/asked.txt"
  echo "Files"
  row "pretrained model" "$out/pretrain/final"
  row "model of sections, of words, of answers" "$out/classify/final, $out/words/final, $out/qa/final"
  row "tokenizer, shards" "$out/tokenizer, $out/train.bin"
  row "predictions" "$out/sections.tsv, $out/answers.test.json"
  row "confusions" "$out/sections-table.tsv, $out/sections.svg"
  row "numbers as JSON" "$out/evaluate.json, $out/classify.json, $out/qa.test.json"
  row "commands as typed" "$out/demo.log"
  echo "Labels and answers are made by rule from the pages: they show that the parts work, not understanding."
  time_taken
}
echo
summary | tee "$out/summary.txt"
