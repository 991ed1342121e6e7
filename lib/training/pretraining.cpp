// See pretraining.h.
#include "lib/training/pretraining.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/data/masked_sentences.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/file.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/etc_lift.h"
#include "lib/model_folder/model_card.h"
#include "lib/model_folder/roberta.h"
#include "lib/model_folder/vocabulary_transfer.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/evaluator.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

// Global tokens of a sequence, one for each sentence; 0: the model has none.
std::int64_t most_sentences(const ModelConfig& config) {
  return config.attention == AttentionPattern::etc ? config.attention_options.etc.globals : 0;
}

// Of a sample at most.
std::int64_t ordinary_tokens(const ModelConfig& config, const PretrainingObjective& objective,
                             std::int64_t length) {
  if (most_sentences(config) > 0) return length - 1;
  return length - (objective.nsp ? 3 : 2);
}

// The fields of config.json in a message, as what they are here: settings ("`hidden_size` 768 is not ...").
std::string with_setting_names(const std::string& message) {
  std::string text;
  const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (std::size_t at = 0; at < message.size();) {
    std::size_t end = at;
    while (end < message.size() && is_part(message[end])) ++end;
    const std::string word = message.substr(at, std::max<std::size_t>(end - at, 1));
    text += word.find('_') != std::string::npos ? setting_name(word) : word;
    at += word.size();
  }
  return text;
}

// How a text model is begun from one of another vocabulary. Nothing for DNA, or where the model's own
// vocabulary is that of the run, or does not lie in its folder: then check_tokenizer_agrees() decides.
std::optional<VocabularyTransfer> transfer_of(const PretrainOptions& options, const Tokenizer& tokenizer) {
  if (options.init.empty() || tokenizer.is_dna()) return std::nullopt;
  const std::vector<std::string> files = tokenizer_files(options.init);
  constexpr std::array<const char*, 4> vocabularies{"spiece.model", "tokenizer.json", "vocab.json",
                                                    "vocab.txt"};
  if (std::find_first_of(files.begin(), files.end(), vocabularies.begin(), vocabularies.end()) == files.end())
    return std::nullopt;
  const std::unique_ptr<Tokenizer> own = load_tokenizer(options.init);
  if (own->is_dna() || same_vocabulary(*own, tokenizer)) return std::nullopt;
  check_tokenizer_agrees(options.config, static_cast<std::int64_t>(own->vocab_size()), own->digest(),
                         options.init, options.init);
  return match_vocabularies(*own, tokenizer);
}

// BigBirdForPreTraining's, of which a run without next sentences leaves one half as it is. transformers'
// Longformer, RoBERTa and esm have no such class; without next sentences theirs is the one for masked tokens.
HeadType head_of_run(ModelConfig config, const PretrainingObjective& objective, const Tokenizer& tokenizer) {
  if (config.causal || config.attention == AttentionPattern::etc) return pretraining_head(config);
  const bool next_sentences = objective.nsp && (tokenizer.is_dna() || objective.nsp_of_text);
  config.head = HeadType::masked_lm;
  const bool roberta = is_bert_architecture(config) && is_written_as_roberta(config);
  const bool without_pooler = is_longformer_architecture(config) || config.has_esm_form() || roberta;
  return !next_sentences && without_pooler ? HeadType::masked_lm : HeadType::pretraining;
}

// Tables of labels as wide as is asked for: those that are named, or, of a new model, all (null).
void scale_labels(const ModelConfig& config, double range, const std::vector<std::string>* fresh,
                  std::vector<float>& parameters) {
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.init != Init::relative_normal) continue;
    if (fresh != nullptr && std::find(fresh->begin(), fresh->end(), spec.name) == fresh->end()) continue;
    for (std::int64_t i = spec.offset; i < spec.offset + spec.count; ++i)
      parameters[static_cast<std::size_t>(i)] *= static_cast<float>(range / relative_init_range);
  }
}

