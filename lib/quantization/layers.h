// Which linear layers of a model go into int8: how much each of them alone changes what the model says, on a
// sample; and what all that were chosen cost, on data that chose nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/calibration/calibration_run.h"
#include "lib/model/network/batch.h"
#include "lib/model/quantization.h"
#include "lib/training/pretraining.h"

namespace bigbird {

class Model;

// Most that may be lost where nothing else was said: of the mean AUROC, and of the divergence in nats for
// each masked token (about one part in a hundred of the perplexity).
inline constexpr double most_auroc_loss = 0.002;
inline constexpr double most_divergence = 0.01;

// For each linear layer, in the order of the model: the root mean square of what its int8 form alone changes
// in the logits (of a classifier, or of masked tokens), over the logits' standard deviation. `batch(i)` for i
// < batches. Error{environment} on a device that has no int8.
std::vector<LayerError> layer_errors(Model& model, std::size_t batches,
                                     const std::function<Batch(std::size_t)>& batch);

// The `keep` layers of the largest errors stay, in the order of the model; the others are int8.
struct LayerChoice {
  std::vector<LayerError> int8;
  std::vector<LayerError> kept;
};
LayerChoice choose_layers(const std::vector<LayerError>& errors, std::size_t keep);
// How many layers have an error of more than four times the median: where a choice begins.
std::size_t outlying_layers(const std::vector<LayerError>& errors);

// The mean over the outputs whose labels are of both classes. Error{bad_input} when none is.
double mean_auroc(const LabelledScores& scores);

// What `quantize` aims at, for models that score variants.
inline constexpr double least_effect_correlation = 0.995;
// Batches of a window and the same with a substitution: Spearman's correlation over the windows of what the
// latter changes in a logit, with `layers` in int8 and with none; mean over the outputs whose effects differ.
double effect_correlation(Model& model, std::size_t batches, const std::function<Batch(std::size_t)>& batch,
                          const std::vector<std::string>& layers);

struct MaskedDivergence {
  double full = 0.0;        // nats for each masked token
  double quantized = 0.0;   // the same with int8 layers
  double divergence = 0.0;  // Kullback-Leibler, of the former from the latter
  std::int64_t tokens = 0;
};
// Of masked tokens of these pieces (lib/training/evaluator.h), `together` at a time; what the model computes
// in int8 are `layers`.
MaskedDivergence masked_divergence(Model& model, const PretrainingBatches& batches,
                                   const std::vector<std::uint64_t>& pieces, std::size_t together,
                                   const std::vector<std::string>& layers);

}  // namespace bigbird
