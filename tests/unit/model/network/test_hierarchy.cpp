// HIBERT in fp32 against the reference in double, and what its states depend on.
// tests/gradients/test_hierarchy.cpp holds the reference against derivatives, tests/golden/test_hibert.cpp
// against torch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lib/core/error.h"
#include "lib/model/network/hierarchy.h"
#include "lib/model/network/validate_config.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/hierarchy_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

template <typename Work>
void expect_hierarchy_error(const Work& work, ErrorKind kind, const std::string& part) {
  try {
    work();
    FAIL() << "no error: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
  }
}

ForwardOptions learning(std::uint64_t seed, bool training = true) {
  ForwardOptions options;
  options.training = training;
  options.dropout_seed = seed;
  return options;
}
ForwardOptions learning(std::uint64_t seed, const LossScale& scale) {
  ForwardOptions options = learning(seed);
  options.scale = scale;
  return options;
}

class HierarchyModel : public ::testing::TestWithParam<HeadType> {
 protected:
  HierarchyModel() { validate(config_, "test"); }

  const ModelConfig config_ = tiny_hierarchy(GetParam());
  const Batch batch_ = hierarchy_batch(config_);
  const std::vector<float> parameters_ = random_parameters(config_, 12);
  const std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST_P(HierarchyModel, H2StatesLossAndGradientsAreTheReferences) {
  const reference::HierarchyResult expected = reference::hierarchy(
      reference_hierarchy(config_), reference_parameters(config_, parameters_), reference_documents(batch_));
  for (const ModelOptions& options :
       {ModelOptions{.training = true}, ModelOptions{.training = true, .grad_checkpoint = true},
        ModelOptions{.training = true, .logits_in_pieces = true}}) {
    const auto model = make_model(*backend_, config_, batch_, options, parameters_);
    const LossScale scale = scale_of_means(label_counts(batch_, config_));
    const ForwardResult result = model->forward_backward(batch_, learning(0, scale));
    EXPECT_NEAR(scaled_loss(result, scale), expected.loss, 2e-5);
    EXPECT_LT(relative_error(model->sentence_states().data(), expected.sentence_states.values), 2e-5);
    EXPECT_LT(relative_error(real_rows(model->last_hidden_state(), batch_, 16).data(),
                             expected.token_states.values),
              2e-5);
    expect_gradients(*model, expected.gradients, 2e-5);
  }
}

TEST_P(HierarchyModel, G4OtherDocumentsOfTheBatchChangeNoBit) {
  const auto states_of = [&](const Batch& batch) {
    const auto model = make_model(*backend_, config_, batch, {}, parameters_);
    model->forward(batch, {});
    return model->sentence_states();
  };
  Batch alone, third;
  append_sentences(alone, config_, {{8, 8, 3, 2}, {21, 4, 19, 20, 2}});
  append_sentences(third, config_, {{9, 2}});
  append_sentences(third, config_, {{8, 8, 3, 2}, {21, 4, 19, 20, 2}});
  append_sentences(third, config_, {{9, 10, 2}, {11, 2}, {12, 2}});
  const std::vector<float> whole = states_of(batch_), behind = states_of(third);
  const std::vector<float> expected = states_of(alone);
  ASSERT_EQ(expected.size(), std::size_t{32});
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), whole.begin() + 48));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), behind.begin() + 16));
}

TEST_P(HierarchyModel, TheOrderOfSentencesAndTheirDocumentCount) {
  const auto states_of = [&](const std::vector<std::vector<std::vector<std::int32_t>>>& documents) {
    Batch batch;
    for (const auto& sentences : documents) append_sentences(batch, config_, sentences);
    const auto model = make_model(*backend_, config_, batch, {}, parameters_);
    model->forward(batch, {});
    return model->sentence_states();
  };
  const std::vector<std::int32_t> a = {5, 9, 2}, b = {7, 2};
  const std::vector<float> ab = states_of({{a, b}}), ba = states_of({{b, a}}), apart = states_of({{a}, {b}});
  EXPECT_GT(std::abs(ab[0] - ba[16]), 1e-3f);  // another place
  EXPECT_GT(std::abs(ab[0] - apart[0]), 1e-3f);
  EXPECT_EQ(states_of({{a, b}}), ab);
}

TEST_P(HierarchyModel, DropoutHasItsPlacesAndItsSeed) {
  ModelConfig config = config_;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.3;
  const auto model = make_model(*backend_, config, batch_, {.training = true}, parameters_);
  const auto loss = [&](bool training, std::uint64_t seed) {
    return scaled_loss(model->forward(batch_, learning(seed, training)),
                       scale_of_means(label_counts(batch_, config)));
  };
  EXPECT_EQ(loss(true, 3), loss(true, 3));
  EXPECT_NE(loss(true, 3), loss(true, 4));
  EXPECT_NE(loss(true, 3), loss(false, 3));
  EXPECT_EQ(loss(false, 3), loss(false, 4));

  // With the masks of one seed the gradient is still the derivative: of one weight of each stack.
  std::vector<float> parameters = parameters_;
  const LossScale scale = scale_of_means(label_counts(batch_, config));
  model->zero_gradients();
  model->forward_backward(batch_, learning(5, scale));
  const std::vector<float> gradients = model->host_gradients();
  const std::string last =
      config.writes_sentences() ? "decoder.layer.0.sentence.LayerNorm.weight" : "sentence_labels.weight";
  for (const std::string& name : {std::string("bert.encoder.layer.0.output.LayerNorm.weight"),
                                  std::string("documents.layer.0.output.LayerNorm.weight"), last}) {
    const auto at = static_cast<std::size_t>(model->layout().offset(name));
    const float before = parameters[at], step = 2e-3f;
    const auto moved = [&](float by) {
      parameters[at] = before + by;
      model->set_parameters(parameters);
      return loss(true, 5);
    };
    const double derivative = (moved(step) - moved(-step)) / (2.0 * static_cast<double>(step));
    parameters[at] = before;
    EXPECT_NEAR(derivative, static_cast<double>(gradients[at]),
                2e-3 + 0.02 * std::abs(static_cast<double>(gradients[at])))
        << name;
  }
}