// The config of the run: completed from the tokenizer, or checked against it.
ModelConfig complete_config(const PretrainOptions& options, const Tokenizer& tokenizer, bool transferred) {
  ModelConfig config = options.config;
  config.quantization = nullptr;  // int8 layers that are trained are none
  const auto vocabulary = static_cast<std::int64_t>(tokenizer.vocab_size());
  if (options.init.empty()) {
    config.vocab_size = vocabulary;
    config.pad_token_id = tokenizer.special().pad;
    config.bos_token_id = tokenizer.special().cls;
    config.eos_token_id = tokenizer.special().sep;
    config.sep_token_id = tokenizer.special().sep;
    const std::int64_t block = std::max<std::int64_t>(config.block_size, 1);
    const std::int64_t positions = std::max(config.max_position_embeddings, options.length);
    config.max_position_embeddings = (positions + block - 1) / block * block;
  } else {
    if (transferred) {
      config = with_vocabulary(config, tokenizer);
    } else {
      check_tokenizer_agrees(config, vocabulary, tokenizer.digest(), options.init, options.tokenizer);
    }
    const std::int64_t whole =
        (options.length + config.block_size - 1) / config.block_size * config.block_size;
    if (config.position_type == PositionType::none)  // no table holds a length
      config.max_position_embeddings = std::max(config.max_position_embeddings, whole);
    const std::string file = config_file(options.init);
    if (options.length > config.max_position_embeddings &&
        is_bert_or_roberta(dialect_of(read_file(file), file))) {
      const std::int64_t block = config.block_size;  // its positions are repeated to any length
      config.max_position_embeddings = (options.length + block - 1) / block * block;
    }
    if (options.length > config.max_position_embeddings) {
      throw_usage(message("`length` {}: {} has {} positions", options.length, options.init,
                          config.max_position_embeddings),
                  message("shorten `length`, or train from the beginning without `init`"));
    }
  }
  if (config.random_mode == RandomMode::file && config.plan != nullptr)
    config.plan->require_length(options.length);
  config.tokenizer_digest = tokenizer.digest();
  config.causal = options.objective.next;
  // Two streams are wider than the word table.
  if (is_reversible(config) && config.causal) config.tie_word_embeddings = false;
  config.head = head_of_run(config, options.objective, tokenizer);
  try {
    validate(config, options.init.empty() ? "the options of the model" : options.init + "/config.json");
  } catch (const Error& error) {
    if (!options.init.empty()) throw;
    const bool of_folders = error.hint() == wrong_field_hint;
    throw_usage(with_setting_names(error.message()), of_folders ? "" : with_setting_names(error.hint()));
  }
  return config;
}

// What decides the weights beside the options of every run.
std::map<std::string, std::string> identity(const PretrainOptions& options, const TokenShards& train) {
  std::map<std::string, std::string> all = {
      {"train (documents, sentences, tokens)",
       fmt::format("{}, {}, {}", train.document_count(), train.sentence_count(), train.token_count())},
      {"length", std::to_string(options.length)},
      {"mask_probability", fmt::format("{}", options.objective.mask_probability)},
      {"no_mlm", options.objective.mlm ? "false" : "true"},
      {"no_nsp", options.objective.nsp ? "false" : "true"}};
  if (options.objective.next) all["objective"] = "clm";
  if (train.is_text()) all["train (documents joined)"] = train.joins_documents() ? "true" : "false";
  return all;
}

// Bytes of the token shards that a run of so many updates will have touched at its end: the system maps 64
// KiB around every first touch, and with pairs a sample reads from two documents, of text from all that it
// joins.
std::size_t shard_bytes_touched(const PretrainOptions& options, std::uint64_t steps,
                                const TokenShards& shards, std::uint64_t samples) {
  constexpr std::uint64_t mapped_at_once = 64 * 1024;
  const bool joined = most_sentences(options.config) > 0 || (shards.is_text() && !options.objective.nsp);
  const std::uint64_t documents =
      joined ? shards.document_count() / samples + 1 : (options.objective.nsp ? 2u : 1u);
  const std::uint64_t touches = steps * options.batch * documents;
  return static_cast<std::size_t>(std::min(shards.token_bytes(), touches * mapped_at_once));
}

std::string attention_extras(const ModelConfig& config) {
  if (!system_of(config.attention).by_own_length)
    return fmt::format(" and {} random blocks", config.num_random_blocks);
  const std::string options = attention_options_text(config);
  return options.empty() ? "" : " (" + options + ")";
}

