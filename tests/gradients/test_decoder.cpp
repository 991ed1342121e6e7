// The whole reference encoder-decoder in its three forms: the gradient of every parameter tensor against
// central differences, on a model of width 32 with weights large enough that every term counts.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "reference/decoder.h"
#include "reference/finite_difference.h"
#include "reference/losses.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

enum class StackForm { pegasus, own_postnorm, coupled };

std::ostream& operator<<(std::ostream& out, StackForm form) {
  return out << (form == StackForm::pegasus   ? "Pegasus"
                 : form == StackForm::coupled ? "Coupled"
                                              : "OwnPostNorm");
}

EncoderDecoderConfig config_of(StackForm form) {
  EncoderDecoderConfig config;
  EncoderConfig& encoder = config.encoder;
  encoder.vocabulary = 99;
  encoder.hidden = 32;
  encoder.layers = 2;
  encoder.heads = 4;
  encoder.intermediate = 37;
  encoder.positions = 260;
  encoder.types = form == StackForm::own_postnorm ? 2 : 0;
  encoder.block_size = 4;
  encoder.pre_layer_norm = form == StackForm::pegasus;
  encoder.rescale_embeddings = form == StackForm::pegasus;
  encoder.layer_norm_epsilon = form == StackForm::pegasus ? 1e-5 : 1e-12;
  config.coupled = form == StackForm::coupled;
  config.layers = form == StackForm::own_postnorm ? 1 : 2;
  config.heads = form == StackForm::own_postnorm ? 2 : 4;
  return config;
}

class ParameterList {
 public:
  explicit ParameterList(const EncoderDecoderConfig& config) : config_(config) {}
  Parameters values;

  Parameters made(StackForm form) {
    const EncoderConfig& encoder = config_.encoder;
    const bool attention_bias = form != StackForm::pegasus, pre = form == StackForm::pegasus;
    table("bert.embeddings.word_embeddings.weight", encoder.vocabulary);
    table("bert.embeddings.position_embeddings.weight", encoder.positions);
    if (encoder.types > 0) table("bert.embeddings.token_type_embeddings.weight", encoder.types);
    norm(pre ? final_layer_norm : embedding_layer_norm);
    for (std::size_t layer = 0; layer < encoder.layers; ++layer) {
      const std::string prefix = "bert.encoder.layer." + std::to_string(layer) + ".";
      attention(prefix + "attention.self", prefix + "attention.output", attention_bias);
      feed_forward(prefix, 37);
      if (config_.coupled)
        attention(prefix + "attention.encdec", prefix + "attention.encdec_output", attention_bias);
    }
    if (config_.coupled) return values;
    table("decoder.embeddings.position_embeddings.weight", encoder.positions);
    norm(pre ? "decoder.LayerNorm" : "decoder.embeddings.LayerNorm");
    for (std::size_t layer = 0; layer < config_.layers; ++layer) {
      const std::string prefix = "decoder.layer." + std::to_string(layer) + ".";
      for (const char* name : {"attention", "crossattention"})
        attention(prefix + name + ".self", prefix + name + ".output", attention_bias);
      feed_forward(prefix, 23);
    }
    values["final_logits_bias"] = random_.vector(encoder.vocabulary, -0.3, 0.3);
    return values;
  }

 private:
  void table(const std::string& name, std::size_t rows) {
    values[name] = random_.vector(rows * config_.encoder.hidden, -0.35, 0.35);
  }
  void linear(const std::string& name, std::size_t outputs, std::size_t inputs, bool bias = true) {
    values[name + ".weight"] = random_.vector(outputs * inputs, -0.35, 0.35);
    if (bias) values[name + ".bias"] = random_.vector(outputs, -0.3, 0.3);
  }
  void norm(const std::string& name) {
    values[name + ".weight"] = random_.vector(config_.encoder.hidden, 0.7, 1.3);
    values[name + ".bias"] = random_.vector(config_.encoder.hidden, -0.3, 0.3);
  }
  void attention(const std::string& projections, const std::string& output, bool bias) {
    const std::size_t hidden = config_.encoder.hidden;
    for (const char* part : {".query", ".key", ".value"}) linear(projections + part, hidden, hidden, bias);
    linear(output + ".dense", hidden, hidden, bias);
    norm(output + ".LayerNorm");
  }
  void feed_forward(const std::string& prefix, std::size_t inner) {
    linear(prefix + "intermediate.dense", inner, config_.encoder.hidden);
    linear(prefix + "output.dense", config_.encoder.hidden, inner);
    norm(prefix + "output.LayerNorm");
  }

  const EncoderDecoderConfig& config_;
  RandomNumbers random_{41};
};