TEST_P(HierarchyModel, DocumentsThatCannotBeAreRefused) {
  const auto forward = [&](const Batch& batch) {
    const auto model = make_model(*backend_, config_, batch, {}, parameters_);
    model->forward(batch, {});
  };
  Batch batch;
  append_sentences(batch, config_, std::vector<std::vector<std::int32_t>>(9, {5, 2}));
  expect_hierarchy_error([&] { forward(batch); }, ErrorKind::bad_input,
                         "a document of 9 sentences: the model takes 8");
  Batch empty = hierarchy_batch(config_);
  empty.documents.sentence_offsets = {0, 3, 3, 5};
  expect_hierarchy_error([&] { forward(empty); }, ErrorKind::runtime, "a document without sentences");
  Batch loose = hierarchy_batch(config_);
  loose.documents.sentence_offsets = {0, 3};
  expect_hierarchy_error([&] { forward(loose); }, ErrorKind::runtime, "of no document");
}

INSTANTIATE_TEST_SUITE_P(Heads, HierarchyModel,
                         ::testing::Values(HeadType::masked_sentences, HeadType::sentence_labels));

TEST(Hierarchy, ConfigsThatCannotBeAreRefused) {
  const auto refuse = [](auto change, const char* what) {
    ModelConfig config = tiny_hierarchy(HeadType::masked_sentences);
    change(config);
    expect_hierarchy_error([&] { validate(config, "here"); }, ErrorKind::bad_input, what);
  };
  refuse([](ModelConfig& c) { c.norm_type = NormType::prenorm; }, "another kind than HIBERT's");
  refuse([](ModelConfig& c) { c.position_type = PositionType::absolute; }, "another kind than HIBERT's");
  refuse([](ModelConfig& c) { c.documents.sentences = 17; }, "sentences = 17 of documents is outside 1..16");
  refuse([](ModelConfig& c) { c.documents.sentence_length = 1; }, "sentence_length = 1 of documents");
  refuse([](ModelConfig& c) { c.documents.num_hidden_layers = 0; }, "num_hidden_layers = 0 of documents");
  refuse([](ModelConfig& c) { c.decoder.num_attention_heads = 4; }, "4 heads of the decoder");
}

TEST(Hierarchy, FreshWeightsAreDrawnAsPublished) {
  ModelConfig config = tiny_hierarchy(HeadType::masked_sentences);
  config.hidden_size = 64;
  config.vocab_size = 2000;
  const ParameterLayout layout(config);
  const std::vector<float> fresh = initial_parameters(layout, config, 3);
  const auto moments = [&](const std::string& name) {
    const TensorSpec& spec = *layout.find(name);
    double squares = 0, largest = 0;
    for (std::int64_t i = spec.offset; i < spec.offset + spec.count; ++i) {
      const double value = fresh[static_cast<std::size_t>(i)];
      squares += value * value;
      largest = std::max(largest, std::abs(value));
    }
    return std::pair(std::sqrt(squares / static_cast<double>(spec.count)), largest);
  };
  const auto [words, largest_word] = moments("bert.embeddings.word_embeddings.weight");
  EXPECT_NEAR(words, 1.0 / 8.0, 0.002);  // 64^-1/2
  EXPECT_GT(largest_word, 3.0 / 8.0);    // not cut
  const double bound = std::sqrt(6.0 / 128.0);
  for (const char* name :
       {"bert.encoder.layer.0.attention.self.key.weight", "documents.layer.1.attention.output.dense.weight",
        "decoder.layer.1.attention.self.query.weight"}) {
    const auto [deviation, largest] = moments(name);
    EXPECT_NEAR(deviation, bound / std::sqrt(3.0), 0.006) << name;
    EXPECT_LE(largest, bound) << name;
    EXPECT_GT(largest, 0.98 * bound) << name;
  }
}

TEST(Hierarchy, SinusoidsAreVaswanis) {
  const std::vector<float> table = sinusoids(3, 4);
  EXPECT_EQ((std::vector<float>(table.begin(), table.begin() + 4)), (std::vector<float>{0, 1, 0, 1}));
  EXPECT_FLOAT_EQ(table[8], std::sin(2.0f));
  EXPECT_FLOAT_EQ(table[10], std::sin(0.02f));
  EXPECT_FLOAT_EQ(table[11], std::cos(0.02f));
}

}  // namespace
}  // namespace bigbird
