// etc_config.json, see etc_checkpoint.h.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/folder/config_json.h"
#include "lib/model/folder/etc_checkpoint.h"

namespace bigbird {
namespace {

struct EtcCount {
  const char* key;
  std::int64_t EtcShapes::*field;
  std::int64_t least, most;
};
constexpr std::int64_t most_etc_width = 1 << 20;
constexpr std::array<EtcCount, 11> etc_counts{
    {{"vocab_size", &EtcShapes::vocab_size, 1, 1 << 24},
     {"segment_vocab_size", &EtcShapes::segment_vocab_size, 1, 1 << 20},
     {"hidden_size", &EtcShapes::hidden_size, 1, most_etc_width},
     {"num_hidden_layers", &EtcShapes::num_hidden_layers, 1, 1000},
     {"num_attention_heads", &EtcShapes::num_attention_heads, 1, 4096},
     {"att_size_per_head", &EtcShapes::att_size_per_head, 1, 1024},
     {"intermediate_size", &EtcShapes::intermediate_size, 1, most_etc_width},
     {"local_radius", &EtcShapes::local_radius, 1, 1 << 24},
     {"relative_pos_max_distance", &EtcShapes::relative_pos_max_distance, 0, 1 << 20},
     {"relative_vocab_size", &EtcShapes::relative_vocab_size, 0, 1 << 22},
     {"max_absolute_position_embeddings", &EtcShapes::max_absolute_position_embeddings, 0, 1 << 24}}};

struct EtcShare {
  const char* key;
  double EtcShapes::*field;
};
constexpr std::array<EtcShare, 3> etc_shares{
    {{"hidden_dropout_prob", &EtcShapes::hidden_dropout_prob},
     {"attention_probs_dropout_prob", &EtcShapes::attention_probs_dropout_prob},
     {"initializer_range", &EtcShapes::initializer_range}}};

// What has no field of its own: one value is read, the others are known of ETC and not built here.
struct EtcOthers {
  std::int64_t embedding_size = 0;  // 0: not given
  std::int64_t grad_checkpointing_period = 0;
  bool use_pre_activation_order = false;
  std::string hidden_act = "gelu";
};

[[noreturn]] void refuse_etc(const std::string& message) {
  throw_bad_input(message, "correct the value, or take etc_config.json as etcmodel wrote it");
}

void require_etc_as_read(const EtcOthers& others, const EtcShapes& shapes, const std::string& file) {
  if (others.embedding_size != shapes.hidden_size) {
    throw_bad_input(fmt::format("{}: field embedding_size is {}, and hidden_size {}", file,
                                others.embedding_size, shapes.hidden_size),
                    "models of etcmodel whose embeddings are as wide as their layers are read");
  }
  if (others.grad_checkpointing_period < 0) {
    refuse_etc(fmt::format("{}: field grad_checkpointing_period is {}: too small", file,
                           others.grad_checkpointing_period));
  }
  if (others.use_pre_activation_order) {
    throw_bad_input(file + ": field use_pre_activation_order is true",
                    "models that normalise after each part are read: those with false");
  }
  if (others.hidden_act != "gelu") {
    throw_bad_input(fmt::format("{}: field hidden_act is {}", file, one_line_name(others.hidden_act)),
                    "models with gelu (in its tanh form, as etcmodel computes it) are read");
  }
}

void require_etc_ranges(const EtcShapes& shapes, const std::string& file) {
  for (const EtcCount& count : etc_counts) {
    const std::int64_t value = shapes.*count.field;
    if (value >= count.least && value <= count.most) continue;
    refuse_etc(fmt::format("{}: field {} is {}: too {}", file, count.key, value,
                           value < count.least ? "small" : "large"));
  }
  for (const EtcShare& share : etc_shares) {
    const double value = shapes.*share.field;
    if (!(value >= 0) || value >= 1)
      refuse_etc(fmt::format("{}: field {} is {}: not at least 0 and below 1", file, share.key, value));
  }
}

}  // namespace

EtcShapes parse_etc_config(const std::string& text, const std::string& file) {
  EtcShapes shapes;
  EtcOthers others;
  std::vector<JsonField> fields{{"share_feed_forward_params", &shapes.share_feed_forward_params},
                                {"share_qkv_projections", &shapes.share_qkv_projections},
                                {"share_kv_projections", &shapes.share_kv_projections},
                                {"share_att_output_projection", &shapes.share_att_output_projection},
                                {"use_hard_g2l_mask", &shapes.use_hard_g2l_mask},
                                {"use_hard_l2g_mask", &shapes.use_hard_l2g_mask},
                                {"embedding_size", &others.embedding_size},
                                {"grad_checkpointing_period", &others.grad_checkpointing_period},
                                {"use_pre_activation_order", &others.use_pre_activation_order},
                                {"hidden_act", &others.hidden_act}};
  for (const EtcCount& count : etc_counts) fields.push_back({count.key, &(shapes.*count.field)});
  for (const EtcShare& share : etc_shares) fields.push_back({share.key, &(shapes.*share.field)});
  const std::set<std::string> given = read_json_fields(text, file, fields, "vocab_size");
  require_etc_ranges(shapes, file);
  if (!given.contains("att_size_per_head")) {
    if (shapes.hidden_size % shapes.num_attention_heads != 0) {
      refuse_etc(fmt::format("{}: field hidden_size is {}, no multiple of num_attention_heads, {}", file,
                             shapes.hidden_size, shapes.num_attention_heads));
    }
    shapes.att_size_per_head = shapes.hidden_size / shapes.num_attention_heads;
  }
  if (!given.contains("embedding_size")) others.embedding_size = shapes.hidden_size;
  require_etc_as_read(others, shapes, file);
  if (shapes.relative_pos_max_distance == 0) {
    if (given.contains("relative_vocab_size") && shapes.relative_vocab_size > 0) {
      refuse_etc(
          fmt::format("{}: field relative_vocab_size is {} without labels: relative_pos_max_distance "
                      "is 0",
                      file, shapes.relative_vocab_size));
    }
    shapes.relative_vocab_size = 0;
  } else if (shapes.relative_vocab_size < shapes.labels(false)) {
    refuse_etc(fmt::format(
        "{}: field relative_vocab_size is {}: too small for relative_pos_max_distance {}, "
        "which takes {}",
        file, shapes.relative_vocab_size, shapes.relative_pos_max_distance, shapes.labels(false)));
  }
  return shapes;
}

void require_multi_hop_labels(const EtcShapes& shapes, const std::string& file) {
  if (shapes.relative_vocab_size >= shapes.labels(true)) return;
  throw_bad_input(
      fmt::format("{}: field relative_vocab_size is {}: too small for documents of several parts, which take "
                  "{}",
                  file, shapes.relative_vocab_size, shapes.labels(true)),
      "take a model with a row more in its relative tables, or a task without such documents");
}

}  // namespace bigbird
