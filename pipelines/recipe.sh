# The recipe that yeast.sh and human.sh share: an encoder of single bases, models of tracks, models of promoters. Sourced, not run,
# with all that a long study needs. It works in the study's folder, which has the shards `learn` and `choose` and the tokenizer `bases`.
# benchmarks/yeast.md says how each setting was chosen.
# shellcheck shell=bash
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=pipelines/demonstration.sh
source "$(dirname "${BASH_SOURCE[0]}")/demonstration.sh"
# shellcheck source=pipelines/resumable.sh
source "$(dirname "${BASH_SOURCE[0]}")/resumable.sh"

# updates N: the updates of a run, N of them or the fraction STEPS.
updates() { awk -v n="$1" -v of="${STEPS:-1}" 'BEGIN { n = int(n * of); print n < 2 ? 2 : n }'; }
# every N: between two validations, of which a run has ten.
every() { awk -v n="$(updates "$1")" 'BEGIN { n = int(n / 10); print n < 1 ? 1 : n }'; }
# tracks_of BED: the table of a BED's names (column 4) that `chromatin build` reads.
tracks_of() { cut -f4 "$1" | sort -u | awk -v file="$1" -v group="$2" 'BEGIN { print "name\tgroup\tfile\ttrack" } { print $1 "\t" group "\t" file "\t" $1 }'; }

optimizer=(--optimizer torch --schedule huggingface --clip-norm 1 --precision bf16 --resume)
# trained RUN VERB... [OPTION...]: a run, unless it has ended.
trained() {
  local folder=$1
  shift
  [ -e "$folder/final" ] || run bigbird "$@" -q -o "$folder" "${optimizer[@]}"
}
rate=1e-3     # of pretraining
average=0.999 # of its weights
# pretrained RUN SEED UPDATES [OPTION...]: an encoder of single bases: a convolution makes one row of eight of them.
pretrained() {
  local folder=$1 seed=$2 steps=$3
  shift 3
  trained "$folder" pretrain --train learn --valid choose -m bases --layers 3 --width 160 --heads 5 --norm prenorm --stem-stride 8 \
    --max-positions 12288 --steps "$(updates "$steps")" --lr "$rate" --average "$average" --dropout 0 --attention-dropout 0 --no-nsp \
    --eval-every "$(every "$steps")" --eval-samples 200 --final last --seed "$seed" "$@"
}
# profiled RUN SEED WINDOW UPDATES [OPTION...]: a model of the tracks of bins-WINDOW.
profiled() {
  local folder=$1 seed=$2 window=$3 steps=$4
  shift 4
  trained "$folder" chromatin finetune --data "bins-$window" --steps "$(updates "$steps")" --shift 24 --dropout 0.1 --positive-weight 1 \
    --average 0.99 --eval-samples 1000 --eval-every "$(every "$steps")" --final last --seed "$seed" "$@"
}
# promoter RUN SEED BASES UPDATES [OPTION...]: a model of promoters-BASES.
promoter() {
  local folder=$1 seed=$2 bases=$3 steps=$4
  shift 4
  trained "$folder" promoter finetune --data "promoters-$bases" --steps "$(updates "$steps")" --lr 3e-4 --dropout 0.1 --average 0.99 \
    --eval-every "$(every "$steps")" --seed "$seed" "$@"
}