ModelCard describe_model(const PretrainOptions& options, const ModelConfig& config, const Schedule& schedule,
                         const TokenShards& train, const VocabularyTransfer* transfer,
                         const kernels::Backend& backend) {
  const bool words = options.objective.unit == MaskingUnit::words;
  std::string tasks = options.objective.mlm ? fmt::format("masked {} ({:g})", words ? "words" : "tokens",
                                                          options.objective.mask_probability)
                                            : "";
  if (options.objective.next) tasks = "next tokens";
  if (options.objective.nsp) tasks += tasks.empty() ? "next sentence" : " and next sentence";
  if (options.objective.cpc) tasks += " and masked sentences";
  const OptimizerVariant variant = options.optimizer.variant;
  const bool factored = variant == OptimizerVariant::adafactor;
  const std::string optimizer = factored                            ? "Adafactor"
                                : variant == OptimizerVariant::lamb ? "LAMB"
                                                                    : "AdamW (" + name_of(variant) + ")";
  ModelCard card;
  card.tags = {train.is_text() ? "text" : "dna"};
  card.title = options.objective.next ? "Model that predicts next tokens, pretrained by bigbird"
                                      : "BigBird encoder, pretrained by bigbird";
  card.about =
      fmt::format("{} layers, width {}, {} heads, {} attention with blocks of {}{}, vocabulary {}.\n",
                  config.num_hidden_layers, config.hidden_size, config.num_attention_heads,
                  name_of(config.attention), config.block_size, attention_extras(config), config.vocab_size);
  card.table = "training";
  card.rows = {
      {"tasks", tasks},
      {"data", fmt::format("{} documents, {} tokens", train.document_count(), train.token_count())},
      {"length, batch, steps", fmt::format("{}, {}, {}", options.length, options.batch, schedule.total)},
      {"optimizer",
       fmt::format("{}, rate {:g}, {} warm-up steps, {} schedule{}", optimizer, options.learning_rate,
                   schedule.warmup, name_of(options.schedule),
                   factored ? "" : fmt::format(", weight decay {:g}", options.optimizer.weight_decay))},
      {"computed on", fmt::format("{}, {}", backend.name(), name_of(backend.precision()))},
      {"seed", std::to_string(options.seed)}};
  if (!options.init.empty()) {
    card.rows.emplace_back("begun from", transfer == nullptr
                                             ? options.init
                                             : fmt::format("{} ({})", options.init, transfer->summary()));
  }
  card.command = options.command;
  card.use = "Use: `bigbird evaluate` on other shards, `bigbird forward -m FOLDER ...`; the weights carry ";
  card.use += config.attention == AttentionPattern::etc ? "names of their own (docs/specification.md 2.8)."
              : config.causal ? "the names of Hugging Face's BigBird, as far as it has such tensors."
                              : "the names of Hugging Face's BigBirdForPreTraining.";
  card.use +=
      config.causal ? " transformers has no class for it, and refuses the folder by its model_type.\n"
      : system_of(config.attention).by_own_length
          ? fmt::format(
                " transformers has no class for {} attention, and refuses the folder by its model_type.\n",
                name_of(config.attention))
          : " Random blocks are seeded by the layer, in training and in use; Hugging Face's "
            "evaluation mode uses none (random mode hf-eval reproduces it).\n";
  return card;
}

// Sentences are told from each other: those of long sentences, or of documents of one, have nothing to tell.
void warn_of_too_few_sentences(const PretrainingBatches& batches) {
  std::vector<std::uint64_t> first(
      static_cast<std::size_t>(std::min<std::uint64_t>(64, batches.sampler().size())));
  std::iota(first.begin(), first.end(), std::uint64_t{0});
  if (batches.piece_batch(first).sentence_pairs.contexts.size() > 1) return;
  log_warning(fmt::format(
      "the first {} samples have no two documents of {} sentences or more: cpc finds nothing to learn in "
      "them; take longer samples, or shorter sentences",
      first.size(), least_sentences_to_mask));
}

}  // namespace

