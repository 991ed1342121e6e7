// HIBERT against torch's nn.TransformerEncoder and a decoder by hand (tests/peers/make_hibert.py): the
// reference in double and the model in fp32 (H1).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "lib/model/network/model.h"
#include "tests/golden/package_numbers.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/hierarchy_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

class HibertGolden : public ::testing::TestWithParam<HeadType> {
 protected:
  std::vector<float> parameters(const ParameterLayout& layout) const {
    std::vector<float> all(static_cast<std::size_t>(layout.count()));
    for (const TensorSpec& spec : layout.tensors()) {
      const std::vector<float> values = golden_.floats(spec.name);
      EXPECT_EQ(values.size(), static_cast<std::size_t>(spec.count)) << spec.name;
      std::copy(values.begin(), values.end(), all.begin() + spec.offset);
    }
    return all;
  }
  std::vector<float> of(const std::string& name) const { return golden_.floats(kind_ + name); }

  const SafetensorsFile golden_{(source_dir() / "tests/golden/neighbours/hibert.safetensors").string()};
  const ModelConfig config_ = tiny_hierarchy(GetParam());
  const Batch batch_ = hierarchy_batch(config_);
  const std::string kind_ = GetParam() == HeadType::masked_sentences ? "masked." : "labels.";
};

TEST_P(HibertGolden, H1TheReferenceIsTorch) {
  const ParameterLayout layout(config_);
  const reference::HierarchyResult result =
      reference::hierarchy(reference_hierarchy(config_), reference_parameters(config_, parameters(layout)),
                           reference_documents(batch_));
  expect_output(result.token_states.values, of("tokens"));
  expect_output(result.sentence_states.values, of("states"));
  expect_output(result.logits.values, of("logits"));
  EXPECT_NEAR(result.loss, of("loss")[0], 1e-6);
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.name.ends_with(".self.key.bias")) continue;  // zeros but for rounding
    expect_gradient(result.gradients.at(spec.name), of("gradient." + spec.name), spec.name.c_str());
  }
}

TEST_P(HibertGolden, H1TheModelIsTorch) {
  const auto backend = kernels::make_cpu_backend();
  const ParameterLayout layout(config_);
  const auto model = make_model(*backend, config_, batch_, {.training = true}, parameters(layout));
  const ForwardResult result = model->forward(batch_, {});
  const LossScale scale = scale_of_means(label_counts(batch_, config_));
  EXPECT_NEAR(scaled_loss(result, scale), of("loss")[0], 2e-5);
  expect_output(real_rows(model->last_hidden_state(), batch_, config_.hidden_size), of("tokens"));
  expect_output(model->sentence_states(), of("states"));
  expect_output(config_.writes_sentences() ? target_rows(model->target_logits(), batch_, config_.vocab_size)
                                           : model->sequence_logits(),
                of("logits"));
  model->backward(scale);
  const std::vector<float> gradients = model->host_gradients();
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.name.ends_with(".self.key.bias")) continue;
    const auto first = gradients.begin() + spec.offset;
    expect_gradient(std::vector<float>(first, first + spec.count), of("gradient." + spec.name),
                    spec.name.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, HibertGolden,
                         ::testing::Values(HeadType::masked_sentences, HeadType::sentence_labels));

}  // namespace
}  // namespace bigbird
