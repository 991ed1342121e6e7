// The whole reference encoder with its heads: the gradient of every parameter tensor against central
// differences.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "reference/encoder.h"
#include "reference/finite_difference.h"
#include "reference/losses.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::largest_difference;
using testing::RandomNumbers;

constexpr std::size_t hidden = 8;
constexpr std::size_t intermediate = 12;
constexpr std::size_t vocabulary = 11;

EncoderConfig tiny_config() {
  EncoderConfig config;
  config.vocabulary = vocabulary;
  config.hidden = hidden;
  config.layers = 2;
  config.heads = 2;
  config.intermediate = intermediate;
  config.positions = 10;
  config.block_size = 2;
  return config;
}

class ParameterMaker {
 public:
  explicit ParameterMaker(std::uint32_t seed) : random_(seed) {}
  Parameters parameters;

  void table(const std::string& name, std::size_t rows) {
    parameters[name] = random_.vector(rows * hidden, -0.6, 0.6);
  }
  void linear(const std::string& name, std::size_t outputs, std::size_t inputs, bool bias = true) {
    parameters[name + ".weight"] = random_.vector(outputs * inputs, -0.6, 0.6);
    if (bias) parameters[name + ".bias"] = random_.vector(outputs, -0.3, 0.3);
  }
  void layer_norm(const std::string& name) {
    parameters[name + ".weight"] = random_.vector(hidden, 0.7, 1.3);
    parameters[name + ".bias"] = random_.vector(hidden, -0.3, 0.3);
  }
  void encoder(const EncoderConfig& config, bool projection_bias) {
    table("bert.embeddings.word_embeddings.weight", config.vocabulary);
    table("bert.embeddings.token_type_embeddings.weight", config.types);
    table("bert.embeddings.position_embeddings.weight", config.positions);
    layer_norm(config.pre_layer_norm ? final_layer_norm : embedding_layer_norm);
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
      const std::string prefix = "bert.encoder.layer." + std::to_string(layer) + ".";
      for (const char* part : {"query", "key", "value"}) {
        linear(prefix + "attention.self." + part, hidden, hidden, projection_bias);
      }
      linear(prefix + "attention.output.dense", hidden, hidden);
      layer_norm(prefix + "attention.output.LayerNorm");
      linear(prefix + "intermediate.dense", intermediate, hidden);
      linear(prefix + "output.dense", hidden, intermediate);
      layer_norm(prefix + "output.LayerNorm");
    }
  }
  void pretraining_heads() {
    linear("bert.pooler", hidden, hidden);
    masked_head();
    linear("cls.seq_relationship", 2, hidden);
  }
  void masked_head() {
    linear("cls.predictions.transform.dense", hidden, hidden);
    layer_norm("cls.predictions.transform.LayerNorm");
    parameters["cls.predictions.bias"] = random_.vector(vocabulary, -0.3, 0.3);
  }
  void question_head() {
    linear("qa_classifier.intermediate.dense", intermediate, hidden);
    linear("qa_classifier.output.dense", hidden, intermediate);
    layer_norm("qa_classifier.output.LayerNorm");
    linear("qa_classifier.qa_outputs", 2, hidden);
  }
  void classification_head(std::size_t outputs) {
    linear("classifier.dense", hidden, hidden);
    linear("classifier.out_proj", outputs, hidden);
  }

 private:
  RandomNumbers random_;
};

// Two sequences of 5 and 2 blocks with padding inside the last block of one and a whole padding block in the
// other; each layer has plans of its own, with repeats.
Sequences ragged_sequences(const EncoderConfig& config) {
  RandomNumbers random(9);
  Sequences sequences;
  sequences.padded_lengths = {10, 4};
  sequences.valid_lengths = {9, 2};
  for (std::size_t t = 0; t < 14; ++t) {
    sequences.ids.push_back(random.below(config.vocabulary));
    sequences.types.push_back(random.below(config.types));
  }
  for (const std::size_t length : sequences.padded_lengths) {
    const std::size_t blocks = length / config.block_size;
    std::vector<AttentionPlan> plans;
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
      AttentionPlan plan = random.plan(config.heads, blocks, 3);
      for (auto& head : plan) {
        for (auto& keys : head) keys.push_back(0);  // block 0 holds real tokens: no query sees padding only
      }
      plans.push_back(plan);
    }
    sequences.plans.push_back(plans);
  }
  return sequences;
}

PretrainingLabels some_labels() {
  PretrainingLabels labels;
  labels.masked.assign(14, ignored_label);
  labels.masked[1] = 3;
  labels.masked[6] = 10;
  labels.masked[8] = 0;
  labels.masked[11] = 7;
  labels.next_sentence = {1, 0};
  return labels;
}