PretrainingObjective objective_for(const TokenShards& shards, const ModelConfig& config,
                                   const PretrainingObjective& asked) {
  PretrainingObjective objective = asked;
  objective.unit = shards.is_text() ? MaskingUnit::words : MaskingUnit::tokens;
  if (asked.next) {
    objective.mlm = true;
    objective.nsp = objective.cpc = false;
    return objective;
  }
  if (config.attention == AttentionPattern::etc) {
    if (asked.nsp_of_text) {
      throw_usage("attention etc learns no next sentences",
                  "its samples are documents with a global token for each sentence: leave them out");
    }
    if (!asked.mlm) throw_usage(message("`no_mlm` leaves nothing to learn by attention etc"), "drop it");
    objective.nsp = false;
    objective.cpc = asked.cpc && config.attention_options.etc.cpc;
    return objective;
  }
  objective.cpc = false;
  if (shards.is_text()) objective.nsp = asked.nsp && asked.nsp_of_text;
  if (objective.mlm || objective.nsp) return objective;
  if (asked.nsp) {
    throw_usage(message("`no_mlm` leaves nothing to learn: text has no next sentences to predict"),
                "drop it, or ask for next sentences of text as well");
  }
  throw_usage(message("`no_mlm` and `no_nsp` together leave nothing to learn"), "drop one of them");
}

HeadType pretraining_head(const ModelConfig& config) {
  if (config.causal) return HeadType::causal_lm;
  return config.attention == AttentionPattern::etc ? HeadType::masked_lm : HeadType::pretraining;
}

ModelConfig fresh_architecture(ModelConfig config) {
  if (config.attention == AttentionPattern::bpt) {
    become_bpt(config);
    config.activation = Activation::relu;
    config.use_bias = config.output_bias = false;
    config.type_vocab_size = 0;
  }
  const bool left_to_right = config.causal;  // as the objective says
  become_published(config);
  config.causal = left_to_right;
  if (config.attention != AttentionPattern::etc) return config;
  become_etc(config);
  config.activation = Activation::gelu_tanh;
  config.layer_norm_eps = 1e-12;
  return config;
}

PretrainingBatches::PretrainingBatches(const TokenShards& shards, const Tokenizer& tokenizer,
                                       const ModelConfig& config, const PretrainingObjective& objective,
                                       std::int64_t length, std::uint64_t seed)
    : config_(config),
      objective_(objective_for(shards, config, objective)),
      seed_(seed),
      mask_id_(static_cast<std::int32_t>(tokenizer.special().mask)),
      sampler_(shards, tokenizer,
               {length, objective_.nsp, seed, objective_.next ? 0 : most_sentences(config), objective_.next}),
      masker_(tokenizer, objective.mask_probability, objective_.unit,
              ordinary_tokens(config, objective_, length), objective_.masks),
      next_(tokenizer, config) {
  shards.require_ids_below(tokenizer.vocab_size());
}

Batch PretrainingBatches::training_batch(std::uint64_t first, std::uint64_t count) const {
  Batch batch;
  SentencesAlone alone;
  for (std::uint64_t draw = first; draw < first + count; ++draw)
    append(sampler_.training_sample(draw), draw, batch, alone, nullptr);
  alone.append_to(batch, config_.block_size, static_cast<std::int32_t>(config_.pad_token_id));
  return batch;
}

Batch PretrainingBatches::piece_batch(std::span<const std::uint64_t> pieces,
                                      std::vector<std::int32_t>* left_neighbours) const {
  Batch batch;
  SentencesAlone alone;
  for (const std::uint64_t piece : pieces)
    append(sampler_.sample(piece, piece), piece, batch, alone, left_neighbours);
  alone.append_to(batch, config_.block_size, static_cast<std::int32_t>(config_.pad_token_id));
  return batch;
}

// The sample will stand behind the batch as it is. Before the masks of single tokens are drawn: what is
// hidden here is no ordinary token any more, and no target.
std::vector<std::size_t> PretrainingBatches::hide_sentences(PretrainSample& sample, std::uint64_t draw,
                                                            const Batch& batch, SentencesAlone& alone) const {
  CounterRng rng(seed_, Purpose::masked_sentences, draw);
  const std::int64_t most = most_rows_alone(sampler_.options().length, config_.block_size);
  std::vector<std::size_t> hidden = draw_masked_sentences(sample.sentences, most, rng);
  alone.open_sample();
  for (const std::size_t sentence : hidden) {
    const auto begin = sample.ids.begin() + sample.sentences[sentence].begin;
    const auto end = sample.ids.begin() + sample.sentences[sentence].end;
    alone.add({begin, end}, batch.globals.tokens() + static_cast<std::int64_t>(sentence));
    std::fill(begin, end, mask_id_);
  }
  return hidden;
}

