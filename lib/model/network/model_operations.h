// How much of a model's work is products: the operations that its mathematics needs, a multiplication and an
// addition counted as two. What is counted does not depend on how they are computed: no padding, nothing that
// is recomputed, and where a backend leaves out rows that no loss reads, they count all the same.
//
// Source: Chowdhery et al. 2022 (PaLM), appendix B, "model FLOPs"; attention over block lists instead of all
// pairs of tokens.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"

namespace bigbird {

// A training step takes so many times the products of its forward pass: gradients of inputs and of weights.
inline constexpr double training_passes = 3.0;

// Of one token, or of one row (which is a token without a stem), through the linear layers of the encoder,
// forward.
double linear_operations_of_a_token(const ModelConfig& config);
double linear_operations_of_a_row(const ModelConfig& config);

class ModelOperations {
 public:
  explicit ModelOperations(const ModelConfig& config) : config_(trunk_config(config)) {}

  // Forward, with the losses that the batch has labels for. Linear layers: of the real tokens. Attention: a
  // query block with every key block of its list, as often as it is listed, real tokens alone. Layers that
  // LayerDrop leaves out count by their fraction.
  double forward(const Batch& batch);

 private:
  double of_rows(const Batch& batch);
  double stem(const Batch& batch) const;
  // Pairs of a query and a key in all layers and heads of the encoder, for `length` real tokens of a sequence
  // whose attention is planned for so many blocks.
  double pairs(std::int64_t blocks, std::int64_t length);
  // The same of a Longformer with so many global tokens.
  double pairs_in_windows(std::int64_t globals, std::int64_t length);
  // The same of the tokens and spans of attention bpt.
  double pairs_of_nodes(std::int64_t length);
  double heads(const Batch& batch, double tokens) const;
  double decoder(const Batch& batch) const;
  double documents(const Batch& batch) const;
  // The encoder of BigBird-ETC.
  double two_inputs(const Batch& batch) const;

  ModelConfig config_;                                             // of the trunk
  std::map<std::int64_t, std::vector<std::int64_t>> listed_;       // of so many blocks: [blocks, blocks]
  std::map<std::pair<std::int64_t, std::int64_t>, double> pairs_;  // of blocks or globals, and the length
};

// What devices could do at most, by their data sheets: what the speed of a run is held against.

// Operations a second (a multiplication and an addition are two) of dense products in this precision, by the
// name of a device as its backend has it ("cuda:0 NVIDIA H200"). Nothing for a device that the table does not
// know, a slice of one (MIG), and fp32, whose products on a GPU are of two kinds.
std::optional<double> peak_operations(const std::string& device, kernels::Precision precision);

}  // namespace bigbird
