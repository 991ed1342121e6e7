// `bigbird quantize`: a model folder whose linear layers are int8, but for those that would lose most.
#include <string>

#include "apps/command_line.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/model_names.h"
#include "lib/quantization/quantize.h"

namespace bigbird::apps {
namespace {

void add_options(Verb& verb, QuantizeOptions& options) {
  verb.add_required("MODEL", options.model,
                    "Model folder: a promoter or chromatin classifier, or one that predicts masked tokens");
  verb.add_required("-o,--output OUT", options.output, "Model folder to write");
  verb.add_required(
      "--data DATA", options.data,
      "Data: the folder of promoter build or a file of labelled sequences; the data set of chromatin "
      "build; prefix of token shards. Layers are chosen on its training side, the loss is measured "
      "on its validation side");
  verb.add_option("--max-loss X", options.max_loss,
                  "Most that may be lost: of the mean AUROC, or of masked tokens Kullback-Leibler divergence "
                  "in nats (default: 0.002 of AUROC, 0.01 nats)",
                  CLI::NonNegativeNumber);
  verb.add_option("--keep-layers N|auto", options.keep,
                  "Layers that stay as they are, the ones of the largest errors: a number, or auto (default: "
                  "outliers, and more while the loss is too large)");
  verb.add_count(
      "--effect-samples", options.sample,
      "Windows that effects of substitutions are compared on; a quarter of them, or of samples of shards, compares single layers",
      CLI::Range(1, 1 << 20));
  verb.with_word(
      verb.add_count(
          "--samples", options.most_examples,
          "Samples (bins of chromatin, or of token shards) that the loss is measured on, a seeded choice, or all"),
      "all", "0");
  verb.add_option("-f,--fasta-ref FASTA", options.fasta,
                  "Genome of chromatin data (default: the data set's own)");
}

}  // namespace

int cmd_quantize(int argc, char** argv) {
  Verb verb("quantize", "Write a model with int8 linear layers, measured against its source.",
            {("bigbird quantize demo-output/finetune/final -o promoter-int8 --data "
              "demo-output/promoters"),
             ("bigbird quantize demo-output/chromatin-run/final -o chromatin-int8 --data "
              "demo-output/chromatin --max-loss 0.01"),
             ("bigbird quantize demo-output/pretrain/final -o encoder-int8 --data "
              "demo-output/valid --keep-layers 4")});
  QuantizeOptions options;
  add_options(verb, options);
  verb.add_seed();
  verb.add_random_mode();
  verb.add_threads();
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;
  options.model = model_folder_of(options.model);
  options.seed = verb.seed();
  options.replace = verb.force();
  options.with_provenance = verb.provenance();
  options.provenance = verb.made_from(options.fasta);
  const QuantizedFolder written = quantize_folder(options);
  write_output("-", written.table());
  verb.set_throughput(static_cast<double>(written.errors.size()), "layers");
  return 0;
}

}  // namespace bigbird::apps