void PretrainingBatches::append_next(PretrainSample sample, Batch& batch,
                                     std::vector<std::int32_t>* left_neighbours) const {
  const auto sep = static_cast<std::int32_t>(sampler_.special().sep);
  std::vector<std::int32_t> labels(sample.ids.begin() + 1, sample.ids.end());
  sample.ids.pop_back();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (sample.ids[i] == sep) labels[i] = ignored_label;  // of the next document
  }
  next_.append(sample.ids, labels, batch, left_neighbours);
}

void PretrainingBatches::append(PretrainSample sample, std::uint64_t draw, Batch& batch,
                                SentencesAlone& alone, std::vector<std::int32_t>* left_neighbours) const {
  if (objective_.next) return append_next(std::move(sample), batch, left_neighbours);
  const auto first_row = static_cast<std::int32_t>(batch.tokens());
  const std::vector<std::int32_t> original = left_neighbours ? sample.ids : std::vector<std::int32_t>();
  std::vector<std::size_t> hidden;
  if (objective_.cpc) hidden = hide_sentences(sample, draw, batch, alone);
  if (objective_.mlm) {
    CounterRng rng(seed_, Purpose::mlm_masking, draw);
    const MaskedTokens masked = masker_.mask(sample.ids, rng);
    for (const std::int32_t position : masked.positions) {
      batch.masked_rows.push_back(first_row + position);
      // Position 0 is [CLS], which is never masked.
      if (left_neighbours) left_neighbours->push_back(original[static_cast<std::size_t>(position - 1)]);
    }
    batch.masked_labels.insert(batch.masked_labels.end(), masked.labels.begin(), masked.labels.end());
  }
  const auto pad = static_cast<std::int32_t>(config_.pad_token_id);
  if (config_.attention == AttentionPattern::etc) {
    batch.append(two_inputs(sample, hidden), config_.block_size, pad);
    return;
  }
  batch.append(sample.ids, sample.types, config_.block_size, pad);
  if (objective_.nsp) batch.sequence_labels.push_back(sample.next_label);
}

BatchLimits PretrainingBatches::limits(std::int64_t sequences) const {
  return limits(config_, objective_, sampler_.options().length, sequences);
}

BatchLimits PretrainingBatches::limits(const ModelConfig& config, const PretrainingObjective& objective,
                                       std::int64_t length, std::int64_t sequences) {
  const std::int64_t block = config.block_size;
  const auto padded = [&](std::int64_t tokens) { return (tokens + block - 1) / block * block; };
  const std::int64_t ordinary = ordinary_tokens(config, objective, length);
  BatchLimits limits;
  limits.sequences = sequences;
  limits.tokens = sequences * padded(length);
  limits.longest = padded(length);
  if (objective.next) {
    limits.masked_tokens = sequences * length;
    return limits;
  }
  if (objective.mlm)
    limits.masked_tokens = sequences * most_masked(objective.unit, objective.mask_probability, ordinary);
  const std::int64_t sentences = std::min(most_sentences(config), ordinary);
  limits.globals = sequences * padded(sentences);
  if (objective.cpc) {
    const std::int64_t rows = most_rows_alone(length, block);
    limits.tokens += sequences * rows;
    const std::int64_t pairs = std::min(rows / least_masked_tokens, sentences / least_sentences_to_mask);
    limits.sentence_pairs = sequences * pairs;
    limits.sequences += sequences;
    limits.globals += sequences * padded(pairs);
  }
  return limits;
}

