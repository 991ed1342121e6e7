// See pretrain.h.
#include "lib/text/hibert/pretrain.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/finetuning/finetuning.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/hibert/masked_documents.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

constexpr std::int64_t sentence_block = 16;  // a sentence is padded to so many tokens

std::int64_t in_blocks(std::int64_t tokens, std::int64_t block) {
  return (tokens + block - 1) / block * block;
}

// The config of the run: of a fresh model completed from the tokenizer, else that of the folder.
ModelConfig config_of_run(const HibertPretrainOptions& options, const Tokenizer& tokenizer) {
  if (tokenizer.is_dna()) {
    throw_bad_input(fmt::format("{}: a tokenizer of DNA", options.tokenizer),
                    "take one of text: bigbird text vocabulary makes it");
  }
  ModelConfig config = options.config;
  if (!options.init.empty()) {
    config = ModelFolder(options.init).config();
    require_hibert(config, options.init);
    set_sentence_length(config, options.length);
    if (!config.writes_sentences()) {
      throw_bad_input(fmt::format("{}: a HIBERT without its decoder", options.init),
                      "take the folder that bigbird text hibert pretrain wrote");
    }
    check_tokenizer_agrees(config, static_cast<std::int64_t>(tokenizer.vocab_size()), tokenizer.digest(),
                           options.init, options.tokenizer);
  } else {
    config.vocab_size = static_cast<std::int64_t>(tokenizer.vocab_size());
    config.pad_token_id = tokenizer.special().pad;
    config.bos_token_id = config.decoder.start_token_id = tokenizer.special().cls;
    config.eos_token_id = config.sep_token_id = tokenizer.special().sep;
  }
  config.quantization = nullptr;
  config.tokenizer_digest = tokenizer.digest();
  if (!options.init.empty()) {
    validate(config, options.init + "/config.json");
    return config;
  }
  if (config.num_attention_heads < 1 || config.hidden_size % config.num_attention_heads != 0) {
    throw_usage(message("`hidden_size` {} is not a multiple of `num_attention_heads` {}", config.hidden_size,
                        config.num_attention_heads));
  }
  try {
    validate(config, "the options of the model");
  } catch (const Error& error) {
    throw_usage(error.message());
  }
  return config;
}

TaskDescription describe_pretraining(const HibertPretrainOptions& options, const ModelConfig& config,
                                     const SentenceDocuments& train, const SentenceDocuments& valid) {
  TaskDescription task;
  task.name = "text hibert pretrain";
  task.columns.mlm = false;
  task.columns.sequence = "token";
  task.config = config;
  task.samples = train.documents.size();
  task.validates = !valid.documents.empty();
  const auto most = [&](std::size_t SentenceDocuments::*of) {
    return static_cast<std::int64_t>(std::max(train.*of, valid.*of));
  };
  const std::int64_t longest = in_blocks(most(&SentenceDocuments::longest), config.block_size);
  const std::int64_t sentences = most(&SentenceDocuments::most_sentences);
  const std::int64_t written =
      static_cast<std::int64_t>(sentences_to_choose(static_cast<std::size_t>(sentences)));
  // A sentence of another document may be longer than the one whose place it takes.
  const std::int64_t tokens = most(&SentenceDocuments::most_tokens) + written * longest;
  task.length = longest;
  task.limits = [=](std::int64_t documents, std::int64_t) {
    BatchLimits limits;
    limits.tokens = documents * tokens;
    limits.sequences = documents * sentences;
    limits.longest = longest;
    limits.target_tokens = documents * written * longest;
    return limits;
  };
  task.smoothing = options.smoothing;
  task.identity["data (training documents)"] = identity_of(train);
  if (!options.init.empty()) task.identity["init"] = options.init;
  if (options.smoothing.epsilon > 0.0) {
    task.identity["label_smoothing"] =
        fmt::format("{} ({})", options.smoothing.epsilon, name_of(options.smoothing.form));
  }
  task.extras.tokenizer_folder = options.tokenizer;
  return task;
}

