// `bigbird chromatin finetune`: a pretrained encoder learns chromatin profiles.
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/training_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/genomics/chromatin/finetune.h"

namespace bigbird::apps {

int cmd_chromatin_finetune(int argc, char** argv) {
  Verb verb(
      "chromatin finetune", "Fine-tune a pretrained encoder on the chromatin profiles of 200-bp bins.",
      {"bigbird chromatin finetune --data chromatin --init run/final -o chromatin-run",
       "bigbird chromatin finetune --data deepsea -f hg19.fa --init run/final -o chromatin-run --batch 256 "
       "--accumulate 32 --steps 500k --save-every 5k --resume"});
  ChromatinFinetuneOptions options;
  std::string strands = name_of(options.strands);
  CLI::App& app = verb.app();
  app.add_option("--data", options.data, "Folder of chromatin build or import-deepsea")
      ->required()
      ->type_name("DIR");
  app.add_option("-f,--fasta-ref", options.fasta, "Genome, when it is not where the data folder says")
      ->type_name("FASTA");
  TrainingOptions training(verb, options,
                           {"Windows",
                            "Tokens every window is padded or cut to; 0 is the longest of --length-windows "
                            "random training windows, in whole blocks",
                            true});
  const char* group = "Training";
  app.add_option("--length-windows", options.length_windows, "Windows that are looked at for --length 0")
      ->check(CLI::PositiveNumber)
      ->transform(count_suffix())
      ->group(group);
  app.add_option("--positive-weight", options.positive_weight,
                 "Weight of the labels that are 1 in the loss; 8 is the paper's")
      ->group(group);
  app.add_option("--strand", strands,
                 "Strand of the training windows: both as two samples, a coin for each, or forward")
      ->group(group);
  app.add_option("--valid-bins", options.valid_bins,
                 "Validation bins that are used, a random choice by the seed; 0 is all")
      ->transform(count_suffix())
      ->group("Checkpoints and validation");
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;

  options.strands = parse_strand_sampling(strands);
  training.finish(options.fasta);
  const std::unique_ptr<kernels::Backend> backend = training.make_backend();
  training.run([&] { return chromatin_finetune(options, *backend); });
  return 0;
}

}  // namespace bigbird::apps