// `change` adds or takes away parameters.
void expect_pretraining_gradients(
    const EncoderConfig& config, bool projection_bias,
    const std::function<void(ParameterMaker&)>& change = [](ParameterMaker&) {}) {
  ParameterMaker maker(21);
  maker.encoder(config, projection_bias);
  maker.pretraining_heads();
  change(maker);
  Parameters& parameters = maker.parameters;
  const Sequences sequences = ragged_sequences(config);
  const PretrainingLabels labels = some_labels();
  const Parameters gradients = pretraining(config, parameters, sequences, labels).gradients;
  ASSERT_EQ(gradients.size(), parameters.size());
  for (auto& [name, values] : parameters) {
    const auto loss = [&] { return pretraining(config, parameters, sequences, labels).loss; };
    // 7 shares no factor with the widths 8 and 12, so every column is tried; small tensors are tried whole.
    const std::size_t stride = values.size() > 16 ? 7 : 1;
    EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss, stride), 1e-6) << name;
  }
}

TEST(EncoderGradients, PostLayerNormEqualsCentralDifferences) {
  expect_pretraining_gradients(tiny_config(), true);
}

TEST(EncoderGradients, PreLayerNormEqualsCentralDifferences) {
  EncoderConfig config = tiny_config();
  config.pre_layer_norm = true;
  expect_pretraining_gradients(config, true);
}

TEST(EncoderGradients, RescaledEmbeddingsWithoutProjectionBiasEqualCentralDifferences) {
  EncoderConfig config = tiny_config();
  config.rescale_embeddings = true;
  expect_pretraining_gradients(config, false);
}

TEST(EncoderGradients, PreLayerNormWithoutAFinalOneEqualsCentralDifferences) {
  EncoderConfig config = tiny_config();
  config.pre_layer_norm = true;
  expect_pretraining_gradients(config, true, [](ParameterMaker& maker) {
    maker.parameters.erase(final_layer_norm + std::string(".weight"));
    maker.parameters.erase(final_layer_norm + std::string(".bias"));
  });
}

// As GENA-LM's sparse models: LayerNorm at both ends of a pre-LN stack, rotary positions over a part of each
// head in place of a table, gelu in its erf form.
TEST(EncoderGradients, RotaryPositionsBothNormsAndErfGeluEqualCentralDifferences) {
  for (const std::size_t rotary_dim : {2u, 4u}) {
    EncoderConfig config = tiny_config();
    config.pre_layer_norm = true;
    config.activation = Activation::gelu_erf;
    config.rotary_dim = rotary_dim;
    config.rotary_base = 50.0;
    expect_pretraining_gradients(config, true, [](ParameterMaker& maker) {
      maker.layer_norm(embedding_layer_norm);
      maker.parameters.erase("bert.embeddings.position_embeddings.weight");
    });
  }
}

TEST(EncoderGradients, ClassificationEqualsCentralDifferencesForEveryLoss) {
  const EncoderConfig config = tiny_config();
  const Sequences sequences = ragged_sequences(config);
  for (const ClassificationLoss kind :
       {ClassificationLoss::cross_entropy, ClassificationLoss::binary_cross_entropy,
        ClassificationLoss::mean_squared_error}) {
    ParameterMaker maker(22);
    maker.encoder(config, true);
    maker.classification_head(3);
    Parameters& parameters = maker.parameters;
    ClassificationLabels labels;
    labels.kind = kind;
    labels.classes = {2, 0};
    labels.targets = Matrix(2, 3, {1, 0, 0.5, 0, 1, 1});
    labels.positive_weight = 3.0;
    const Parameters gradients = classification(config, parameters, sequences, labels).gradients;
    const auto loss = [&] { return classification(config, parameters, sequences, labels).loss; };
    for (auto& [name, values] : parameters) {
      const std::size_t stride = values.size() > 16 ? 23 : 3;
      EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss, stride), 1e-6) << name;
    }
  }
}

TEST(EncoderGradients, ClassesOfTokensEqualCentralDifferences) {
  const EncoderConfig config = tiny_config();
  const Sequences sequences = ragged_sequences(config);
  ParameterMaker maker(23);
  maker.encoder(config, false);
  maker.linear("classifier", 4, hidden);
  Parameters& parameters = maker.parameters;
  const std::vector<std::size_t> rows{0, 3, 4, 11};
  const std::vector<std::int64_t> classes{2, 0, ignored_label, 3};
  const auto result = [&] { return token_classification(config, parameters, sequences, rows, classes); };
  const Parameters gradients = result().gradients;
  const auto loss = [&] { return result().loss; };
  for (auto& [name, values] : parameters) {
    const std::size_t stride = values.size() > 16 ? 23 : 3;
    EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss, stride), 1e-6) << name;
  }
}

