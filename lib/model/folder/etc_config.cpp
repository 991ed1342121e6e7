// etc_config.json, see etc_checkpoint.h.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "lib/core/error.h"
#include "lib/model/folder/etc_checkpoint.h"
#include "lib/model/folder/json_fields.h"

namespace bigbird {
namespace {

struct EtcCount {
  const char* key;
  std::int64_t EtcShapes::*field;
  std::int64_t least, most;
};
constexpr std::int64_t most_width = 1 << 20;
constexpr std::array<EtcCount, 11> etc_counts{
    {{"vocab_size", &EtcShapes::vocab_size, 1, 1 << 24},
     {"segment_vocab_size", &EtcShapes::segment_vocab_size, 1, 1 << 20},
     {"hidden_size", &EtcShapes::hidden_size, 1, most_width},
     {"num_hidden_layers", &EtcShapes::num_hidden_layers, 1, 1000},
     {"num_attention_heads", &EtcShapes::num_attention_heads, 1, 4096},
     {"att_size_per_head", &EtcShapes::att_size_per_head, 1, 1024},
     {"intermediate_size", &EtcShapes::intermediate_size, 1, most_width},
     {"local_radius", &EtcShapes::local_radius, 1, 1 << 24},
     {"relative_pos_max_distance", &EtcShapes::relative_pos_max_distance, 0, 1 << 20},
     {"relative_vocab_size", &EtcShapes::relative_vocab_size, 0, 1 << 22},
     {"max_absolute_position_embeddings", &EtcShapes::max_absolute_position_embeddings, 0, 1 << 24}}};

struct EtcFlag {
  const char* key;
  bool EtcShapes::*field;
};
constexpr std::array<EtcFlag, 6> etc_flags{
    {{"share_feed_forward_params", &EtcShapes::share_feed_forward_params},
     {"share_qkv_projections", &EtcShapes::share_qkv_projections},
     {"share_kv_projections", &EtcShapes::share_kv_projections},
     {"share_att_output_projection", &EtcShapes::share_att_output_projection},
     {"use_hard_g2l_mask", &EtcShapes::use_hard_g2l_mask},
     {"use_hard_l2g_mask", &EtcShapes::use_hard_l2g_mask}}};

struct EtcShare {
  const char* key;
  double EtcShapes::*field;
};
constexpr std::array<EtcShare, 3> etc_shares{
    {{"hidden_dropout_prob", &EtcShapes::hidden_dropout_prob},
     {"attention_probs_dropout_prob", &EtcShapes::attention_probs_dropout_prob},
     {"initializer_range", &EtcShapes::initializer_range}}};

// Keys that are read, but have no field.
constexpr std::array<std::string_view, 4> etc_others{"embedding_size", "use_pre_activation_order",
                                                     "hidden_act", "grad_checkpointing_period"};

template <typename Table>
bool lists(const Table& table, const std::string& key) {
  for (const auto& row : table) {
    if (key == row.key) return true;
  }
  return false;
}

bool is_etc_key(const std::string& key) {
  for (const std::string_view other : etc_others) {
    if (key == other) return true;
  }
  return lists(etc_counts, key) || lists(etc_flags, key) || lists(etc_shares, key);
}

bool is_given(const nlohmann::json& json, const char* key) {
  return json.contains(key) && !json.at(key).is_null();
}

// What is known of ETC and not built here, or not known at all.
void require_etc_as_read(const nlohmann::json& json, const JsonFields& fields, const EtcShapes& shapes,
                         const std::string& file) {
  std::int64_t embedding_size = shapes.hidden_size, period = 0;
  fields.number("embedding_size", embedding_size);
  if (embedding_size != shapes.hidden_size) {
    throw_bad_input(fmt::format("{}: field embedding_size is {}, and hidden_size {}", file, embedding_size,
                                shapes.hidden_size),
                    "models of etcmodel whose embeddings are as wide as their layers are read");
  }
  fields.number("grad_checkpointing_period", period);
  if (period < 0)
    reject_json(fmt::format("{}: field grad_checkpointing_period is {}: too small", file, period));
  bool pre_order = false;
  fields.boolean("use_pre_activation_order", pre_order);
  if (pre_order) {
    throw_bad_input(file + ": field use_pre_activation_order is true",
                    "models that normalise after each part are read: those with false");
  }
  if (const std::string activation = fields.text("hidden_act", "gelu"); activation != "gelu") {
    throw_bad_input(fmt::format("{}: field hidden_act is {}", file, json_text(json.at("hidden_act"))),
                    "models with gelu (in its tanh form, as etcmodel computes it) are read");
  }
}

}  // namespace

EtcShapes parse_etc_config(const std::string& text, const std::string& file) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    throw_bad_input(file + ": not a JSON object", "take etc_config.json as etcmodel wrote it");
  for (const auto& [key, value] : json.items()) {
    if (is_etc_key(key)) continue;
    throw_bad_input(fmt::format("{}: field {} is not known", file, json_text(nlohmann::json(key))),
                    "it may change what the model computes; remove it where it does not");
  }
  const JsonFields fields(json, file);
  if (!is_given(json, "vocab_size"))
    throw_bad_input(file + ": field vocab_size is missing", "is this the etc_config.json of a model?");
  EtcShapes shapes;
  const auto read = [&](const EtcCount& count) {
    fields.number(count.key, shapes.*count.field);
    const std::int64_t value = shapes.*count.field;
    if (value < count.least || value > count.most) {
      reject_json(fmt::format("{}: field {} is {}: too {}", file, count.key, json_text(json.at(count.key)),
                              value < count.least ? "small" : "large"));
    }
  };
  for (const EtcCount& count : etc_counts) read(count);
  if (!is_given(json, "att_size_per_head")) {
    if (shapes.hidden_size % shapes.num_attention_heads != 0) {
      reject_json(fmt::format("{}: field hidden_size is {}, no multiple of num_attention_heads, {}", file,
                              shapes.hidden_size, shapes.num_attention_heads));
    }
    shapes.att_size_per_head = shapes.hidden_size / shapes.num_attention_heads;
  }
  for (const EtcFlag& flag : etc_flags) fields.boolean(flag.key, shapes.*flag.field);
  for (const EtcShare& share : etc_shares) {
    fields.number(share.key, shapes.*share.field);
    if (!(shapes.*share.field >= 0) || shapes.*share.field >= 1) {
      reject_json(fmt::format("{}: field {} is {}: not at least 0 and below 1", file, share.key,
                              json_text(json.at(share.key))));
    }
  }
  require_etc_as_read(json, fields, shapes, file);
  if (shapes.relative_pos_max_distance == 0) {
    if (is_given(json, "relative_vocab_size") && shapes.relative_vocab_size > 0) {
      reject_json(
          fmt::format("{}: field relative_vocab_size is {} without labels: "
                      "relative_pos_max_distance is 0",
                      file, shapes.relative_vocab_size));
    }
    shapes.relative_vocab_size = 0;
  } else if (shapes.relative_vocab_size < shapes.labels(false)) {
    reject_json(fmt::format(
        "{}: field relative_vocab_size is {}: too small for relative_pos_max_distance {}, "
        "which takes {}",
        file, shapes.relative_vocab_size, shapes.relative_pos_max_distance, shapes.labels(false)));
  }
  return shapes;
}

void require_multi_hop_labels(const EtcShapes& shapes, const std::string& file) {
  if (shapes.relative_vocab_size >= shapes.labels(true)) return;
  throw_bad_input(
      fmt::format(
          "{}: field relative_vocab_size is {}: too small for documents of several parts, which take {}",
          file, shapes.relative_vocab_size, shapes.labels(true)),
      "take a model with a row more in its relative tables, or a task without such documents");
}

}  // namespace bigbird