TrainingSummary pretrain(const PretrainOptions& asked, kernels::Backend& backend) {
  check_run(asked);
  PretrainOptions options = asked;
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(options.tokenizer);
  const std::optional<VocabularyTransfer> transfer = transfer_of(options, *tokenizer);
  const ModelConfig config = complete_config(options, *tokenizer, transfer.has_value());
  options.objective.cpc = true;  // where the model has it
  const TokenShards train_shards(options.train);
  train_shards.require_tokenizer(tokenizer->digest(), tokenizer->vocab_size());
  const PretrainingBatches train_batches(train_shards, *tokenizer, config, options.objective, options.length,
                                         options.seed);
  std::optional<TokenShards> valid_shards;
  std::optional<PretrainingBatches> valid_batches;
  if (!options.valid.empty()) {
    valid_shards.emplace(options.valid);
    valid_shards->require_tokenizer(tokenizer->digest(), tokenizer->vocab_size());
    if (valid_shards->is_text() != train_shards.is_text()) {
      throw_bad_input(fmt::format("{} are shards of text, {} are not",
                                  train_shards.is_text() ? options.train : options.valid,
                                  train_shards.is_text() ? options.valid : options.train),
                      "make both with bigbird text pretrain-data");
    }
    valid_batches.emplace(*valid_shards, *tokenizer, config, options.objective, options.length, options.seed);
  }
  options.objective = train_batches.objective();
  if (options.objective.cpc) warn_of_too_few_sentences(train_batches);
  log_info(fmt::format("{} documents, {} tokens", train_shards.document_count(), train_shards.token_count()));

  TaskDescription task;
  task.name = "pretrain";
  if (options.objective.next) {
    task.columns.tokens = "clm";
  } else if (config.attention != AttentionPattern::etc) {
    task.columns.sequence = "nsp";
  }
  task.columns.contrast = options.objective.cpc;
  task.columns.span = has_spans(config);
  task.columns.compression = learns_compression(config);
  task.columns.commitment = routed_heads(config) > 0;
  task.config = config;
  task.initial_parameters = [&] {
    if (options.init.empty()) {
      std::vector<float> fresh = initial_parameters(ParameterLayout(config), config, options.seed);
      scale_labels(config, options.relative_init, nullptr, fresh);
      return fresh;
    }
    LoadOptions load;
    load.head = config.head;
    load.seed = options.seed;
    if (config.position_type == PositionType::absolute &&
        config.max_position_embeddings != options.config.max_position_embeddings)
      load.positions = config.max_position_embeddings;
    LoadedModel model = load_model(options.init, load);
    leave_int8(model);
    scale_labels(config, options.relative_init, &model.fresh, model.parameters);
    if (!transfer) return std::move(model.parameters);
    log_info(fmt::format("{}: {}", options.init, transfer->summary()));
    return transferred_parameters(model, config, *transfer, options.seed);
  };
  task.samples = train_batches.sampler().size();
  task.validates = valid_batches.has_value();
  const bool streams = reads_streams(config);
  if (streams && options.batch == chosen_by_memory) {
    throw_usage(message("`batch` auto with attention {}, whose sequences are streams of documents",
                        name_of(config.attention)),
                message("give a `batch`: how many documents are read side by side"));
  }
  task.limits = [&](std::int64_t sequences, std::int64_t length) {
    BatchLimits limits = PretrainingBatches::limits(config, options.objective, length, sequences);
    if (streams) limits.streams = static_cast<std::int64_t>(options.batch) + sequences;
    return limits;
  };
  task.length = options.length;
  task.may_be_shorter = true;
  choose_batch(options, task, backend);
  std::optional<StreamSampler> train_streams, valid_streams;
  if (streams) {
    const StreamOptions shape{
        .length = options.length, .streams = static_cast<std::int64_t>(options.batch), .seed = options.seed};
    train_streams.emplace(train_shards, tokenizer->special(), shape);
    task.samples = train_streams->segments();
    StreamOptions once = shape;
    once.once = true;
    once.segments = options.eval_samples;
    if (valid_shards) valid_streams.emplace(*valid_shards, tokenizer->special(), once);
  }
  const Schedule schedule = schedule_of(options, task.samples);
  task.mapped_bytes = shard_bytes_touched(options, schedule.total, train_shards, task.samples);
  task.identity = identity(options, train_shards);
  task.extras = {options.tokenizer, model_card(describe_model(options, config, schedule, train_shards,
                                                              transfer ? &*transfer : nullptr, backend))};
  if (streams) {
    const StreamTask of_streams(options, train_batches.next_tokens(), *train_streams,
                                valid_streams ? &*valid_streams : nullptr);
    return run_training(of_streams, task, options, backend);
  }
  std::vector<std::uint64_t> pieces;  // of a validation
  if (valid_batches) pieces = evaluation_pieces(valid_batches->sampler(), options.eval_samples);
  const SampleTask batches(
      options,
      [&](std::uint64_t first, std::uint64_t count) { return train_batches.training_batch(first, count); },
      pieces.size(),
      [&](std::uint64_t first, std::uint64_t count) {
        return valid_batches->piece_batch(
            std::span(pieces).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
      });
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
