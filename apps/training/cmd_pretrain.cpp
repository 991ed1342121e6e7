// `bigbird pretrain`: masked tokens and next sentences on token shards.
#include <fmt/core.h>

#include <string>

#include "apps/command_line.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/model/config.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/model_folder.h"
#include "lib/training/pretraining.h"

namespace bigbird::apps {
namespace {

// What is a size in one recipe and another one in the other: an option and its field. A fresh model of the
// standard recipe has no dropout: it sees its data a few times, and fine-tuning brings its own.
struct RecipeSize {
  const char* option;
  std::int64_t ModelConfig::*field;
  std::int64_t standard;
  std::int64_t paper;
};
constexpr RecipeSize recipe_sizes[] = {{"--layers", &ModelConfig::num_hidden_layers, 4, 12},
                                       {"--width", &ModelConfig::hidden_size, 256, 768},
                                       {"--heads", &ModelConfig::num_attention_heads, 4, 12}};
constexpr double paper_dropout = 0.1;

// Options as typed; which of them were given is known to CLI11.
struct Typed {
  ModelConfig config;
  std::int64_t intermediate = 0;  // 0: 4 x width
  double attention_dropout = 0.0;
  AttentionOptionGroup attention;
  RandomModeOptions random_mode;
  std::string norm = "postnorm";
  std::string positions = "absolute";
  std::string objective;  // empty: mlm, or the objective of the model that is begun from
  bool no_mlm = false;
  bool no_nsp = false;
};

void add_model_options(Verb& verb, Typed& typed, PretrainOptions& options) {
  const OptionGroup group(verb, "Model");
  ModelConfig& config = typed.config;
  verb.add_option("--layers", config.num_hidden_layers, "Encoder layers");
  verb.add_option("--width", config.hidden_size, "Width of the hidden states");
  verb.add_option("--heads", config.num_attention_heads, "Attention heads");
  verb.with_word(verb.add_option("--intermediate", typed.intermediate,
                                 "Inner width of the feed-forward layers (default: 4 x width)"),
                 "auto", "0");
  verb.add_option("--block-size", config.block_size, "Tokens of an attention block");
  verb.add_option("--random-blocks", config.num_random_blocks, "Random blocks of a row");
  typed.attention.add(verb, "bigbird; with --init the model's own");
  typed.random_mode.add(verb,
                        "Random blocks: their source, and when attention is full instead (default: google; "
                        "with --init the model's own)");
  verb.add_option("--norm {postnorm,prenorm}", typed.norm, "LayerNorm after each part or before it");
  verb.add_option(
      "--position-embedding", typed.positions,
      "Positions: a learned table (absolute), queries and keys turned by their position (rotary; no model of "
      "Hugging Face's BigBird), or nothing but labels of pairs (none; attention etc, whose own it is)",
      CLI::IsMember({"absolute", "rotary", "none"}));
  verb.with_word(
      verb.add_option(
          "--stem-stride", config.stem.stride,
          "Single bases that a convolution makes one row of the layers of, whole numbers of rows a "
          "block (10); none: no stem. Takes a vocabulary of single bases and rotary positions",
          CLI::Range(0, 4096)),
      "none", "0");
  verb.add_option("--stem-channels", config.stem.channels, "Filters of the stem")
      ->check(CLI::Range(1, 65536));
  verb.add_option("--stem-kernel", config.stem.kernel, "Bases that a filter of the stem sees, odd");
  verb.add_option("--attention-dropout", typed.attention_dropout,
                  "Dropout of attention probabilities (full attention and longformer); 0.1 with --recipe "
                  "paper",
                  CLI::Range(0.0, 0.999));
  verb.add_option("--relative-init", options.relative_init,
                  "Standard deviation of fresh tables of labels of etc; 0 begins as if there were none",
                  CLI::Range(0.0, 10.0));
  verb.with_word(verb.add_count("--max-positions", config.max_position_embeddings,
                                "Rows of the position table (default: --length in whole blocks)"),
                 "auto", "0");
}

// Those of pretraining alone.
void add_objective_options(Verb& verb, Typed& typed, PretrainOptions& options) {
  const OptionGroup group(verb, "Training");
  verb.add_option("--objective", typed.objective,
                  "Tokens to predict: masked ones (mlm, with next sentences) or each next one, left to right "
                  "(clm) (default: mlm; with --init the model's own)",
                  CLI::IsMember({"mlm", "clm"}));
  verb.add_option("--mask-probability", options.objective.mask_probability, "Fraction of tokens to predict");
  verb.add_flag(
      "--no-nsp", typed.no_nsp,
      "Leave next-sentence prediction out: samples are [CLS] tokens [SEP] (text and attention etc have none)");
  verb.add_flag("--no-mlm", typed.no_mlm, "Leave masked-token prediction out");
  verb.with_word(verb.add_count("--eval-samples", options.eval_samples,
                                "Samples of a validation, a seeded choice, or all"),
                 "all", "0")
      ->group("Checkpoints and validation");
}

// The model folder's config with what was typed on top; the shape of its weights cannot change.
ModelConfig config_on_top_of(const std::string& folder, const Verb& verb, const Typed& typed) {
  // A Longformer has more tensors than others, BigBird-ETC has other ones: a folder is read as such a model.
  if (const AttentionChoice typed_choice = typed.attention.choice();
      typed_choice.attention == AttentionPattern::longformer ||
      typed_choice.attention == AttentionPattern::etc)
    chosen_attention() = typed_choice;
  ModelConfig config = ModelFolder(folder).config();
  const auto fixed = [&](const char* option, std::int64_t typed_value, std::int64_t value) {
    if (verb.given(option) && typed_value != value) {
      throw_usage(fmt::format("{} {}: the model in {} has {}", option, typed_value, folder, value),
                  fmt::format("leave {} out with --init", option));
    }
  };
  fixed("--layers", typed.config.num_hidden_layers, config.num_hidden_layers);
  fixed("--width", typed.config.hidden_size, config.hidden_size);
  fixed("--heads", typed.config.num_attention_heads, config.num_attention_heads);
  fixed("--intermediate", typed.intermediate, config.intermediate_size);
  fixed("--stem-stride", typed.config.stem.stride, config.stem.stride);
  fixed("--stem-channels", typed.config.stem.channels, config.stem.channels);
  fixed("--stem-kernel", typed.config.stem.kernel, config.stem.kernel);
  fixed("--max-positions", typed.config.max_position_embeddings, config.max_position_embeddings);
  if (verb.given("--norm") && parse_norm_type(typed.norm) != config.norm_type) {
    throw_usage(
        fmt::format("--norm {}: the model in {} has {}", typed.norm, folder, name_of(config.norm_type)),
        "leave --norm out with --init");
  }
  if (verb.given("--position-embedding") && parse_position_type(typed.positions) != config.position_type) {
    throw_usage(fmt::format("--position-embedding {}: the model in {} has others", typed.positions, folder),
                "leave --position-embedding out with --init");
  }
  if (verb.given("--block-size")) config.block_size = typed.config.block_size;
  if (verb.given("--random-blocks")) config.num_random_blocks = typed.config.num_random_blocks;
  typed.attention.apply(config);
  typed.random_mode.apply(config);
  if (verb.given("--attention-dropout")) config.attention_probs_dropout_prob = typed.attention_dropout;
  return config;
}

// What --recipe paper changes of a fresh model, where nothing else was typed.
void take_paper_sizes(Verb& verb, Typed& typed) {
  for (const RecipeSize& size : recipe_sizes) {
    if (verb.given(size.option)) continue;
    typed.config.*size.field = size.paper;
    verb.set_in_toml(size.option, std::to_string(size.paper));
  }
  if (verb.given("--attention-dropout")) return;
  typed.attention_dropout = paper_dropout;
  verb.set_in_toml("--attention-dropout", fmt::format("{}", paper_dropout));
}

ModelConfig fresh_config(const Verb& verb, const Typed& typed, Recipe recipe) {
  ModelConfig config = typed.config;
  config.hidden_dropout_prob = recipe == Recipe::paper ? paper_dropout : 0.0;
  config.intermediate_size = typed.intermediate > 0 ? typed.intermediate : 4 * config.hidden_size;
  typed.attention.apply(config);
  typed.random_mode.apply(config);
  config.norm_type = parse_norm_type(typed.norm);
  config.embedding_norm = usual_embedding_norm(config.norm_type);
  config.attention_probs_dropout_prob = typed.attention_dropout;
  config = fresh_architecture(config);
  // BigBird-ETC has none unless they are asked for.
  if (verb.given("--random-blocks")) config.num_random_blocks = typed.config.num_random_blocks;
  if (config.has_stem()) {
    config.position_type = PositionType::rotary;
    config.type_vocab_size = 0;
  }
  if (verb.given("--position-embedding")) config.position_type = parse_position_type(typed.positions);
  // All of a head; where the heads do not share the width evenly, the model is refused for that.
  if (config.position_type == PositionType::rotary && config.num_attention_heads > 0)
    config.rotary_dim = config.head_size();
  return config;
}

void set_objective(Verb& verb, const Typed& typed, PretrainOptions& options) {
  options.objective.mlm = !typed.no_mlm;
  options.objective.nsp = !typed.no_nsp;
  options.objective.next = verb.given("--objective") ? typed.objective == "clm" : options.config.causal;
  for (const char* option : {"--no-mlm", "--no-nsp", "--mask-probability"}) {
    if (!options.objective.next || !verb.given(option)) continue;
    throw_usage(fmt::format("{} with --objective clm, which masks nothing", option),
                fmt::format("leave {} out", option));
  }
}

}  // namespace

int cmd_pretrain(int argc, char** argv) {
  Verb verb("pretrain", "Train a model on token shards: masked tokens and next sentences, or next tokens.",
            {("bigbird pretrain --train demo-output/train --valid demo-output/valid -m "
              "demo-output/tokenizer -o run"),
             ("bigbird pretrain --train demo-output/train --valid demo-output/valid -m "
              "demo-output/tokenizer -o small-run --layers 2 --width 128 --length 512 --block-size 16 "
              "--random-mode hf-train --steps 600"),
             ("bigbird pretrain --train demo-output/train --valid demo-output/valid -m "
              "demo-output/tokenizer -o base-run --recipe paper --device cuda:0 --resume"),
             ("bigbird pretrain --train demo-output/valid -m demo-output/tokenizer --init "
              "demo-output/pretrain/final -o longer-run --length 128 --steps 5k")});
  Typed typed;
  typed.config.max_position_embeddings = 0;
  for (const RecipeSize& size : recipe_sizes) typed.config.*size.field = size.standard;
  PretrainOptions options;
  verb.add_required("--train P", options.train, "Prefix of the token shards to train on");
  verb.add_option("--valid P", options.valid, "Prefix of token shards to validate on");
  verb.add_required("-m,--tokenizer TOKENIZER", options.tokenizer,
                    "Tokenizer folder the shards were made with");
  add_model_options(verb, typed, options);
  TrainingOptions training(verb, options,
                           {.sample = "Sequences",
                            .length = "Most tokens of a sample, special ones included",
                            .paper = pretraining_defaults(Recipe::paper)});
  verb.app().get_option("--length")->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 30));
  add_objective_options(verb, typed, options);
  if (!verb.parse(argc, argv)) return 0;

  if (options.init.empty() && training.recipe() == Recipe::paper) take_paper_sizes(verb, typed);
  options.config = options.init.empty() ? fresh_config(verb, typed, training.recipe())
                                        : config_on_top_of(options.init, verb, typed);
  // The model that is begun from has them; the parser's defaults would be another one's.
  if (!options.init.empty()) {
    verb.leave_out_of_toml({"--layers", "--width", "--heads", "--intermediate", "--max-positions", "--norm",
                            "--position-embedding", "--stem-stride", "--stem-channels", "--stem-kernel",
                            "--block-size", "--random-blocks", "--random-mode", "--attention-dropout"});
    verb.leave_out_of_toml(typed.attention.flags());
  }
  if (options.init.empty()) {
    verb.set_in_toml("--attention", name_of(options.config.attention));
    for (const AttentionOption& option : system_of(options.config.attention).options)
      verb.set_in_toml(option.flag(), option.shown(options.config));
    verb.set_in_toml("--position-embedding", name_of(options.config.position_type));
    verb.set_in_toml("--random-blocks", std::to_string(options.config.num_random_blocks));
  }
  set_objective(verb, typed, options);
  training.finish("", options.config.hidden_size);
  training.run([&](kernels::Backend& backend) { return pretrain(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
