// Ranges and agreement of a config's fields; see validate_config.h.
#include "lib/model/network/validate_config.h"

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/network/attention_windowed.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/plan_table.h"

namespace bigbird {
namespace {

[[noreturn]] void reject(std::string message) {
  throw_bad_input(std::move(message), wrong_field_hint);
}

// A written-down plan must be there and fit the model.
void check_plan(const ModelConfig& config, const std::string& where) {
  if (config.plan == nullptr) {
    throw_bad_input(fmt::format("{}: random_mode is file, but there is no plan", where),
                    "give one as JSON (bigbird attention writes the format), or take another mode");
  }
  if (config.attention != AttentionPattern::bigbird) {
    throw_bad_input(
        fmt::format("{}: random_mode is file, but attention is {}", where, name_of(config.attention)),
        "a plan lists every key block itself: leave attention at bigbird");
  }
  const auto expect = [&](const char* what, std::int64_t of_plan, std::int64_t of_model) {
    if (of_plan == of_model) return;
    throw_bad_input(fmt::format("{}: the plan {} has {} = {}, the model has {}", where, config.plan->where(),
                                what, of_plan, of_model),
                    "a plan belongs to one shape of model: make one for this model");
  };
  expect("block_size", config.plan->block_size(), config.block_size);
  expect("heads", config.plan->heads(), config.num_attention_heads);
  if (config.plan->layers() > 1) expect("layers", config.plan->layers(), config.num_hidden_layers);
}

// The scores of a structured_answers head have names that differ, and so do its types.
void check_answer_scores(const ModelConfig& config, const std::string& where) {
  if (config.token_scores.empty() || config.token_scores.size() > most_token_scores) {
    reject(fmt::format("{}: token_scores are {}, not 1 to {}", where, config.token_scores.size(),
                       most_token_scores));
  }
  std::vector<std::string> scores;
  for (const TokenScore& score : config.token_scores) scores.push_back(score.name);
  const auto check_names = [&](const char* field, const std::vector<std::string>& names) {
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if (name.empty()) reject(fmt::format("{}: one of {} has no name", where, field));
      if (!seen.insert(name).second) reject(fmt::format("{}: two of {} are named {}", where, field, name));
    }
  };
  check_names("token_scores", scores);
  check_names("id2label", config.label_names);
  if (config.label_names.empty() && config.num_labels > 0) {
    reject(fmt::format("{}: no names for {} types of answers", where, config.num_labels));
  }
}

// What a decoder can stand on, and its own sizes.
void check_decoder(const ModelConfig& config, const std::string& where) {
  const DecoderConfig& decoder = config.decoder;
  const auto positive = [&](const char* field, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most)
      reject(fmt::format("{}: {} = {} of the decoder is outside 1..{}", where, field, value, most));
  };
  positive("num_hidden_layers", decoder.num_hidden_layers, 1'024);
  positive("num_attention_heads", decoder.num_attention_heads, 1'024);
  positive("intermediate_size", decoder.intermediate_size, 1'048'576);
  if (config.hidden_size % decoder.num_attention_heads != 0) {
    reject(fmt::format("{}: hidden_size {} is not a multiple of the decoder's num_attention_heads {}", where,
                       config.hidden_size, decoder.num_attention_heads));
  }
  for (const auto& [field, value] : {std::pair{"encoder_layer_drop", decoder.encoder_layer_drop},
                                     std::pair{"layer_drop", decoder.layer_drop}}) {
    if (!(value >= 0.0 && value < 1.0))
      reject(fmt::format("{}: {} = {} of the decoder is outside 0 <= p < 1", where, field, value));
  }
  if (decoder.start_token_id < 0 || decoder.start_token_id >= config.vocab_size) {
    reject(fmt::format("{}: start_token_id {} of the decoder is not a piece of {}", where,
                       decoder.start_token_id, config.vocab_size));
  }
  if (config.position_type == PositionType::rotary) {
    throw_bad_input(where + ": a decoder on an encoder with rotary positions",
                    "decoders have a table of positions: take an encoder that has one too");
  }
  if (decoder.positions != 0) positive("positions", decoder.positions, 16'777'216);
  if (!decoder.coupled) return;
  if (decoder.positions != 0) {
    reject(fmt::format("{}: positions {} of a coupled decoder, which has the encoder's", where,
                       decoder.positions));
  }
  if (config.norm_type != NormType::postnorm || config.embedding_norm != EmbeddingNorm::after_dropout ||
      config.type_vocab_size > 0) {
    throw_bad_input(where + ": a decoder coupled to an encoder of another kind than the published code's",
                    "that one is post-LN, with a LayerNorm of the embeddings after dropout and without token "
                    "types");
  }
  if (decoder.num_hidden_layers != config.num_hidden_layers ||
      decoder.num_attention_heads != config.num_attention_heads ||
      decoder.intermediate_size != config.intermediate_size) {
    reject(
        fmt::format("{}: a coupled decoder of {} layers, {} heads and inner width {}, not the encoder's "
                    "{}, {} and {}",
                    where, decoder.num_hidden_layers, decoder.num_attention_heads, decoder.intermediate_size,
                    config.num_hidden_layers, config.num_attention_heads, config.intermediate_size));
  }
}

// What HIBERT's second encoder and its heads stand on.
void check_document_encoder(const ModelConfig& config, const std::string& where) {
  const DocumentConfig& documents = config.documents;
  const auto in_range = [&](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
      reject(fmt::format("{}: {} = {} of documents is outside {}..{}", where, field, value, low, high));
  };
  in_range("num_hidden_layers", documents.num_hidden_layers, 1, 1'024);
  in_range("sentences", documents.sentences, 1, config.max_position_embeddings);
  in_range("sentence_length", documents.sentence_length, 2, config.max_position_embeddings);
  if (config.attention != AttentionPattern::full || config.norm_type != NormType::postnorm ||
      config.embedding_norm != EmbeddingNorm::none || config.position_type != PositionType::sinusoidal ||
      config.causal || config.has_stem()) {
    throw_bad_input(
        fmt::format("{}: the head {} on layers of another kind than HIBERT's", where, name_of(config.head)),
        "those are post-LN with full attention, sinusoidal positions and no LayerNorm of the "
        "embeddings");
  }
  if (config.head == HeadType::sentence_labels && config.num_labels != 2)
    reject(fmt::format("{}: {} labels of sentences, which have two", where, config.num_labels));
  if (config.writes_sentences() && config.decoder.num_attention_heads != config.num_attention_heads) {
    reject(fmt::format("{}: {} heads of the decoder, {} of the encoders", where,
                       config.decoder.num_attention_heads, config.num_attention_heads));
  }
}

// What a stem can stand before: layers that look at whole blocks, and heads of sequences and masked tokens.
void check_stem(const ModelConfig& config, const std::string& where) {
  const StemConfig& stem = config.stem;
  if (stem.stride == 0) return;
  const auto in_range = [&](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
      reject(fmt::format("{}: {} = {} of the stem is outside {}..{}", where, field, value, low, high));
  };
  in_range("stride", stem.stride, 1, 4'096);
  in_range("kernel", stem.kernel, 1, 255);
  in_range("channels", stem.channels, 1, 65'536);
  if (stem.kernel % 2 == 0)
    reject(fmt::format("{}: kernel = {} of the stem is even: a filter has its token in the middle", where,
                       stem.kernel));
  if (config.vocab_size > most_stem_letters) {
    throw_bad_input(fmt::format("{}: a stem for a vocabulary of {} pieces, and it takes {} at most", where,
                                config.vocab_size, most_stem_letters),
                    message("make a vocabulary of single bases with bigbird train-bpe and `vocab_size` 10"));
  }
  if (config.block_size % stem.stride != 0 || config.max_position_embeddings % stem.stride != 0) {
    reject(
        fmt::format("{}: block_size {} or max_position_embeddings {} is not a multiple of the stem's "
                    "stride {}",
                    where, config.block_size, config.max_position_embeddings, stem.stride));
  }
  if (config.position_type != PositionType::rotary)
    throw_bad_input(where + ": a stem before layers with a table of positions",
                    message("take `positions` rotary"));
  if (config.type_vocab_size > 0)
    reject(fmt::format("{}: type_vocab_size {} with a stem, which has none", where, config.type_vocab_size));
  if (config.attention == AttentionPattern::etc || config.attention == AttentionPattern::longformer ||
      config.attention == AttentionPattern::bpt || has_windows(config)) {
    throw_bad_input(fmt::format("{}: a stem before attention {}, which treats tokens differently", where,
                                name_of(config.attention)),
                    message("take another `attention`"));
  }
  if (!config.has_mlm() && config.head != HeadType::encoder && config.head != HeadType::classification)
    throw_bad_input(fmt::format("{}: a stem with the head {}", where, name_of(config.head)),
                    "a model with a stem has classes of sequences and masked tokens");
}

// What stands on feed-forward parts of the encoder's own code alone, and what scales words.
void check_gates_and_scales(const ModelConfig& config, const std::string& where) {
  const bool other_parts = config.gated_feed_forward || !config.feed_forward_bias;
  if (other_parts && (config.has_any_decoder() || config.has_documents() || config.causal ||
                      config.attention == AttentionPattern::etc)) {
    throw_bad_input(where +
                        ": gated feed-forward layers, or some without biases, in a model that writes or has "
                        "two inputs",
                    "encoders with one input may have them");
  }
  if (config.mask_token_id < -1 || config.mask_token_id >= config.vocab_size)
    reject(fmt::format("{}: mask_token_id {} is not a piece of {}", where, config.mask_token_id,
                       config.vocab_size));
  if (!config.token_dropout) return;
  if (config.mask_token_id < 0) reject(where + ": token_dropout without mask_token_id");
  if (config.has_any_decoder() || config.causal || config.has_stem() ||
      config.attention == AttentionPattern::etc)
    throw_bad_input(where + ": token_dropout in a model that writes, or has a stem or two inputs",
                    "encoders with one input may have it");
}

}  // namespace

void validate(const ModelConfig& config, const std::string& where) {
  const auto in_range = [&](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) {
      reject(fmt::format("{}: {} = {} is outside {}..{}", where, field, value, low, high));
    }
  };
  const auto probability = [&](const char* field, double value) {
    if (!(value >= 0.0 && value < 1.0)) {
      reject(fmt::format("{}: {} = {} is outside 0 <= p < 1", where, field, value));
    }
  };
  in_range("vocab_size", config.vocab_size, 8, 16'777'216);
  in_range("hidden_size", config.hidden_size, 1, 65'536);
  in_range("num_hidden_layers", config.num_hidden_layers, 1, 1'024);
  in_range("num_attention_heads", config.num_attention_heads, 1, 1'024);
  in_range("intermediate_size", config.intermediate_size, 1, 1'048'576);
  in_range("max_position_embeddings", config.max_position_embeddings, 1, 16'777'216);
  in_range("type_vocab_size", config.type_vocab_size, 0, 65'536);
  in_range("block_size", config.block_size, 1, 4'096);
  in_range("num_random_blocks", config.num_random_blocks, 0, 1'024);
  in_range("num_labels", config.num_labels, config.head == HeadType::structured_answers ? 0 : 1, 1'048'576);
  in_range("input_length", config.input_length, 0, config.max_position_embeddings);
  in_range("pad_token_id", config.pad_token_id, 0, config.vocab_size - 1);
  probability("hidden_dropout_prob", config.hidden_dropout_prob);
  probability("attention_probs_dropout_prob", config.attention_probs_dropout_prob);
  if (config.classifier_dropout >= 0.0) probability("classifier_dropout", config.classifier_dropout);
  if (!(config.layer_norm_eps > 0.0 && config.layer_norm_eps < 1.0)) {
    reject(fmt::format("{}: layer_norm_eps = {} is outside 0 < eps < 1", where, config.layer_norm_eps));
  }
  if (!(config.initializer_range > 0.0 && config.initializer_range < 10.0)) {
    reject(
        fmt::format("{}: initializer_range = {} is outside 0 < sigma < 10", where, config.initializer_range));
  }
  if (!(config.positive_weight > 0.0 && config.positive_weight <= 1e6)) {
    reject(
        fmt::format("{}: positive_weight = {} is outside 0 < weight <= 1e6", where, config.positive_weight));
  }
  if (config.position_type != PositionType::rotary && config.position_type != PositionType::none &&
      config.rotary_dim != 0) {
    reject(fmt::format("{}: rotary_dim = {}, but the positions are {}", where, config.rotary_dim,
                       name_of(config.position_type)));
  }
  if (config.position_type == PositionType::rotary) {
    if (config.rotary_dim < 2 || config.rotary_dim % 2 != 0 || config.rotary_dim > config.head_size()) {
      reject(fmt::format("{}: rotary_dim = {} is not an even number within 2..{}, the size of a head", where,
                         config.rotary_dim, config.head_size()));
    }
    if (!(config.rotary_base > 1.0 && config.rotary_base < 1e12)) {
      reject(fmt::format("{}: rotary_base = {} is outside 1 < base < 1e12", where, config.rotary_base));
    }
  }
  if (config.random_mode == RandomMode::file) check_plan(config, where);
  if (config.head == HeadType::structured_answers) check_answer_scores(config, where);
  if (config.has_documents()) check_document_encoder(config, where);
  if (config.has_any_decoder()) check_decoder(config, where);
  if (!config.label_names.empty() &&
      static_cast<std::int64_t>(config.label_names.size()) != config.num_labels) {
    reject(
        fmt::format("{}: {} label names for {} labels", where, config.label_names.size(), config.num_labels));
  }
  if (config.hidden_size % config.num_attention_heads != 0) {
    reject(fmt::format("{}: hidden_size {} is not a multiple of num_attention_heads {}", where,
                       config.hidden_size, config.num_attention_heads));
  }
  if (config.input_length % config.block_size != 0) {
    reject(fmt::format("{}: input_length {} is not a multiple of block_size {}", where, config.input_length,
                       config.block_size));
  }
  // bigbird_pegasus tables may have any number of rows: padded rows repeat the last.
  if (!config.has_decoder() && config.max_position_embeddings % config.block_size != 0) {
    reject(fmt::format("{}: max_position_embeddings {} is not a multiple of block_size {}", where,
                       config.max_position_embeddings, config.block_size));
  }
  if (config.predicts_next() && !config.causal)
    reject(where + ": a head that predicts the next token on layers that see it (causal is false)");
  check_stem(config, where);
  check_gates_and_scales(config, where);
  if (config.pools() &&
      (config.attention == AttentionPattern::etc || config.head_form != HeadForm::bigbird)) {
    throw_bad_input(
        fmt::format("{}: pooling {} of a head that reads one row", where, name_of(config.pooling)),
        message("take `pool` cls"));
  }
  if (config.head == HeadType::token_classification && config.attention == AttentionPattern::etc) {
    throw_bad_input(where + ": classes of tokens on attention etc, whose two inputs no class is for",
                    message("take another `attention`"));
  }
  check_attention(trunk_config(config), where);
}

}  // namespace bigbird