// Sources of 5 and 2 blocks, the first not full, with plans of their own in each layer; targets of 5 and 3
// tokens, one of them without a label.
struct Pairs {
  Sequences sources;
  DecoderTargets targets;
};

Pairs some_pairs(const EncoderConfig& config) {
  RandomNumbers random(43);
  Pairs pairs;
  pairs.sources.padded_lengths = {20, 8};
  pairs.sources.valid_lengths = {18, 8};
  for (std::size_t t = 0; t < 28; ++t) {
    pairs.sources.ids.push_back(random.below(config.vocabulary));
    pairs.sources.types.push_back(config.types > 0 ? random.below(config.types) : 0);
  }
  for (const std::size_t length : pairs.sources.padded_lengths) {
    std::vector<AttentionPlan> plans;
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
      AttentionPlan plan = random.plan(config.heads, length / config.block_size, 3);
      for (auto& head : plan) {
        for (auto& keys : head) keys.push_back(0);
      }
      plans.push_back(plan);
    }
    pairs.sources.plans.push_back(plans);
  }
  pairs.targets.lengths = {5, 3};
  for (std::size_t t = 0; t < 8; ++t) {
    pairs.targets.ids.push_back(random.below(config.vocabulary));
    pairs.targets.labels.push_back(static_cast<std::int64_t>(random.below(config.vocabulary)));
  }
  pairs.targets.labels[3] = ignored_label;
  return pairs;
}

class ReferenceEncoderDecoder : public ::testing::TestWithParam<StackForm> {};

TEST_P(ReferenceEncoderDecoder, EveryGradientIsThatOfCentralDifferences) {
  const EncoderDecoderConfig config = config_of(GetParam());
  Parameters parameters = ParameterList(config).made(GetParam());
  const Pairs pairs = some_pairs(config.encoder);
  const Parameters gradients = generation(config, parameters, pairs.sources, pairs.targets).gradients;
  ASSERT_EQ(gradients.size(), parameters.size());
  for (auto& [name, values] : parameters) {
    const auto loss = [&] { return generation_loss(config, parameters, pairs.sources, pairs.targets); };
    // Primes, which no width is a multiple of; rows of the position tables are used up to the 20th alone.
    const std::size_t stride = values.size() > 1000 ? 997 : values.size() > 40 ? 37 : 11;
    EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss, stride), 1e-6) << name;
  }
}

// What is read twice has the sum of both gradients: moving one use alone, by a copy of the model in which the
// uses are separate tensors, gives a part.
TEST(ReferenceCoupled, EqualsSeparateStacksOfEqualWeightsWhoseGradientsAddUp) {
  const EncoderDecoderConfig coupled = config_of(StackForm::coupled);
  const Parameters shared = ParameterList(coupled).made(StackForm::coupled);
  EncoderDecoderConfig apart = coupled;
  apart.coupled = false;
  Parameters separate;
  const auto renamed = [](std::string name, const std::string& from, const std::string& to) {
    const std::size_t at = name.find(from);
    return at == std::string::npos ? name : name.replace(at, from.size(), to);
  };
  const auto in_decoder = [&](std::string name) {
    name = renamed(name, "bert.encoder.layer.", "decoder.layer.");
    name = renamed(name, "bert.embeddings.", "decoder.embeddings.");
    name = renamed(name, "attention.encdec_output.", "crossattention.output.");
    return renamed(name, "attention.encdec.", "crossattention.self.");
  };
  const std::string words = "bert.embeddings.word_embeddings.weight";
  for (const auto& [name, values] : shared) {
    const bool cross = name.find("encdec") != std::string::npos;
    if (!cross) separate[name] = values;
    if (name != words) separate[in_decoder(name)] = values;
  }
  const Pairs pairs = some_pairs(coupled.encoder);
  const GenerationResult one = generation(coupled, shared, pairs.sources, pairs.targets);
  const GenerationResult two = generation(apart, separate, pairs.sources, pairs.targets);
  EXPECT_EQ(one.loss, two.loss);
  EXPECT_EQ(one.logits.values, two.logits.values);
  for (const auto& [name, gradient] : one.gradients) {
    const bool cross = name.find("encdec") != std::string::npos;
    Vector expected = cross ? two.gradients.at(in_decoder(name)) : two.gradients.at(name);
    if (!cross && name != words) expected = sum(expected, two.gradients.at(in_decoder(name)));
    EXPECT_LT(testing::largest_difference(gradient, expected), 1e-14) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ReferenceEncoderDecoder,
                         ::testing::Values(StackForm::pegasus, StackForm::own_postnorm, StackForm::coupled),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace bigbird