TEST(EncoderGradients, MaskedTokensAloneEqualCentralDifferences) {
  const EncoderConfig config = tiny_config();
  const Sequences sequences = ragged_sequences(config);
  const std::vector<std::int64_t> labels = some_labels().masked;
  ParameterMaker maker(26);
  maker.encoder(config, true);
  maker.masked_head();
  Parameters& parameters = maker.parameters;
  const Parameters gradients = masked_tokens(config, parameters, sequences, labels).gradients;
  const auto loss = [&] { return masked_tokens(config, parameters, sequences, labels).loss; };
  for (auto& [name, values] : parameters) {
    const std::size_t stride = values.size() > 16 ? 23 : 3;
    EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss, stride), 1e-6) << name;
  }
}

// Once with padding that sees the keys and competes, once with neither.
TEST(EncoderGradients, QuestionAnsweringEqualsCentralDifferences) {
  const EncoderConfig config = tiny_config();
  Sequences sequences = ragged_sequences(config);
  QuestionLabels labels;
  labels.question_lengths = {3, 1};
  labels.starts = {4, 1};
  labels.ends = {0, ignored_label};
  ParameterMaker maker(27);
  maker.encoder(config, true);
  maker.question_head();
  Parameters& parameters = maker.parameters;
  for (const bool padding : {true, false}) {
    labels.competing = padding ? std::vector<std::size_t>{10, 4} : sequences.valid_lengths;
    sequences.query_lengths = padding ? std::vector<std::size_t>{10, 4} : std::vector<std::size_t>{};
    const Parameters gradients = question_answering(config, parameters, sequences, labels).gradients;
    const auto loss = [&] { return question_answering(config, parameters, sequences, labels).loss; };
    for (auto& [name, values] : parameters) {
      const std::size_t stride = values.size() > 16 ? 23 : 3;
      EXPECT_LT(largest_gradient_error(values, gradients.at(name), loss, stride), 1e-6) << name;
    }
  }
}

// Rows of the first sequence (0 to 8) and the second (10, 11); padding is in no group.
std::vector<TokenScoreLabels> some_groups() {
  return {{true, {{{1, 2, 3, 8}, {false, true, false, true}}, {{10, 11}, {false, false}}}},
          {false, {{{3, 7}, {true, false}}, {{11}, {true}}}},
          {true, {{{0, 10, 4}, {false, false, true}}, {{11}, {true}}}}};
}

TEST(EncoderGradients, SeveralRightPositionsEqualCentralDifferences) {
  const EncoderConfig config = tiny_config();
  const Sequences sequences = ragged_sequences(config);
  std::vector<TokenScoreLabels> sides = some_groups();
  sides.erase(sides.begin() + 1);
  ParameterMaker maker(29);
  maker.encoder(config, true);
  maker.question_head();
  Parameters& parameters = maker.parameters;
  const auto run = [&] { return question_answering(config, parameters, sequences, {1, 1}, sides); };
  const Parameters gradients = run().gradients;
  for (auto& [name, values] : parameters) {
    const std::size_t stride = values.size() > 16 ? 23 : 3;
    EXPECT_LT(largest_gradient_error(
                  values, gradients.at(name), [&] { return run().loss; }, stride),
              1e-6)
        << name;
  }
}

// With one right position in each group it is the loss of positions.
TEST(Encoder, OneRightPositionOfASequenceIsItsCrossEntropy) {
  const EncoderConfig config = tiny_config();
  const Sequences sequences = ragged_sequences(config);
  ParameterMaker maker(30);
  maker.encoder(config, true);
  maker.question_head();
  QuestionLabels labels;
  labels.question_lengths = {3, 1};
  labels.competing = sequences.valid_lengths;
  labels.starts = {4, 1};
  labels.ends = {0, ignored_label};
  std::vector<TokenScoreLabels> sides(2);
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t s = 0; s < 2; ++s) {
      TokenGroup& group = sides[side].groups.emplace_back();
      const std::int64_t right = side == 0 ? labels.starts[s] : labels.ends[s];
      for (std::size_t t = 0; t < sequences.valid_lengths[s]; ++t) {
        group.rows.push_back(10 * s + t);
        group.right.push_back(static_cast<std::int64_t>(t) == right);
      }
    }
  }
  const QuestionResult one = question_answering(config, maker.parameters, sequences, labels);
  const QuestionResult group =
      question_answering(config, maker.parameters, sequences, labels.question_lengths, sides);
  EXPECT_NEAR(group.loss, one.loss, 1e-12);
  for (const auto& [name, values] : one.gradients)
    EXPECT_LT(largest_difference(values, group.gradients.at(name)), 1e-12) << name;
}

