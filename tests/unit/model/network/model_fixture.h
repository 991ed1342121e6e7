// Tiny models, batches and their translation for the double-precision reference; shared by the model tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/network/model.h"
#include "reference/decoder.h"
#include "reference/encoder.h"

namespace bigbird::testing {

// Width 24, 2 heads, 2 layers, blocks of 4, vocabulary 37, dropout off.
ModelConfig tiny_config();

// Gives a config of this head (which takes no notice where it is another one) two scores of tokens that
// compete and one that does not, and three types of answers.
void add_answer_scores(ModelConfig& config);

// Turns a config into one with a decoder of three layers and three heads, in the form that a decoder asks
// for.
void add_decoder(ModelConfig& config);
ModelConfig tiny_decoder_config();

// Gives a config a stem of rows of so many tokens, with what it asks for.
void add_stem(ModelConfig& config, std::int64_t stride);

// The same in the form of the published code's coupled model, and a post-LN encoder with token types that has
// a decoder of its own.
ModelConfig tiny_coupled_config();
ModelConfig tiny_own_decoder_config();

// Weights, biases and LayerNorm parameters all away from their initial values, so that every term counts.
std::vector<float> random_parameters(const ModelConfig& config, std::uint64_t seed);

// Sequences of these lengths with random ids and types, and with random labels of every kind that the head
// takes.
Batch random_batch(const ModelConfig& config, const std::vector<std::int64_t>& lengths, std::uint64_t seed);

// For every score of tokens a group in each sequence: of a softmax all its tokens, of which few are right (in
// a short sequence perhaps none), of sigmoids some of them.
std::vector<TokenTargets> random_targets(const Batch& batch, const std::vector<TokenScore>& scores,
                                         std::uint64_t seed);

BatchLimits limits_of(const Batch& batch);

std::unique_ptr<Model> make_model(kernels::Backend& backend, const ModelConfig& config, const Batch& batch,
                                  const ModelOptions& options, const std::vector<float>& parameters);

// The same for the reference.
reference::EncoderConfig reference_config(const ModelConfig& config);
reference::Parameters reference_parameters(const ModelConfig& config, const std::vector<float>& parameters);
reference::Sequences reference_sequences(const ModelConfig& config, const Batch& batch);
// Of the targets of a batch, without their padding.
reference::EncoderDecoderConfig reference_decoder_config(const ModelConfig& config);
reference::DecoderTargets reference_decoder_targets(const Batch& batch);
// The rows of a matrix of all targets [T', width] that are no padding.
std::vector<float> target_rows(const std::vector<float>& all, const Batch& batch, std::int64_t width);

std::vector<reference::TokenScoreLabels> reference_targets(const std::vector<TokenScore>& scores,
                                                           const std::vector<TokenTargets>& targets);

// Of a model built for training: a step of 2e-3 along each tensor's gradient changes the loss of such passes
// by its length, within 2 %, where that is 0.01 or more. Moving averages have none. Returns how many were
// tried; the model keeps other parameters.
int expect_steps_along_gradients(Model& model, const Batch& batch, const std::vector<float>& parameters,
                                 const ForwardOptions& options);

// Largest difference over the largest magnitude in `expected` (or `floor`, when that is larger).
double relative_error(const float* actual, const std::vector<double>& expected, double floor = 0.0);
// Every parameter gradient of the model within `tolerance` of its tensor's largest magnitude. In exact
// arithmetic the gradient of a key bias is zero (it shifts all scores of a query alike), and so are those of
// the last two biases of question answering: both sides hold rounding noise of the tensors around them, which
// is measured against the largest gradient; other small tensors against a thousandth of that.
void expect_gradients(const Model& model, const reference::Parameters& expected, double tolerance = 1e-4);

double largest_magnitude(const std::vector<double>& values);

}  // namespace bigbird::testing
