// Transformer-XL against transformers' TransfoXLModel (tests/peers/make_transformer_xl.py): two segments with
// memories of every length, clamp, equal lengths and biases of each layer. The model's states and memory, and
// the gradients of the reference, which the model's are held against in tests/unit/model/network.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "lib/model/network/model.h"
#include "reference/recurrent.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

class TransformerXlGolden : public ::testing::Test {
 protected:
  std::int64_t number(const char* key) const { return std::stoll(golden_.metadata().at(key)); }

  ModelConfig config_of(const std::string& place) const {
    ModelConfig config;
    config.vocab_size = number("vocabulary");
    config.hidden_size = number("width");
    config.num_attention_heads = number("heads");
    config.num_hidden_layers = number("layers");
    config.intermediate_size = number("inner");
    config.block_size = 4;
    config.max_position_embeddings = 64;
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0;
    config.head = HeadType::causal_lm;
    config.attention = AttentionPattern::transformer_xl;
    become_recurrent(config);
    std::istringstream options(golden_.metadata().at(place + "options"));
    RecurrentOptions& of = config.attention_options.recurrent;
    options >> of.memory >> of.clamp >> of.same_length >> of.untie;
    return config;
  }

  std::vector<float> floats(const std::string& name) const {
    return golden_.has(name) ? golden_.floats(name) : std::vector<float>();
  }

  const SafetensorsFile golden_{
      (source_dir() / "tests/golden/neighbours/transformer_xl.safetensors").string()};
  static constexpr int cases = 6;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  return most;
}

TEST_F(TransformerXlGolden, X1StatesAndMemoryAreTransformers) {
  const auto backend = kernels::make_cpu_backend();
  for (int number = 0; number < cases; ++number) {
    const std::string place = std::to_string(number) + ".";
    const ModelConfig config = config_of(place);
    for (const bool training : {false, true}) {
      SCOPED_TRACE(place + (training ? " training" : " inference"));
      BatchLimits limits;
      limits.tokens = limits.longest = 12;
      limits.sequences = 1;
      limits.streams = 2;
      Model model(*backend, config, limits, {.training = training});
      std::vector<float> parameters(static_cast<std::size_t>(model.layout().count()), 0.0f);
      for (const TensorSpec& spec : model.layout().tensors()) {
        const std::vector<float> values = floats(place + spec.name);
        std::copy(values.begin(), values.end(), parameters.begin() + spec.offset);
      }
      model.set_parameters(parameters);
      model.set_stream_memory(1, floats(place + "memory"));
      for (int segment = 0; segment < 2; ++segment) {
        const std::string of = place + "segment" + std::to_string(segment) + ".";
        Batch batch;
        const std::vector<std::int64_t> ids = golden_.integers(of + "ids");
        batch.append({ids.begin(), ids.end()}, {}, model.wants_whole_blocks() ? config.block_size : 1, 0);
        batch.places = {{1}, {0}};
        model.forward(batch, {});
        std::vector<float> states = model.last_hidden_state();
        states.resize(ids.size() * static_cast<std::size_t>(config.hidden_size));
        EXPECT_LT(largest_difference(states, floats(of + "state")), 2e-5);
      }
      EXPECT_LT(largest_difference(model.stream_memory(1), floats(place + "memory_after")), 2e-5);
    }
  }
}

TEST_F(TransformerXlGolden, G3GradientsOfTheReferenceAreTransformers) {
  for (int number = 0; number < cases; ++number) {
    const std::string place = std::to_string(number) + ".";
    const ModelConfig config = config_of(place);
    const RecurrentOptions& options = config.attention_options.recurrent;
    reference::RecurrentConfig of;
    of.encoder.hidden = static_cast<std::size_t>(config.hidden_size);
    of.encoder.layers = static_cast<std::size_t>(config.num_hidden_layers);
    of.encoder.heads = static_cast<std::size_t>(config.num_attention_heads);
    of.encoder.layer_norm_epsilon = config.layer_norm_eps;
    of.encoder.rescale_embeddings = true;
    of.encoder.activation = reference::Activation::relu;
    of.clamp = static_cast<std::size_t>(options.clamp);
    of.seen = static_cast<std::size_t>(options.same_length ? options.memory : 0);
    reference::Parameters parameters;
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      const std::vector<float> values = floats(place + spec.name);
      if (!values.empty()) parameters[spec.name].assign(values.begin(), values.end());
    }
    const std::vector<float> begin = floats(place + "memory");
    reference::Memories memories;
    const std::size_t part = begin.size() / of.encoder.layers;
    for (std::size_t layer = 0; layer < of.encoder.layers; ++layer) {
      memories.emplace_back(
          part / of.encoder.hidden, of.encoder.hidden,
          reference::Vector(begin.begin() + static_cast<std::ptrdiff_t>(layer * part),
                            begin.begin() + static_cast<std::ptrdiff_t>((layer + 1) * part)));
    }
    for (int segment = 0; segment < 2; ++segment) {
      const std::string from = place + "segment" + std::to_string(segment) + ".";
      SCOPED_TRACE(from);
      const std::vector<std::int64_t> read = golden_.integers(from + "ids");
      const std::vector<std::size_t> ids(read.begin(), read.end());
      const std::vector<reference::Matrix> states =
          reference::recurrent_forward(of, parameters, ids, memories);
      const std::vector<float> last(states.back().values.begin(), states.back().values.end());
      EXPECT_LT(largest_difference(last, floats(from + "state")), 2e-5);
      const std::vector<float> weights = floats(from + "weights");
      const reference::Parameters gradients = reference::recurrent_backward(
          of, parameters, ids, memories,
          reference::Matrix(ids.size(), of.encoder.hidden, {weights.begin(), weights.end()}));
      for (const auto& [name, values] : gradients) {
        if (segment == 0) break;  // of the second alone
        const std::vector<float> expected = golden_.floats(from + "gradient." + name);
        double difference = 0.0, norm = 0.0;
        ASSERT_EQ(values.size(), expected.size()) << name;
        for (std::size_t i = 0; i < values.size(); ++i) {
          difference += std::pow(values[i] - double{expected[i]}, 2);
          norm += std::pow(double{expected[i]}, 2);
        }
        EXPECT_LE(difference, 1e-8 * norm) << name;
      }
      memories = reference::next_memories(memories, states, static_cast<std::size_t>(options.memory));
    }
  }
}

}  // namespace
}  // namespace bigbird
