// What a model of ETC is made of (Ainslie et al. 2020; google-research/etcmodel), and the tensors that follow
// from it: the fields of etc_config.json, and names and shapes in our layout, without heads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bigbird {

// Two streams, long and global. Defaults are etcmodel's, which a released etc_config.json overrides.
struct EtcShapes {
  std::int64_t vocab_size = 0;
  std::int64_t segment_vocab_size = 16;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t att_size_per_head = 64;
  std::int64_t intermediate_size = 3072;
  std::int64_t local_radius = 84;                     // a token sees 2 * local_radius + 1 tokens
  std::int64_t relative_pos_max_distance = 12;        // 0: no labels, and neither of the two tables
  std::int64_t relative_vocab_size = 32;              // rows of each relative table
  std::int64_t max_absolute_position_embeddings = 0;  // 0: none, else rows of two tables
  bool share_feed_forward_params = true;
  bool share_qkv_projections = true;  // one query, key and value for both streams; else
  bool share_kv_projections = false;  // keys and values by the side of their query
  bool share_att_output_projection = false;
  bool use_hard_g2l_mask = false;
  bool use_hard_l2g_mask = false;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double initializer_range = 0.02;

  // Labels of pairs that are told apart: 2 * distance + 3, one more where documents have several parts
  // (HotpotQA, WikiHop). The tables need as many rows; 0 without labels.
  std::int64_t labels(bool multi_hop) const;
};

struct EtcTensor {
  std::string name;                 // "etc.encoder.layer.0.attention.long_query.weight"
  std::vector<std::int64_t> shape;  // matrices [out, in], relative tables [rows, heads, head size] and
                                    // [rows, heads]
  std::int64_t count() const;
};

// In the order: embeddings, then layer by layer. What is shared stands there once, under the name of the long
// side (long_query, l2l_key, l2l_value, long_output); of share_kv_projections l2l and g2g.
std::vector<EtcTensor> etc_tensors(const EtcShapes& shapes);
std::int64_t etc_parameters(const EtcShapes& shapes);

}  // namespace bigbird
