// Where NaN and infinity come from: what RunOptions::debug_nan says about an update that was refused.
#pragma once

#include <string>

namespace bigbird {

class Model;
struct Batch;
struct ForwardOptions;

// Runs the batch again, with the same dropout, and names the first place in the order of a call whose output
// is not finite: "the embeddings", "layer 3 of 12", "the head". Names the first parameter tensor that is not
// finite beside it, if there is one.
std::string first_output_not_finite(Model& model, const Batch& batch, const ForwardOptions& options);

// The first tensor in the order of a backward pass whose gradient is not finite, with how many values:
// "gradient of bert.encoder.layer.1.output.dense.weight (3 of 4096 values)". Empty: there is none.
std::string first_gradient_not_finite(const Model& model);

}  // namespace bigbird
