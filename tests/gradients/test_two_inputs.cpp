// The oracle of BigBird-ETC: its gradients of every tensor against central differences.
#include <gtest/gtest.h>

#include <string>

#include "reference/finite_difference.h"
#include "reference/two_inputs.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

constexpr std::size_t width = 6, heads = 2, inner = 5, labels = 10, types = 3, words = 7;

// Every tensor of a layer with nothing shared, or with all of it; what is not there is shared.
Parameters random_tensors(bool shared, RandomNumbers& random) {
  Parameters tensors;
  const auto linear = [&](const std::string& name, std::size_t out, std::size_t in) {
    tensors[name + ".weight"] = random.vector(out * in, -0.4, 0.4);
    tensors[name + ".bias"] = random.vector(out, -0.4, 0.4);
  };
  const auto norm = [&](const std::string& name) {
    tensors[name + ".weight"] = random.vector(width, -0.4, 0.4);
    for (double& value : tensors[name + ".weight"]) value += 1.0;
    tensors[name + ".bias"] = random.vector(width, -0.4, 0.4);
  };
  tensors["bert.embeddings.word_embeddings.weight"] = random.vector(words * width, -0.6, 0.6);
  tensors["bert.embeddings.token_type_embeddings.weight"] = random.vector(types * width, -0.6, 0.6);
  norm("bert.embeddings.LayerNorm");
  norm("bert.embeddings.global_LayerNorm");
  const std::string layer = "bert.encoder.layer.0.", attention = layer + "attention.";
  for (const char* name : {"long_query", "l2l_key", "l2l_value", "long_output"})
    linear(attention + name, width, width);
  if (!shared) {
    for (const char* name : {"global_query", "g2l_key", "g2l_value", "g2g_key", "g2g_value", "l2g_key",
                             "l2g_value", "global_output"})
      linear(attention + name, width, width);
    linear(layer + "global_intermediate.dense", inner, width);
    linear(layer + "global_output.dense", width, inner);
    norm(layer + "global_output.LayerNorm");
  }
  for (const char* side : {"long", "global"}) {
    tensors[attention + side + "_relative.weight"] = random.vector(labels * width, -0.5, 0.5);
    tensors[attention + side + "_relative.bias"] = random.vector(labels * heads, -0.3, 0.3);
    norm(attention + side + "_LayerNorm");
  }
  linear(layer + "intermediate.dense", inner, width);
  linear(layer + "output.dense", width, inner);
  norm(layer + "output.LayerNorm");
  return tensors;
}

TwoInputsConfig small_config() {
  TwoInputsConfig config;
  config.encoder.vocabulary = words;
  config.encoder.hidden = width;
  config.encoder.layers = 1;
  config.encoder.heads = heads;
  config.encoder.intermediate = inner;
  config.encoder.types = types;
  config.radius = 2;
  config.distance = 2;
  return config;
}

double dot(const Matrix& a, const Matrix& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

TEST(Etc, Check6GradientsAgainstDifferences) {
  for (const bool shared : {false, true}) {
    for (const bool hard : {false, true}) {
      SCOPED_TRACE(std::string(shared ? "shared" : "separate") + (hard ? ", hard" : ""));
      RandomNumbers random(shared ? 5 : 6);
      TwoInputsConfig config = small_config();
      config.hard_g2l = config.hard_l2g = hard;
      TwoInputsSequence sequence{
          {1, 4, 2, 6, 3, 1, 5}, {0, 1, 1, 2, 1, 0, 2}, {1, 2, 3}, {0, 0, 2}, {}, {}, {}, {}, {}, {}, {}};
      sequence.links[0] = {0, 0, 1, 1, 2, 2, -1};
      sequence.links[2] = {-1, 2, -1, -1, 0, -1, -1};
      sequence.parts = {0, 0, 1};
      sequence.segments = {0, 0, 0, 0, 1, 1, 1};
      Parameters tensors = random_tensors(shared, random);
      const Matrix d_longs(7, width, random.vector(7 * width, -1.0, 1.0)),
          d_globals(3, width, random.vector(3 * width, -1.0, 1.0));
      const Parameters gradients = two_inputs_backward(config, tensors, sequence, d_longs, d_globals);
      const auto loss = [&] {
        const TwoInputsStates states = two_inputs_forward(config, tensors, sequence);
        return dot(states.longs.back(), d_longs) + dot(states.globals.back(), d_globals);
      };
      ASSERT_EQ(gradients.size(), tensors.size());
      for (auto& [name, values] : tensors)
        EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss), 1e-6) << name;
    }
  }
}

}  // namespace
}  // namespace bigbird
