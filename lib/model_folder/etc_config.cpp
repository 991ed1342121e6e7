// etc_config.json, see etc_checkpoint.h.
#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/etc_checkpoint.h"

namespace bigbird {
namespace {

struct EtcCount {
  const char* key;
  std::int64_t* field;
  std::int64_t least, most;
};
constexpr std::int64_t most_etc_width = 1 << 20;

// What has no field of its own: one value is read, the others are known of ETC and not built here.
struct EtcOthers {
  std::int64_t att_size_per_head = 64;
  std::int64_t max_absolute_position_embeddings = 0;  // 0: none
  bool share_qkv_projections = true;
  bool share_kv_projections = false;
  std::int64_t embedding_size = 0;  // 0: not given
  std::int64_t grad_checkpointing_period = 0;
  bool use_pre_activation_order = false;
  std::string hidden_act = "gelu";
};

[[noreturn]] void refuse_etc(const std::string& message) {
  throw_bad_input(message, "correct the value, or take etc_config.json as etcmodel wrote it");
}

void require_etc_as_read(const EtcOthers& others, const ModelConfig& config, const std::string& file) {
  if (others.embedding_size != config.hidden_size) {
    throw_bad_input(fmt::format("{}: field embedding_size is {}, and hidden_size {}", file,
                                others.embedding_size, config.hidden_size),
                    "models of etcmodel whose embeddings are as wide as their layers are read");
  }
  if (config.hidden_size % config.num_attention_heads != 0) {
    refuse_etc(fmt::format("{}: field hidden_size is {}, no multiple of num_attention_heads, {}", file,
                           config.hidden_size, config.num_attention_heads));
  }
  if (others.att_size_per_head != config.head_size()) {
    throw_bad_input(fmt::format("{}: field att_size_per_head is {}, and hidden_size / num_attention_heads {}",
                                file, others.att_size_per_head, config.head_size()),
                    "models of etcmodel whose heads together are as wide as their layers are read");
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

// Tables of labels: as many rows as are told apart, none without labels.
void require_etc_labels(EtcOptions& etc, bool given, const std::string& file) {
  if (etc.distance == 0) {
    if (given && etc.labels > 0) {
      refuse_etc(
          fmt::format("{}: field relative_vocab_size is {} without labels: relative_pos_max_distance "
                      "is 0",
                      file, etc.labels));
    }
    etc.labels = 0;
  } else if (etc.labels < 2 * etc.distance + 3) {
    refuse_etc(
        fmt::format("{}: field relative_vocab_size is {}: too small for relative_pos_max_distance {}, "
                    "which takes {}",
                    file, etc.labels, etc.distance, 2 * etc.distance + 3));
  }
}

}  // namespace

ModelConfig parse_etc_config(const std::string& text, const std::string& file) {
  ModelConfig config;
  config.attention = AttentionPattern::etc;
  config.head = HeadType::encoder;
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.position_type = PositionType::none;
  config.num_random_blocks = 0;
  config.vocab_size = 0;
  config.type_vocab_size = 16;
  EtcOptions& etc = config.attention_options.etc;
  etc.labels = 32;
  EtcOthers others;
  const std::vector<EtcCount> counts{
      {"vocab_size", &config.vocab_size, 1, 1 << 24},
      {"segment_vocab_size", &config.type_vocab_size, 1, 1 << 20},
      {"hidden_size", &config.hidden_size, 1, most_etc_width},
      {"num_hidden_layers", &config.num_hidden_layers, 1, 1000},
      {"num_attention_heads", &config.num_attention_heads, 1, 4096},
      {"att_size_per_head", &others.att_size_per_head, 1, 1024},
      {"intermediate_size", &config.intermediate_size, 1, most_etc_width},
      {"local_radius", &etc.radius, 1, 1 << 24},
      {"relative_pos_max_distance", &etc.distance, 0, 1 << 20},
      {"relative_vocab_size", &etc.labels, 0, 1 << 22},
      {"max_absolute_position_embeddings", &others.max_absolute_position_embeddings, 0, 1 << 24}};
  const std::vector<std::pair<const char*, double*>> shares{
      {"hidden_dropout_prob", &config.hidden_dropout_prob},
      {"attention_probs_dropout_prob", &config.attention_probs_dropout_prob},
      {"initializer_range", &config.initializer_range}};
  std::vector<JsonField> fields{{"share_feed_forward_params", &etc.shared_feed_forward},
                                {"share_qkv_projections", &others.share_qkv_projections},
                                {"share_kv_projections", &others.share_kv_projections},
                                {"share_att_output_projection", &etc.shared_output},
                                {"use_hard_g2l_mask", &etc.hard_g2l},
                                {"use_hard_l2g_mask", &etc.hard_l2g},
                                {"embedding_size", &others.embedding_size},
                                {"grad_checkpointing_period", &others.grad_checkpointing_period},
                                {"use_pre_activation_order", &others.use_pre_activation_order},
                                {"hidden_act", &others.hidden_act}};
  for (const EtcCount& count : counts) fields.push_back({count.key, count.field});
  for (const auto& [key, field] : shares) fields.push_back({key, field});
  const std::set<std::string> given = read_json_fields(text, file, fields, "vocab_size");
  for (const EtcCount& count : counts) {
    if (*count.field >= count.least && *count.field <= count.most) continue;
    refuse_etc(fmt::format("{}: field {} is {}: too {}", file, count.key, *count.field,
                           *count.field < count.least ? "small" : "large"));
  }
  for (const auto& [key, field] : shares) {
    if (!(*field >= 0) || *field >= 1)
      refuse_etc(fmt::format("{}: field {} is {}: not at least 0 and below 1", file, key, *field));
  }
  if (!given.contains("att_size_per_head"))
    others.att_size_per_head = config.hidden_size / config.num_attention_heads;
  if (!given.contains("embedding_size")) others.embedding_size = config.hidden_size;
  require_etc_as_read(others, config, file);
  require_etc_labels(etc, given.contains("relative_vocab_size"), file);
  etc.projections = others.share_qkv_projections  ? EtcProjections::shared
                    : others.share_kv_projections ? EtcProjections::by_query
                                                  : EtcProjections::separate;
  if (const std::int64_t positions = others.max_absolute_position_embeddings; positions > 0) {
    config.position_type = PositionType::absolute;
    config.max_position_embeddings = positions;
  }
  return config;
}

void require_multi_hop_labels(const ModelConfig& config, const std::string& file) {
  const EtcOptions& etc = config.attention_options.etc;
  const std::int64_t needed = etc.distance == 0 ? 0 : 2 * etc.distance + 4;
  if (etc_labels(etc) >= needed) return;
  throw_bad_input(
      fmt::format("{}: field relative_vocab_size is {}: too small for documents of several parts, which take "
                  "{}",
                  file, etc_labels(etc), needed),
      "take a model with a row more in its relative tables, or a task without such documents");
}

}  // namespace bigbird
