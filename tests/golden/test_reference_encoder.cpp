// The reference encoder against Hugging Face's BigBird, recorded in hf_tiny.json: losses, logits and
// gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/encoder.h"
#include "reference/finite_difference.h"
#include "reference/losses.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace reference;
using nlohmann::json;

// The file has nine significant digits; the demand on the oracle is 1e-5.
constexpr double tolerance = 1e-7;

class HuggingFaceTiny : public ::testing::Test {
 protected:
  const json golden = json::parse(testing::read_text(testing::source_dir() / "tests/golden/hf_tiny.json"));
  const std::size_t batch = golden.at("input_ids").size();
  const std::size_t length = golden.at("input_ids").at(0).size();

  EncoderConfig config() const {
    const json& file = golden.at("config");
    EncoderConfig result;
    result.vocabulary = file.at("vocab_size");
    result.hidden = file.at("hidden_size");
    result.layers = file.at("num_hidden_layers");
    result.heads = file.at("num_attention_heads");
    result.intermediate = file.at("intermediate_size");
    result.positions = file.at("max_position_embeddings");
    result.types = file.at("type_vocab_size");
    result.block_size = file.at("block_size");
    result.layer_norm_epsilon = file.at("layer_norm_eps");
    return result;
  }

  // One entry of `random_blocks` per layer; empty for full attention.
  Sequences sequences(const json& random_blocks) const {
    const std::size_t blocks = length / config().block_size;
    Sequences result;
    for (std::size_t b = 0; b < batch; ++b) {
      std::size_t real = 0;
      for (std::size_t t = 0; t < length; ++t) {
        result.ids.push_back(golden.at("input_ids").at(b).at(t));
        result.types.push_back(golden.at("token_type_ids").at(b).at(t));
        real += golden.at("attention_mask").at(b).at(t).get<std::size_t>();
      }
      result.padded_lengths.push_back(length);
      result.valid_lengths.push_back(real);
      std::vector<AttentionPlan> plans;
      for (std::size_t layer = 0; layer < config().layers; ++layer) {
        plans.push_back(random_blocks.empty()
                            ? full_plan(config().heads, blocks)
                            : itc_plan(blocks, random_blocks.at(layer).get<AttentionPlan>()));
      }
      result.plans.push_back(plans);
    }
    return result;
  }

  static Parameters parameters_in(const json& section) { return section.get<Parameters>(); }

  static void expect_near(const Vector& actual, const Vector& expected, const std::string& what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_LT(relative_error(actual[i], expected[i], 1e-2), tolerance) << what << ", element " << i;
    }
  }

  static void expect_norms(const Parameters& gradients, const json& norms) {
    for (const auto& [name, norm] : norms.items()) {
      double squares = 0.0;
      for (const double value : gradients.at(name)) squares += value * value;
      EXPECT_LT(relative_error(std::sqrt(squares), norm.get<double>()), tolerance) << name;
    }
  }
};

TEST_F(HuggingFaceTiny, PretrainingAgreesWithFullAndSparseAttention) {
  const Parameters parameters = parameters_in(golden.at("parameters"));
  PretrainingLabels labels;
  for (const json& row : golden.at("labels")) {
    for (const json& label : row) labels.masked.push_back(label);
  }
  labels.next_sentence = golden.at("next_sentence_label").get<std::vector<std::int64_t>>();
  ASSERT_EQ(golden.at("runs").size(), 2u);
  for (const json& run : golden.at("runs")) {
    const std::string type = run.at("attention_type");
    ASSERT_EQ(run.at("random_blocks").empty(), type == "original_full");
    const Sequences input = sequences(run.at("random_blocks"));
    const PretrainingResult result = pretraining(config(), parameters, input, labels);
    EXPECT_LT(relative_error(result.loss, run.at("loss")), tolerance) << type;
    expect_near(result.relationship_logits.values, run.at("relationship_logits").get<Vector>(), type);

    std::size_t labelled = 0;
    const Vector hidden_states = run.at("last_hidden_state").get<Vector>();
    for (std::size_t row = 0; row < input.ids.size(); ++row) {
      // Rows of padding differ by design: Hugging Face's full attention lets padded queries look at the keys.
      if (row % length >= input.valid_lengths[row / length]) continue;
      const auto part = [row](const Vector& all, std::size_t width) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * width);
        return Vector(begin, begin + static_cast<std::ptrdiff_t>(width));
      };
      const std::string where = type + ", token " + std::to_string(row);
      expect_near(part(result.last_hidden_state.values, config().hidden),
                  part(hidden_states, config().hidden), where);
      if (labels.masked[row] == reference::ignored_label) continue;
      expect_near(part(result.prediction_logits.values, config().vocabulary),
                  run.at("prediction_logits_labelled").at(labelled++).get<Vector>(), where);
    }
    EXPECT_EQ(labelled, run.at("prediction_logits_labelled").size());

    ASSERT_EQ(run.at("gradient_norms").size(), parameters.size());
    expect_norms(result.gradients, run.at("gradient_norms"));
    for (const auto& [name, gradient] : run.at("gradients").items()) {
      expect_near(result.gradients.at(name), gradient.get<Vector>(), type + ", gradient of " + name);
    }
  }
}

TEST_F(HuggingFaceTiny, ClassificationAgrees) {
  const json& section = golden.at("classification");
  Parameters parameters = parameters_in(section.at("parameters"));
  for (const auto& [name, values] : parameters_in(golden.at("parameters"))) {
    if (name.rfind("bert.", 0) == 0 && name.rfind("bert.pooler", 0) != 0) parameters[name] = values;
  }
  ClassificationLabels labels;
  labels.classes = section.at("labels").get<std::vector<std::int64_t>>();
  const ClassificationResult result =
      classification(config(), parameters, sequences(section.at("random_blocks")), labels);
  EXPECT_LT(relative_error(result.loss, section.at("loss")), tolerance);
  expect_near(result.logits.values, section.at("logits").get<Vector>(), "logits");
  ASSERT_EQ(section.at("gradient_norms").size(), parameters.size());
  expect_norms(result.gradients, section.at("gradient_norms"));
}

}  // namespace
}  // namespace bigbird
