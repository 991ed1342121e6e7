// Adaptive-Span against the published program (tests/peers/make_adaptive_span.py): two segments over a full
// memory, with spans of 0, of whole numbers of tokens and between, as long as all there is, and short enough
// that keys are left out. The model's states and memory, and the gradients of the reference with the loss of
// spans, which the model's are held against in tests/unit/model/network.
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

const std::string span_table = "bert.encoder.spans";

class AdaptiveSpanGolden : public ::testing::Test {
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
    config.attention = AttentionPattern::adaptive_span;
    become_recurrent(config);
    std::istringstream options(golden_.metadata().at(place + "options"));
    SpanOptions& of = config.attention_options.spans;
    options >> of.max_span >> of.ramp;
    of.span_loss = std::stod(golden_.metadata().at("span_loss"));
    return config;
  }

  Batch batch_of(const std::string& place, std::int64_t multiple) const {
    Batch batch;
    const std::vector<std::int64_t> ids = golden_.integers(place + "ids");
    batch.append({ids.begin(), ids.end()}, {}, multiple, 0);
    batch.places = {{1}, {0}};
    return batch;
  }

  reference::Vector doubles(const std::string& name) const {
    const std::vector<float> values = golden_.floats(name);
    return {values.begin(), values.end()};
  }

  const SafetensorsFile golden_{
      (source_dir() / "tests/golden/neighbours/adaptive_span.safetensors").string()};
  static constexpr int cases = 5;
};

double furthest_apart(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  return most;
}

TEST_F(AdaptiveSpanGolden, A1StatesAndMemoryAreThePublished) {
  const auto backend = kernels::make_cpu_backend();
  for (int number = 0; number < cases; ++number) {
    const std::string place = std::to_string(number) + ".";
    const ModelConfig config = config_of(place);
    for (const bool training : {false, true}) {
      SCOPED_TRACE(place + (training ? " training" : " inference"));
      BatchLimits limits;
      limits.tokens = limits.longest = 24;
      limits.sequences = 1;
      limits.streams = 2;
      Model model(*backend, config, limits, {.training = training});
      std::vector<float> parameters(static_cast<std::size_t>(model.layout().count()), 0.0f);
      for (const TensorSpec& spec : model.layout().tensors()) {
        if (!golden_.has(place + spec.name)) continue;  // of the head
        const std::vector<float> values = golden_.floats(place + spec.name);
        ASSERT_EQ(static_cast<std::int64_t>(values.size()), spec.count) << spec.name;
        std::copy(values.begin(), values.end(), parameters.begin() + spec.offset);
      }
      model.set_parameters(parameters);
      model.set_stream_memory(1, golden_.floats(place + "memory"));
      for (int segment = 0; segment < 2; ++segment) {
        const std::string of = place + "segment" + std::to_string(segment) + ".";
        const std::vector<float> expected = golden_.floats(of + "state");
        model.forward(batch_of(of, model.wants_whole_blocks() ? config.block_size : 1), {});
        std::vector<float> states = model.last_hidden_state();
        states.resize(expected.size());
        EXPECT_LT(furthest_apart(states, expected), 2e-5);
      }
      EXPECT_LT(furthest_apart(model.stream_memory(1), golden_.floats(place + "memory_after")), 2e-5);
    }
  }
}

TEST_F(AdaptiveSpanGolden, A1GradientsOfTheReferenceAreThePublished) {
  for (int number = 0; number < cases; ++number) {
    const std::string place = std::to_string(number) + ".";
    const ModelConfig config = config_of(place);
    const SpanOptions& options = config.attention_options.spans;
    reference::RecurrentConfig of;
    of.encoder.hidden = static_cast<std::size_t>(config.hidden_size);
    of.encoder.layers = static_cast<std::size_t>(config.num_hidden_layers);
    of.encoder.heads = static_cast<std::size_t>(config.num_attention_heads);
    of.encoder.layer_norm_epsilon = config.layer_norm_eps;
    of.encoder.activation = reference::Activation::relu;
    of.spans = {static_cast<std::size_t>(options.max_span), static_cast<double>(options.ramp)};
    reference::Parameters parameters;
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      if (golden_.has(place + spec.name)) parameters[spec.name] = doubles(place + spec.name);
    }
    const reference::Vector begin = doubles(place + "memory");
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
      EXPECT_LT(furthest_apart(last, golden_.floats(from + "state")), 2e-5);
      const reference::Parameters gradients = reference::recurrent_backward(
          of, parameters, ids, memories,
          reference::Matrix(ids.size(), of.encoder.hidden, doubles(from + "weights")));
      for (const auto& [name, values] : gradients) {
        if (segment == 0) break;  // of the second alone
        const reference::Vector expected = doubles(from + "gradient." + name);
        // span_loss S for the mean of a layer's heads.
        const double of_loss = name == span_table
                                   ? options.span_loss * static_cast<double>(options.max_span) /
                                         static_cast<double>(config.num_attention_heads)
                                   : 0.0;
        double difference = 0.0, norm = 0.0;
        ASSERT_EQ(values.size(), expected.size()) << name;
        for (std::size_t i = 0; i < values.size(); ++i) {
          difference += std::pow(values[i] + of_loss - expected[i], 2);
          norm += std::pow(expected[i], 2);
        }
        EXPECT_LE(difference, 1e-8 * norm) << name;
      }
      memories = reference::next_memories(memories, states, static_cast<std::size_t>(options.max_span));
    }
  }
}

}  // namespace
}  // namespace bigbird
