// Every tensor of a model, declared once: Hugging Face name, shape, place in the one parameter arena, decay
// group, init. Parameters, gradients, the optimizer's state and the order in checkpoints all follow from this
// table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

// ones_normal: as normal, around 1. relative_normal: tables of labels, which etcmodel draws wider than all
// else. filter_normal: a table for each token that a filter sees, wide enough for sums over all of them to
// have a variance of 1. unit_normal: a standard deviation of 1, not cut. features: the first
// draw of random_features.h.
enum class Init {
  zeros,
  ones,
  normal,
  ones_normal,
  relative_normal,
  filter_normal,
  unit_normal,
  features,
  width_normal,    // a standard deviation of hidden_size^-1/2, not cut
  xavier_uniform,  // even within +- sqrt(6 / (in + out)) (Glorot and Bengio 2010)
  span_logits,     // all first_span_logit
  centroids        // normal numbers, made rows of mean 0 and variance 1
};

// Standard deviation of a fresh table of labels (etcmodel).
inline constexpr double relative_init_range = 0.5;
// Of dynamic spans: at first a token sees a 56th of the longest span.
inline constexpr float first_span_logit = -4.0f;

struct TensorSpec {
  std::string name;                 // "bert.encoder.layer.0.attention.self.query.weight"
  std::vector<std::int64_t> shape;  // Linear weights are [out, in]
  Init init = Init::zeros;
  bool decay = false;       // weight decay applies (not to biases, LayerNorm and a pooler without use)
  std::int64_t offset = 0;  // in floats, from the start of the arena
  std::int64_t count = 0;   // product of shape
  std::int64_t depth = 0;   // 0 embeddings, l + 1 the encoder's layer l, num_hidden_layers + 1 what follows
  // Of a moving average: an update moves it towards what its gradient's place holds, which is none, and keeps
  // this share of it. No optimizer touches it.
  std::optional<double> moving_decay = {};
};

// The projections of random features have neither gradient nor decay. They are drawn, and drawn again
// (random_features.h); optimizers leave them as they are.
// A head that does not use the pooler holds it all the same where transformers does, so that the folder loads
// there without a warning. It has neither gradient nor decay: optimizers leave it as it is, and
// final_logits_bias, which transformers holds beside the parameters of a model that writes.
//
// Tensors lie back to back in declaration order. In every layer the query, key and value weights are
// neighbours (and so are their biases), so that they form one [3C, C] matrix; so are those of a Longformer's
// global tokens, what BigBird-ETC computes in one product (etc_products), and the two biases of
// Transformer-XL, of content and of distance.
class ParameterLayout {
 public:
  explicit ParameterLayout(const ModelConfig& config);

  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  std::int64_t count() const { return count_; }  // floats in the arena
  // Offset in floats of a tensor that must exist; throws Error{runtime} naming it otherwise.
  std::int64_t offset(const std::string& name) const;
  const TensorSpec* find(const std::string& name) const;  // nullptr when absent

 private:
  void declare(const std::string& name, std::vector<std::int64_t> shape, Init init, bool decay);
  void declare_recurrent_biases(const ModelConfig& config, const std::string& prefix);
  void declare_etc_layer(const ModelConfig& config, const std::string& layer);
  std::vector<TensorSpec> tensors_;
  std::int64_t count_ = 0;
  std::int64_t depth_ = 0;  // of what is declared next
};

// What a layer's learned compression is called (compressive.h), in the order of its products: weights
// [C, rate, C], (out, row, in). None where nothing is learned.
std::vector<std::string> compression_tensors(const ModelConfig& config);

// The linear layers of attention in a layer of BigBird-ETC that are one product each: neighbours in the
// arena, all weights, then all biases. "l2g_key" are keys made of global tokens for long queries (etcmodel's
// names). What both inputs share stands under the long one's name.
struct EtcProducts {
  using Names = std::vector<const char*>;
  Names long_query, global_query, long_key_value, global_key_value, long_output, global_output;
  // All of them, each once.
  std::vector<Names> distinct() const;
};
EtcProducts etc_products(const EtcOptions& options);

// Whether a name of a layout is of what a decoder has for itself: not the word table, and of a coupled model
// cross-attention alone.
bool is_decoder_tensor(const std::string& name);

// The table of positions of the encoder, or a decoder's own.
bool is_position_table(const std::string& name);

// Host values for a fresh model: normal(0, initializer_range) cut at two sigma, biases 0, LayerNorm 1/0, the
// pad row of the word table 0. Of Transformer-XL the weights of LayerNorms are drawn around 1. Element i of
// tensor j is a function of (seed, tensor name, i).
std::vector<float> initial_parameters(const ParameterLayout& layout, const ModelConfig& config,
                                      std::uint64_t seed);

}  // namespace bigbird