TEST(EncoderGradients, StructuredAnswersEqualCentralDifferences) {
  const EncoderConfig config = tiny_config();
  const Sequences sequences = ragged_sequences(config);
  for (const std::vector<std::int64_t>& types :
       {std::vector<std::int64_t>{2, ignored_label}, std::vector<std::int64_t>{}}) {
    ParameterMaker maker(31);
    maker.encoder(config, true);
    maker.linear("answer_scores.token", 3, hidden);
    if (!types.empty()) maker.linear("answer_scores.type", 3, hidden);
    Parameters& parameters = maker.parameters;
    const StructuredLabels labels{some_groups(), types};
    const auto run = [&] { return structured_answers(config, parameters, sequences, labels); };
    const Parameters gradients = run().gradients;
    for (auto& [name, values] : parameters) {
      const std::size_t stride = values.size() > 16 ? 23 : 3;
      EXPECT_LT(largest_gradient_error(
                    values, gradients.at(name), [&] { return run().loss; }, stride),
                1e-6)
          << name;
    }
  }
}

TEST(Encoder, TheEncoderAloneIsThatOfTheHeads) {
  const EncoderConfig config = tiny_config();
  ParameterMaker maker(28);
  maker.encoder(config, true);
  maker.pretraining_heads();
  const Sequences sequences = ragged_sequences(config);
  const PretrainingResult whole = pretraining(config, maker.parameters, sequences, some_labels());
  const EncoderResult alone = encoder(config, maker.parameters, sequences);
  EXPECT_EQ(alone.last_hidden_state.values, whole.last_hidden_state.values);
  EXPECT_EQ(alone.pooled.values, whole.pooled.values);
}

TEST(Encoder, ASequenceDoesNotSeeItsNeighboursOrItsPadding) {
  const EncoderConfig config = tiny_config();
  ParameterMaker maker(23);
  maker.encoder(config, true);
  maker.pretraining_heads();
  Sequences sequences = ragged_sequences(config);
  const Matrix before = pretraining(config, maker.parameters, sequences, some_labels()).last_hidden_state;
  sequences.ids[3] = (sequences.ids[3] + 1) % vocabulary;    // a real token of the first sequence
  sequences.ids[12] = (sequences.ids[12] + 1) % vocabulary;  // padding of the second
  const Matrix after = pretraining(config, maker.parameters, sequences, some_labels()).last_hidden_state;
  EXPECT_GT(largest_difference(Vector(before.values.begin(), before.values.begin() + 9 * hidden),
                               Vector(after.values.begin(), after.values.begin() + 9 * hidden)),
            1e-3);
  EXPECT_EQ(Vector(before.values.begin() + 10 * hidden, before.values.begin() + 12 * hidden),
            Vector(after.values.begin() + 10 * hidden, after.values.begin() + 12 * hidden));
}

TEST(Encoder, PreLayerNormWithoutLayersIsOneLayerNormOfTheEmbeddings) {
  EncoderConfig config = tiny_config();
  config.layers = 0;
  config.pre_layer_norm = true;
  ParameterMaker maker(24);
  maker.encoder(config, true);
  maker.pretraining_heads();
  const Sequences sequences = ragged_sequences(config);
  const PretrainingResult pre = pretraining(config, maker.parameters, sequences, some_labels());
  config.pre_layer_norm = false;
  Parameters renamed = maker.parameters;
  for (const char* part : {".weight", ".bias"}) {
    renamed[embedding_layer_norm + std::string(part)] = renamed.at(final_layer_norm + std::string(part));
    renamed.erase(final_layer_norm + std::string(part));
  }
  const PretrainingResult post = pretraining(config, renamed, sequences, some_labels());
  EXPECT_EQ(pre.last_hidden_state.values, post.last_hidden_state.values);
  EXPECT_GT(largest_difference(pre.hidden_states[0].values, post.hidden_states[0].values), 0.1);
}

TEST(Encoder, AMissingParameterIsNamed) {
  const EncoderConfig config = tiny_config();
  ParameterMaker maker(25);
  maker.encoder(config, true);
  try {
    pretraining(config, maker.parameters, ragged_sequences(config), some_labels());
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("cls.predictions.transform.dense.weight"), std::string::npos);
  }
}

}  // namespace
}  // namespace bigbird
