// The oracles of Transformer-XL and Adaptive-Span: their gradients of every tensor against central
// differences, and small examples that were worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/finite_difference.h"
#include "reference/recurrent.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

constexpr std::size_t xl_width = 6, xl_heads = 2, xl_inner = 5, xl_layers = 2, xl_words = 7;

Parameters random_xl(bool untied, RandomNumbers& random) {
  Parameters tensors;
  const auto weight = [&](const std::string& name, std::size_t out, std::size_t in) {
    tensors[name + ".weight"] = random.vector(out * in, -0.5, 0.5);
  };
  const auto norm = [&](const std::string& name) {
    tensors[name + ".weight"] = random.vector(xl_width, 0.6, 1.4);
    tensors[name + ".bias"] = random.vector(xl_width, -0.4, 0.4);
  };
  const auto biases = [&](const std::string& prefix) {
    for (const char* name : {"content_bias", "position_bias"})
      tensors[prefix + name] = random.vector(xl_width, -0.5, 0.5);
  };
  weight("bert.embeddings.word_embeddings", xl_words, xl_width);
  if (!untied) biases("bert.encoder.");
  for (std::size_t layer = 0; layer < xl_layers; ++layer) {
    const std::string prefix = "bert.encoder.layer." + std::to_string(layer) + ".";
    for (const char* name : {"query", "key", "value", "position"})
      weight(prefix + "attention.self." + name, xl_width, xl_width);
    if (untied) biases(prefix + "attention.self.");
    weight(prefix + "attention.output.dense", xl_width, xl_width);
    norm(prefix + "attention.output.LayerNorm");
    weight(prefix + "intermediate.dense", xl_inner, xl_width);
    tensors[prefix + "intermediate.dense.bias"] = random.vector(xl_inner, -0.4, 0.4);
    weight(prefix + "output.dense", xl_width, xl_inner);
    tensors[prefix + "output.dense.bias"] = random.vector(xl_width, -0.4, 0.4);
    norm(prefix + "output.LayerNorm");
  }
  return tensors;
}

RecurrentConfig small_xl() {
  RecurrentConfig config;
  config.encoder.vocabulary = xl_words;
  config.encoder.hidden = xl_width;
  config.encoder.layers = xl_layers;
  config.encoder.heads = xl_heads;
  config.encoder.intermediate = xl_inner;
  config.encoder.layer_norm_epsilon = 1e-5;
  config.encoder.rescale_embeddings = true;
  config.encoder.activation = reference::Activation::gelu_erf;  // relu has no derivative at 0
  return config;
}

// Gradients of every tensor, each held against differences: of five tokens that see so many remembered rows.
Parameters expect_differences(const RecurrentConfig& config, Parameters& tensors, std::size_t remembered,
                              RandomNumbers& random) {
  Memories memories;
  for (std::size_t layer = 0; layer < xl_layers; ++layer)
    memories.emplace_back(remembered, xl_width, random.vector(remembered * xl_width, -1.0, 1.0));
  const std::vector<std::size_t> ids{1, 4, 2, 6, 3};
  const Matrix d_last(5, xl_width, random.vector(5 * xl_width, -1.0, 1.0));
  const Parameters gradients = recurrent_backward(config, tensors, ids, memories, d_last);
  const auto loss = [&] {
    const Matrix last = recurrent_forward(config, tensors, ids, memories).back();
    double sum = 0.0;
    for (std::size_t i = 0; i < last.values.size(); ++i) sum += last.values[i] * d_last.values[i];
    return sum;
  };
  EXPECT_EQ(gradients.size(), tensors.size());
  for (auto& [name, values] : tensors)
    EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss), 1e-6) << name;
  return gradients;
}

TEST(TransformerXl, G2GradientsAgainstDifferences) {
  for (const bool untied : {false, true}) {
    for (const std::size_t remembered : {0u, 3u}) {
      SCOPED_TRACE(std::string(untied ? "untied" : "tied") + ", memory of " + std::to_string(remembered));
      RandomNumbers random(untied ? 7 : 8);
      RecurrentConfig config = small_xl();
      config.clamp = untied ? 4 : 0;
      config.seen = untied ? 3 : 0;
      Parameters tensors = random_xl(untied, random);
      expect_differences(config, tensors, remembered, random);
    }
  }
}

// Token 0 is remembered, tokens 1 and 2 are queries; W makes (.2 d, .1) of distance d.
TEST(TransformerXl, G10WorkedExample) {
  RecurrentHead head;
  head.start = 1;
  head.content_bias = {.1, -.2};
  head.position_bias = {.3, .05};
  head.distance = Matrix(3, 2, {0.0, .1, .2, .1, .4, .1});
  const Matrix query(2, 2, {0, 1, 1, 1}), key(3, 2, {.5, 0, 0, .5, 1, -1}), value(3, 2, {1, 0, 0, 1, 2, 2});
  const RecurrentHeadOutput made = recurrent_head_forward(head, query, key, value);
  const Vector probabilities{.44891365, .55108635, 0, .42946546, .32138106, .24915348};
  const Vector output{.44891365, .55108635, .92777242, .81968802};
  for (std::size_t i = 0; i < probabilities.size(); ++i)
    EXPECT_NEAR(made.probabilities.values[i], probabilities[i], 1e-7) << i;
  for (std::size_t i = 0; i < output.size(); ++i) EXPECT_NEAR(made.output.values[i], output[i], 1e-7) << i;
}

