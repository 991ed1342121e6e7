// `bigbird text hibert pretrain`: encoders of sentences and documents learn to write masked sentences.
#include <fmt/core.h>

#include <string>

#include "apps/command_line.h"
#include "apps/summary_options.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/model/config.h"
#include "lib/text/hibert/pretrain.h"

namespace bigbird::apps {
namespace {

constexpr double published_dropout = 0.1, published_smoothing = 0.1;

struct HibertSizes {
  ModelConfig config;
  std::int64_t intermediate = 0;  // 0: 4 x width
  bool untied = false;
};

void add_sizes(Verb& verb, HibertSizes& typed) {
  const OptionGroup group(verb, "Model");
  ModelConfig& config = typed.config;
  config.num_hidden_layers = 6;
  config.hidden_size = 512;
  config.num_attention_heads = 8;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = published_dropout;
  verb.add_option("--layers", config.num_hidden_layers,
                  "Encoder layers, of sentences and of documents, and as many of the decoder");
  verb.add_option("--width", config.hidden_size, "Width of the hidden states");
  verb.add_option("--heads", config.num_attention_heads, "Attention heads");
  verb.with_word(verb.add_option("--intermediate", typed.intermediate,
                                 "Inner width of the feed-forward layers (default: 4 x width)"),
                 "auto", "0");
  verb.add_option("--max-sentences", config.documents.sentences,
                  "Most sentences of a document; longer ones are taken as several")
      ->check(CLI::Range(1, 1024));
  verb.add_flag("--untied-output", typed.untied,
                "Train an output table of the decoder (default: the word table)");
  verb.add_option("--attention-dropout", config.attention_probs_dropout_prob,
                  "Dropout of attention probabilities", CLI::Range(0.0, 0.999));
}

ModelConfig config_of(const HibertSizes& typed, std::int64_t length) {
  ModelConfig config = typed.config;
  config.intermediate_size = typed.intermediate > 0 ? typed.intermediate : 4 * config.hidden_size;
  config.tie_word_embeddings = !typed.untied;
  if (length > 0) config.documents.sentence_length = length;
  return hibert_architecture(config);
}

}  // namespace

int cmd_text_hibert_pretrain(int argc, char** argv) {
  Verb verb(
      "text hibert pretrain", "Pretrain HIBERT on documents, by masked sentences.",
      {"bigbird text hibert pretrain --train demo-text-output/pages/train.jsonl -m "
       "demo-text-output/tokenizer -o small-hibert --layers 2 --width 128 --heads 4 --lr 1e-3 --steps 2k",
       "bigbird text hibert pretrain --train in_domain.jsonl --valid dev.jsonl -m hibert/final --init "
       "hibert/final -o stage2"});
  HibertPretrainOptions options;
  options.smoothing.epsilon = published_smoothing;
  HibertSizes sizes;
  SummaryDataOptions data;
  verb.add_required("--train FILE", options.train,
                    "Documents: JSON Lines, CSV, TSV, lines (.txt, a document a line), or a folder of .txt");
  verb.add_option("--valid FILE", options.valid, "Validation data in the form of --train; may be left out");
  verb.add_required("-m,--tokenizer TOKENIZER", options.tokenizer, "Tokenizer folder of text");
  add_sizes(verb, sizes);
  SmoothingOptions smoothing;
  smoothing.add(verb, options.smoothing);
  data.add(verb, SummaryParts::document);
  TrainingOptions training(
      verb, options,
      {.sample = "Documents",
       .length = "Most tokens of a sentence, its end included (default: 51, or the model's)",
       .paper = {},
       .dropout = "the model's own, 0.1 of a fresh one"});
  if (!verb.parse(argc, argv)) return 0;
  smoothing.apply(options.smoothing);
  options.pairs = data.pairs();
  if (options.train == "-" || options.valid == "-")
    throw_usage("text hibert pretrain: documents are read from files", "write them to a file first");
  options.config = config_of(sizes, options.length);
  for (const char* option : {"--layers", "--width", "--heads", "--intermediate", "--max-sentences",
                             "--untied-output", "--attention-dropout"}) {
    if (options.init.empty() || !verb.given(option)) continue;
    throw_usage(fmt::format("{} with --init, whose model has its own", option),
                fmt::format("leave {} out", option));
  }
  if (!options.init.empty()) {
    verb.leave_out_of_toml({"--layers", "--width", "--heads", "--intermediate", "--max-sentences",
                            "--untied-output", "--attention-dropout"});
  }
  training.finish("", options.config.hidden_size);
  training.reads(options.train);
  training.reads(options.valid);
  training.run([&](kernels::Backend& backend) { return hibert_pretrain(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
