// The oracle of BP-Transformer: its lists on the worked example, its gradients against central differences,
// and what its first layer makes of span nodes.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "reference/binary_partition.h"
#include "reference/finite_difference.h"
#include "reference/stack.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

PartitionConfig small_partition(std::size_t layers) {
  PartitionConfig config;
  config.encoder.vocabulary = 11;
  config.encoder.hidden = 6;
  config.encoder.layers = layers;
  config.encoder.heads = 2;
  config.encoder.intermediate = 8;
  config.encoder.activation = Activation::gelu_tanh;  // smooth, for differences
  config.contextual = 1;
  config.clip_levels = 2;
  return config;
}

Parameters partition_parameters(const PartitionConfig& config, RandomNumbers& random) {
  const std::size_t c = config.encoder.hidden, f = config.encoder.intermediate;
  const std::size_t labels = (2 * config.contextual + 1) * (config.clip_levels + 1);
  Parameters values;
  const auto add = [&](const std::string& name, std::size_t count, double low = -0.7, double high = 0.7) {
    values[name] = random.vector(count, low, high);
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".weight", c, 0.5, 1.5);
    add(name + ".bias", c);
  };
  add("bert.embeddings.word_embeddings.weight", config.encoder.vocabulary * c);
  norm("bert.embeddings.LayerNorm");
  for (std::size_t layer = 0; layer < config.encoder.layers; ++layer) {
    const std::string prefix = "bert.encoder.layer." + std::to_string(layer) + ".";
    for (const char* name : {"query", "key", "value"})
      add(prefix + "attention.self." + name + ".weight", c * c);
    add(prefix + "attention.self.relative.weight", labels * c / config.encoder.heads);
    add(prefix + "attention.output.dense.weight", c * c);
    norm(prefix + "attention.output.LayerNorm");
    add(prefix + "intermediate.dense.weight", f * c);
    add(prefix + "intermediate.dense.bias", f);
    add(prefix + "output.dense.weight", c * f);
    add(prefix + "output.dense.bias", c);
    norm(prefix + "output.LayerNorm");
  }
  return values;
}

TEST(Bpt, TheOraclesListsOfEightTokens) {
  const auto pairs = partition_pairs(8, small_partition(1));
  std::size_t edges = 0;
  for (const auto& of_node : pairs) edges += of_node.size();
  EXPECT_EQ(edges, 66u);
  std::string text;  // nodes (1,0) and (1,3) have the numbers 8 and 11
  for (const PartitionPair& pair : pairs[3])
    text += std::to_string(pair.node) + "t" + std::to_string(pair.label) + " ";
  EXPECT_EQ(text, "3t0 4t2 2t1 5t5 8t4 11t8 ");
}

TEST(Bpt, G2GradientsAreCentralDifferences) {
  for (const std::size_t tokens : {std::size_t{1}, std::size_t{5}, std::size_t{9}}) {
    RandomNumbers random(static_cast<std::uint32_t>(tokens));
    const PartitionConfig config = small_partition(2);
    Parameters values = partition_parameters(config, random);
    std::vector<std::size_t> ids;
    for (std::size_t i = 0; i < tokens; ++i) ids.push_back((7 * i + 3) % config.encoder.vocabulary);
    const Matrix last = partition_forward(config, values, ids).back();
    const Matrix weights(last.rows, last.columns, random.vector(last.values.size(), -1, 1));
    const Parameters gradients = partition_backward(config, values, ids, weights);
    const auto function = [&] {
      return testing::weighted_sum(partition_forward(config, values, ids).back().values, weights.values);
    };
    for (auto& [name, tensor] : values) {
      EXPECT_LT(largest_gradient_error(tensor, gradients.at(name), function, tensor.size() > 40 ? 7 : 1),
                1e-6)
          << name << " of " << tokens << " tokens";
    }
  }
}

// Span nodes begin as zeros and have no biases: their queries are zero, and they take the mean of their
// leaves' values.
TEST(Bpt, TheFirstLayerMakesMeansOfLeaves) {
  RandomNumbers random(3);
  const PartitionConfig config = small_partition(1);
  Parameters values = partition_parameters(config, random);
  const std::vector<std::size_t> ids{1, 2, 3, 4, 5};
  const std::size_t c = config.encoder.hidden;
  Network network(config.encoder, values);
  const std::vector<Matrix> states = partition_forward(config, values, ids);
  const std::string prefix = "bert.encoder.layer.0.attention.";
  Matrix mean(1, c);  // of leaves 2 and 3, which are node (1,1), number 6
  const Matrix value = network.linear(prefix + "self.value", states[0]);
  for (std::size_t d = 0; d < c; ++d) mean(0, d) = (value(2, d) + value(3, d)) / 2;
  const Matrix norm =
      network.layer_norm(prefix + "output.LayerNorm", network.linear(prefix + "output.dense", mean));
  const Matrix expected = feed_forward_forward(network, "bert.encoder.layer.0.", norm).output;
  for (std::size_t d = 0; d < c; ++d) EXPECT_NEAR(states[1](6, d), expected(0, d), 1e-12);
}

}  // namespace
}  // namespace bigbird
