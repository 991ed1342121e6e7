// What a model folder says of its int8 layers: which they are, and what that costs. ModelConfig only points
// to it; `bigbird quantize` measures it, config.json holds it (lib/model_folder/int8_folder.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bigbird {

// A linear layer of the encoder, as lib/model/network/linear_layers.h names it, and what its weights and
// inputs in int8 alone did to the logits: root mean square of the difference, over the logits' standard
// deviation.
struct LayerError {
  std::string layer;
  double error = 0.0;
  bool operator==(const LayerError&) const = default;
};

// How far a model with int8 layers is from the model that it was made of, on data that chose nothing.
struct QuantizationLoss {
  std::string measure;     // "auroc" (what is lost of it) or "kl" (nats for each masked token)
  double full = 0.0;       // AUROC of the model before, or its loss in nats for each masked token
  double quantized = 0.0;  // and of the model with int8 layers
  double loss = 0.0;       // full - quantized, or the divergence
  double most = 0.0;       // that was allowed
  // Of a classifier of DNA: Spearman's correlation, mean over the outputs, of what a substitution in the
  // middle of a window changes with int8 layers and without.
  std::optional<double> effects = {};
  std::string data;  // as given
  std::string data_sha256;
  std::int64_t most_examples = 0;  // a random choice by the seed; 0: all
  std::int64_t examples = 0;       // windows, or masked tokens
  std::uint64_t seed = 0;
  bool operator==(const QuantizationLoss&) const = default;
};

// A model whose folder holds int8 weights: which layers, and what that costs.
struct Quantization {
  std::vector<LayerError> int8;
  std::vector<LayerError> kept;  // those that would have lost most
  QuantizationLoss measured;
  std::string from_sha256;  // of the weights before
  bool operator==(const Quantization&) const = default;
};

}  // namespace bigbird