Parameters random_spans(std::size_t longest, const Vector& z, RandomNumbers& random) {
  Parameters tensors = random_xl(false, random);
  for (const char* name : {"content_bias", "position_bias"})
    tensors.erase(std::string("bert.encoder.") + name);
  for (std::size_t layer = 0; layer < xl_layers; ++layer)
    tensors.erase("bert.encoder.layer." + std::to_string(layer) + ".attention.self.position.weight");
  tensors["bert.encoder.distances.weight"] = random.vector(longest * xl_width / xl_heads, -0.8, 0.8);
  tensors["bert.encoder.spans"] = z;
  return tensors;
}

// Spans of tokens: both tensors of a layer that make them, and what their inputs get.
TEST(DynamicSpan, A2GradientsAgainstDifferences) {
  for (const std::size_t remembered : {0u, 6u}) {
    SCOPED_TRACE("memory of " + std::to_string(remembered));
    RandomNumbers random(19);
    RecurrentConfig config = small_xl();
    config.encoder.rescale_embeddings = false;
    config.spans = {8, 4.0, true};
    Parameters tensors = random_spans(8, {}, random);
    tensors.erase("bert.encoder.spans");
    for (std::size_t layer = 0; layer < xl_layers; ++layer) {
      const std::string span = "bert.encoder.layer." + std::to_string(layer) + ".attention.self.span.";
      tensors[span + "weight"] = random.vector(xl_heads * xl_width, -0.7, 0.7);
      tensors[span + "bias"] = random.vector(xl_heads, -1.5, 1.0);
    }
    const Parameters gradients = expect_differences(config, tensors, remembered, random);
    double all = 0.0;
    for (const double of : gradients.at("bert.encoder.layer.1.attention.self.span.weight"))
      all += std::abs(of);
    if (remembered > 0) {  // without any all keys are nearer than the ramps
      EXPECT_GT(all, 1e-3);
    }
  }
}

// A2: spans whose ramp covers all distances there are, some, and none, each away from its corners.
TEST(AdaptiveSpan, A2GradientsAgainstDifferences) {
  for (const std::size_t remembered : {0u, 6u}) {
    SCOPED_TRACE("memory of " + std::to_string(remembered));
    RandomNumbers random(9);
    RecurrentConfig config = small_xl();
    config.encoder.rescale_embeddings = false;
    config.spans = {8, 4.0};
    Parameters tensors = random_spans(8, {0.03, 0.33, 0.55, 0.95}, random);
    const Parameters gradients = expect_differences(config, tensors, remembered, random);
    if (remembered > 0) {
      EXPECT_NE(gradients.at("bert.encoder.spans")[1], 0.0);
    }
  }
}

// The ramp of 4 distances from a span of 8 z tokens: inside of it no distance is on the ramp.
TEST(AdaptiveSpan, A2OnTheRampInsideAndOutside) {
  RecurrentHead head;
  head.spans = {8, 4.0};
  head.start = 6;
  RandomNumbers random(11);
  head.distance = Matrix(8, 2, random.vector(16, -1.0, 1.0));
  const Matrix query(1, 2, random.vector(2, -1.0, 1.0)), key(7, 2, random.vector(14, -1.0, 1.0)),
      value(7, 2, random.vector(14, -1.0, 1.0));
  for (const double z : {0.05, 0.3, 0.99}) {
    head.content_bias = head.position_bias = Vector(2);
    head.z = z;
    const RecurrentHeadOutput made = recurrent_head_forward(head, query, key, value);
    for (std::size_t distance = 1; distance <= 6; ++distance) {
      const double raw = head.spans.raw(z, distance), p = made.probabilities(0, 6 - distance);
      EXPECT_EQ(p == 0.0, raw <= 0.0) << z << " " << distance;
      EXPECT_NEAR(p, std::clamp(raw, 0.0, 1.0) * made.unmasked(0, 6 - distance), 1e-15);
    }
    EXPECT_EQ(made.probabilities(0, 6), 0.0);  // never itself
  }
}

// Four keys behind a query at distances 1 to 4 with scores .3, -.2, .5 and .1.
TEST(AdaptiveSpan, G10WorkedExample) {
  RecurrentHead head;
  head.start = 4;
  head.content_bias = head.position_bias = {0.0};
  head.distance = Matrix(4, 1, {.3, -.2, .5, .1});
  head.spans = {4, 2.0};
  head.z = .25;
  const RecurrentHeadOutput made =
      recurrent_head_forward(head, Matrix(1, 1, {1.0}), Matrix(5, 1, Vector(5)), Matrix(5, 1, Vector(5)));
  const Vector by_distance{.45101279, .27355308, .27543413, 0.0};
  for (std::size_t distance = 1; distance <= 4; ++distance)
    EXPECT_NEAR(made.probabilities(0, 4 - distance), by_distance[distance - 1], 1e-7) << distance;
}

}  // namespace
}  // namespace bigbird
