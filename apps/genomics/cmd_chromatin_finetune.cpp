// `bigbird chromatin finetune`: a pretrained encoder learns chromatin profiles.
#include <string>

#include "apps/command_line.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/genomics/chromatin/finetune.h"

namespace bigbird::apps {

int cmd_chromatin_finetune(int argc, char** argv) {
  Verb verb("chromatin finetune", "Fine-tune a pretrained encoder on the chromatin profiles of 200-bp bins.",
            {("bigbird chromatin finetune --data demo-output/chromatin --init "
              "demo-output/pretrain/final -o chromatin-run"),
             ("bigbird chromatin finetune --data deepsea -f data/grch37/genome.fa.gz --init run/final "
              "-o deepsea-run --batch 256 --accumulate 32 --steps 500k --save-every 5k --resume")});
  ChromatinFinetuneOptions options;
  std::string strands = name_of(options.strands);
  verb.add_required("--data DIR", options.data, "Folder of chromatin build or import-deepsea");
  verb.add_option("-f,--fasta-ref FASTA", options.fasta, "Genome (default: where the data folder has it)");
  TrainingOptions training(verb, options,
                           {.sample = "Windows",
                            .length = "Tokens every window is padded or cut to (default: the longest of "
                                      "--length-samples random training windows, in whole blocks)",
                            .needs_init = true,
                            .classifies = true,
                            .paper = finetuning_defaults(Recipe::paper)});
  const OptionGroup group(verb, "Training");
  verb.add_count("--length-samples", options.length_windows, "Windows that are looked at for --length auto",
                 CLI::PositiveNumber);
  std::string pool;
  verb.add_option("--pool", pool,
                  "Part of a window that the head reads: cls, its first token; mean, the mean over its "
                  "tokens; middle:N, over the N in the middle, of bins of 200 bases and a token for each "
                  "base middle:200 (default: what the model reads, a fresh head the first)");
  verb.add_count("--bins-per-window", options.bins,
                 "Neighbouring training bins that one window holds, each with the context of its own: less "
                 "work for each bin; with --pool middle:N",
                 CLI::Range(1, 4096));
  verb.add_count("--shift", options.shift,
                 "Most bases that a training window begins earlier or later, by chance");
  verb.add_option("--positive-weight", options.positive_weight,
                  "Weight of the labels that are 1 in the loss; 8 is the paper's");
  verb.add_option(
      "--strands {both,coin,forward}", strands,
      "Strands of the training windows that are read: both as two samples, a coin for each, or forward");
  verb.with_word(verb.add_count("--eval-samples", options.valid_bins,
                                "Samples (bins) of a validation, a seeded choice, or all")
                     ->group("Checkpoints and validation"),
                 "all", "0");
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;

  options.strands = parse_strand_sampling(strands);
  if (!pool.empty()) options.pooling = parse_head_pooling(pool);
  training.finish(options.fasta);
  training.run([&](kernels::Backend& backend) { return chromatin_finetune(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
