// HIBERT's reference: the gradient of every parameter tensor against central differences, through the ends of
// sentences into the words, and through the rows that the decoder is given (H2).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/finite_difference.h"
#include "reference/hierarchy.h"
#include "reference/losses.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

HierarchyConfig small_hierarchy() {
  HierarchyConfig config;
  EncoderConfig& encoder = config.encoder;
  encoder.vocabulary = 13;
  encoder.hidden = 8;
  encoder.layers = 1;
  encoder.heads = 2;
  encoder.intermediate = 10;
  encoder.positions = 8;
  encoder.types = 0;
  encoder.rescale_embeddings = true;
  encoder.activation = Activation::silu;  // relu has places without a derivative
  config.document_layers = 1;
  config.decoder_layers = 2;
  return config;
}

Parameters some_parameters(const HierarchyConfig& config, bool labels) {
  RandomNumbers random(7);
  Parameters values;
  const std::size_t columns = config.encoder.hidden, inner = config.encoder.intermediate;
  const auto linear = [&](const std::string& name, std::size_t outputs, std::size_t inputs) {
    values[name + ".weight"] = random.vector(outputs * inputs, -0.5, 0.5);
    values[name + ".bias"] = random.vector(outputs, -0.3, 0.3);
  };
  const auto norm = [&](const std::string& name) {
    values[name + ".weight"] = random.vector(columns, 0.7, 1.3);
    values[name + ".bias"] = random.vector(columns, -0.3, 0.3);
  };
  const auto stack = [&](const std::string& name, std::size_t layers, bool adds) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const std::string prefix = name + std::to_string(layer) + ".";
      for (const char* part : {"query", "key", "value"})
        linear(prefix + "attention.self." + part, columns, columns);
      linear(prefix + "attention.output.dense", columns, columns);
      norm(prefix + "attention.output.LayerNorm");
      if (adds) norm(prefix + "sentence.LayerNorm");
      linear(prefix + "intermediate.dense", inner, columns);
      linear(prefix + "output.dense", columns, inner);
      norm(prefix + "output.LayerNorm");
    }
  };
  values["bert.embeddings.word_embeddings.weight"] =
      random.vector(config.encoder.vocabulary * columns, -0.4, 0.4);
  stack("bert.encoder.layer.", config.encoder.layers, false);
  stack("documents.layer.", config.document_layers, false);
  if (labels) {
    linear("sentence_labels", 2, columns);
  } else {
    stack("decoder.layer.", config.decoder_layers, true);
  }
  return values;
}

HierarchyInput some_documents() {
  HierarchyInput input;
  input.sentences = {{3, 4, 2}, {5, 2}, {6, 7, 8, 2}, {9, 2}, {10, 11, 2}};
  input.sentence_counts = {3, 2};
  input.written = {1, 4};
  input.read = {{1, 12, 4}, {1, 5}};
  input.next = {{12, 4, 2}, {5, ignored_label}};
  return input;
}

void expect_differences(const HierarchyConfig& config, const HierarchyInput& input, bool labels) {
  Parameters parameters = some_parameters(config, labels);
  const HierarchyResult result = hierarchy(config, parameters, input);
  for (auto& [name, values] : parameters) {
    double largest = 0.0;
    for (const double value : result.gradients.at(name)) largest = std::max(largest, std::abs(value));
    // A key's bias has no gradient in exact arithmetic.
    if (name.find(".self.key.bias") == std::string::npos) {
      EXPECT_GT(largest, 1e-6) << name;
    }
    const auto loss = [&] { return hierarchy(config, parameters, input, false).loss; };
    EXPECT_LT(largest_gradient_error(values, result.gradients.at(name), loss, 3), 1e-6) << name;
  }
}

TEST(Hierarchy, H2GradientsOfMaskedSentencesAreDerivatives) {
  expect_differences(small_hierarchy(), some_documents(), false);
}

TEST(Hierarchy, H2GradientsOfLabelsAreDerivatives) {
  HierarchyInput input = some_documents();
  input.written.clear();
  input.read.clear();
  input.next.clear();
  input.labels = {1, 0, ignored_label, 0, 1};
  expect_differences(small_hierarchy(), input, true);
}

}  // namespace
}  // namespace bigbird