ModelCard card_of(const HibertPretrainOptions& options, const ModelConfig& config, const Schedule& schedule,
                  const SentenceDocuments& train, const kernels::Backend& backend) {
  ModelCard card;
  card.tags = {"text"};
  card.title = "HIBERT, pretrained by bigbird";
  card.about =
      fmt::format("{} + {} + {} layers, width {}, {} heads, vocabulary {}.\n", config.num_hidden_layers,
                  config.documents.num_hidden_layers, config.decoder.num_hidden_layers, config.hidden_size,
                  config.num_attention_heads, config.vocab_size);
  card.table = "training";
  card.rows = {{"task", "masked sentences"},
               {"data", fmt::format("{} documents, {} sentences", train.documents.size(), train.sentences)},
               {"sentences of a document, tokens of a sentence",
                fmt::format("{}, {}", config.documents.sentences, config.documents.sentence_length)},
               {"batch, steps", fmt::format("{}, {}", options.batch, schedule.total)},
               {"rate", fmt::format("{:g}, {} warm-up steps, {} schedule", options.learning_rate,
                                    schedule.warmup, name_of(options.schedule))},
               {"computed on", fmt::format("{}, {}", backend.name(), name_of(backend.precision()))},
               {"seed", std::to_string(options.seed)}};
  if (!options.init.empty()) card.rows.emplace_back("begun from", options.init);
  card.command = options.command;
  card.use = "Use: `bigbird text hibert finetune` begins from it. transformers has no class for it.\n";
  return card;
}

}  // namespace

RunOptions hibert_pretraining_defaults() {
  RunOptions options = pretraining_defaults(Recipe::paper);
  options.length = 0;
  options.batch = 32;
  options.steps = 100000;
  options.learning_rate = 1e-4;
  options.schedule = ScheduleForm::inverse_sqrt;
  options.optimizer.variant = OptimizerVariant::torch;
  options.optimizer.weight_decay = 0.01;
  return options;
}

ModelConfig hibert_architecture(ModelConfig config) {
  config.head = HeadType::masked_sentences;
  config.attention = AttentionPattern::full;
  config.random_mode = RandomMode::none;
  config.num_random_blocks = 0;
  config.norm_type = NormType::postnorm;
  config.embedding_norm = EmbeddingNorm::none;
  config.position_type = PositionType::sinusoidal;
  config.type_vocab_size = 0;
  config.rescale_embeddings = true;
  config.activation = Activation::relu;
  config.layer_norm_eps = 1e-5;
  config.pooler = false;
  config.block_size = sentence_block;
  config.documents.num_hidden_layers = config.num_hidden_layers;
  config.decoder = {.num_hidden_layers = config.num_hidden_layers,
                    .num_attention_heads = config.num_attention_heads,
                    .intermediate_size = config.intermediate_size};
  config.max_position_embeddings =
      in_blocks(std::max(config.documents.sentences, config.documents.sentence_length), sentence_block);
  return config;
}

TrainingSummary hibert_pretrain(const HibertPretrainOptions& asked, kernels::Backend& backend) {
  HibertPretrainOptions options = asked;
  check_run(options);
  if (options.tokenizer.empty()) options.tokenizer = options.init;
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(options.tokenizer);
  const ModelConfig config = config_of_run(options, *tokenizer);
  SummaryPairOptions pairs = options.pairs;
  pairs.parts = SummaryParts::document;
  const auto read = [&](const std::string& path) {
    return read_sentence_documents(path, pairs, *tokenizer, config, LongDocuments::split);
  };
  const SentenceDocuments train = read(options.train);
  const SentenceDocuments valid = options.valid.empty() ? SentenceDocuments() : read(options.valid);
  log_info(fmt::format("{} documents of {} sentences to train on, {} to validate on", train.documents.size(),
                       train.sentences, valid.documents.size()));
  TaskDescription task = describe_pretraining(options, config, train, valid);
  task.initial_parameters = [&] {
    if (options.init.empty()) return initial_parameters(ParameterLayout(config), config, options.seed);
    LoadedModel loaded = ModelFolder(options.init).load(HeadType::masked_sentences, options.seed);
    leave_int8(loaded);
    return std::move(loaded.parameters);
  };
  choose_batch(options, task, backend);
  task.extras.model_card =
      model_card(card_of(options, config, schedule_of(options, task.samples), train, backend));
  const std::vector<std::size_t> counts = sentence_counts(train), valid_counts = sentence_counts(valid);
  const auto mask = static_cast<std::int32_t>(tokenizer->special().mask);
  const SampleTask batches = task_of_samples(
      options, train.documents.size(),
      [&](const Draw& draw, Batch& batch) {
        const auto document = static_cast<std::size_t>(draw.sample);
        append_masked_document(batch, config, train, document,
                               choose_sentences(options.seed, draw.number, document, counts), mask);
      },
      valid.documents.size(),
      [&](std::size_t i, Batch& batch) {
        append_masked_document(batch, config, valid, i, choose_sentences(options.seed, i, i, valid_counts),
                               mask);
      });
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
