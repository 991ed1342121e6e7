// `bigbird promoter finetune`: a pretrained encoder becomes a promoter classifier.
#include <string>

#include "apps/command_line.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/genomics/promoter/finetune.h"

namespace bigbird::apps {

int cmd_promoter_finetune(int argc, char** argv) {
  Verb verb("promoter finetune",
            "Fine-tune a pretrained encoder on promoter examples, of promoter build or your own.",
            {("bigbird promoter finetune --data demo-output/promoters --init "
              "demo-output/pretrain/final -o promoter-run"),
             ("bigbird promoter finetune --data demo-output/promoters --init "
              "demo-output/pretrain/final -o large-batch-run --steps 711 --batch 256 --accumulate 32 "
              "--resume"),
             ("bigbird promoter finetune --data demo-output/promoters --init "
              "demo-output/pretrain/final -o fresh-run --fresh-negatives random"),
             ("bigbird promoter finetune --train demo-output/promoters/train.tsv --valid "
              "demo-output/promoters/valid.tsv --init demo-output/pretrain/final -o own-run")});
  PromoterFinetuneOptions options;
  verb.add_option(
      "--data DIR", options.data,
      "Folder of promoter build; or of train.csv and dev.csv (or .tsv), with the columns sequence and "
      "label");
  verb.add_option("--train FILE", options.train.path,
                  "Training examples in place of --data: a TSV or CSV with the columns sequence and label, "
                  "or a FASTA of class 1");
  verb.add_option("--train-negatives FASTA", options.train.negatives,
                  "FASTA of class 0, where --train is one of class 1; not needed with --fresh-negatives");
  verb.add_option("--valid FILE", options.valid.path,
                  "Validation data in the form of --train; may be left out");
  verb.add_option("--valid-negatives FASTA", options.valid.negatives,
                  "FASTA of class 0, where --valid is one of class 1");
  std::string fresh_negatives;
  verb.add_option(
      "--fresh-negatives KIND", fresh_negatives,
      "Kind of negatives in place of the training side's, one of every promoter, made anew in each epoch: "
      "random, permute or dinucleotide, as promoter build makes them; its genomic ones stay");
  TrainingOptions training(
      verb, options,
      {.sample = "Windows",
       .length =
           "Tokens every window is padded or cut to (default: the longest training window, in whole blocks)",
       .needs_init = true,
       .classifies = true,
       .paper = finetuning_defaults(Recipe::paper)});
  std::string pool;
  const OptionGroup group(verb, "Training");
  verb.add_option(
      "--pool", pool,
      "Part of a window that the head reads: cls, its first token; mean, the mean over its tokens; middle:N, "
      "over the N in the middle (default: what the model reads, a fresh head the first)");
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;

  if (options.data.empty() == options.train.empty() || (!options.data.empty() && !options.valid.empty()) ||
      (options.train.empty() && !options.train.negatives.empty()) ||
      (options.valid.empty() && !options.valid.negatives.empty())) {
    throw_usage("promoter finetune: give the examples in one way",
                "--data DIR, or --train FILE with --valid FILE, each with its negatives when it is a FASTA");
  }
  if (!pool.empty()) options.pooling = parse_head_pooling(pool);
  if (!fresh_negatives.empty()) options.fresh_negatives = parse_negative_kind(fresh_negatives);
  training.finish();
  training.run([&](kernels::Backend& backend) { return promoter_finetune(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
