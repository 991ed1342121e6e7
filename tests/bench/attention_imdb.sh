#!/usr/bin/env bash
# The same small pretrained model under several attention systems, fine-tuned on IMDb's classes by three seeds:
# accuracy, tokens a second of training, and peak memory. Beside them logistic regression over words and pairs of words
# (scikit-learn, where PYTHON has it), the cheapest thing that could answer.
#   tests/bench/attention_imdb.sh BIGBIRD DATA OUT      DATA holds imdb/{train,test}.jsonl.gz and movie_reviews/
# Runs that are there already are not repeated. Prints a table in Markdown; OUT/table.md keeps it.
set -euo pipefail
program=$1 data=$2 out=$3
mkdir -p "$out"
length=1024 seeds="1 2 3"

if [ ! -e "$out/pretrained/final" ]; then
  texts=("$data/movie_reviews/reviews.jsonl.gz" "$data/imdb/train.jsonl.gz")
  "$program" text vocabulary "${texts[@]}" -o "$out/tokenizer" --vocab-size 8000
  "$program" text pretrain-data "${texts[@]}" -m "$out/tokenizer" -o "$out/texts"
  "$program" pretrain --train "$out/texts" -m "$out/tokenizer" -o "$out/pretrained" --attention full --layers 4 \
    --width 128 --heads 4 --length $length --batch 8 --steps "${STEPS:-1500}" --lr 1e-3 --seed 1
fi

declare -A options=(
  [full]="--attention full"
  [bigbird]="--attention bigbird --random-mode hf-train"
  [longformer]="--attention longformer --window 128"
  [etc]="--attention etc --radius 64"
)
table="$out/table.md"
{
  echo "| attention | accuracy of three seeds | mean | tokens a second | peak MB |"
  echo "|---|---|---|---|---|"
} >"$table"
for attention in full bigbird longformer etc; do
  # The options are words.
  # shellcheck disable=SC2086
  [ -e "$out/$attention" ] || "$program" convert "$out/pretrained/final" "$out/$attention" ${options[$attention]}
  accuracies=() speeds=() peaks=()
  for seed in $seeds; do
    run="$out/$attention.$seed"
    if [ ! -e "$run/accuracy" ]; then
      "$program" text classify finetune --train "$data/imdb/train.jsonl.gz" --init "$out/$attention" -o "$run" \
        --length $length --batch 16 --epochs 4 --lr 3e-4 --seed "$seed" 2>"$run.log"
      "$program" text classify evaluate -m "$run/final" --data "$data/imdb/test.jsonl.gz" >"$run/result.json"
      sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p' "$run/result.json" | head -1 >"$run/accuracy"
    fi
    accuracies+=("$(cat "$run/accuracy")")
    speeds+=("$(sed -n 's/.*updates took .*: \([0-9]*\) tokens\/s.*/\1/p' "$run.log" | tail -1)")
    peaks+=("$(sed -n 's/.* \([0-9]*\) MB peak memory.*/\1/p' "$run.log" | tail -1)")
  done
  mean=$(printf '%s\n' "${accuracies[@]}" | awk '{ sum += $1 } END { printf "%.3f", sum / NR }')
  median() { printf '%s\n' "$@" | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
  echo "| $attention | ${accuracies[*]} | $mean | $(median "${speeds[@]}") | $(median "${peaks[@]}") |" >>"$table"
done
if "${PYTHON:-python3}" -c "import sklearn" 2>/dev/null; then
  "${PYTHON:-python3}" - "$data/imdb" >>"$table" <<'PYTHON'
import gzip, json, sys
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

def read(name):
    rows = [json.loads(line) for line in gzip.open(f"{sys.argv[1]}/{name}.jsonl.gz", "rt")]
    return [row["text"] for row in rows], [row["label"] for row in rows]

model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=10, max_iter=1000))
model.fit(*read("train"))
print(f"| logistic regression over words and pairs | {model.score(*read('test')):.4f} | | | |")
PYTHON
fi
cat "$table"
