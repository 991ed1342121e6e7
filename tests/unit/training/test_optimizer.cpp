// Learning-rate schedules, AdamW, LAMB and Adafactor against their plain definitions in reference/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/training/optimizer.h"
#include "reference/optimizer.h"

namespace bigbird {
namespace {

TEST(Schedule, EqualsTheReferenceAtEveryStep) {
  for (const std::uint64_t warmup : {0u, 1u, 10u, 40u}) {
    for (const bool google : {true, false}) {
      const Schedule schedule{google ? ScheduleForm::google : ScheduleForm::huggingface, 3e-4, warmup, 40};
      const auto variant =
          google ? reference::ScheduleVariant::google : reference::ScheduleVariant::hugging_face;
      for (std::uint64_t step = 0; step <= 45; ++step) {
        EXPECT_DOUBLE_EQ(schedule.rate(step),
                         reference::learning_rate(variant, 3e-4, static_cast<std::int64_t>(step),
                                                  static_cast<std::int64_t>(warmup), 40));
      }
    }
  }
}

TEST(Schedule, WarmUpIsTenPercentAtMostTenThousand) {
  EXPECT_EQ(default_warmup(1000000), 10000u);
  EXPECT_EQ(default_warmup(711), 71u);
  EXPECT_EQ(default_warmup(5), 0u);
}

ModelConfig tiny_config() {
  ModelConfig config;
  config.vocab_size = 26;
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 64;
  config.block_size = 16;
  return config;
}

class AdamW : public ::testing::TestWithParam<OptimizerVariant> {};  // and the others

TEST_P(AdamW, APoolerWithoutUseStaysAsItIs) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = tiny_config();
  config.head = HeadType::classification;
  Batch batch;
  batch.append({1, 2, 3, 4, 5, 6, 7}, {}, config.block_size, 0);
  batch.sequence_labels = {1};
  Model model(*backend, config, {batch.tokens(), 1, 0, batch.tokens()}, {.training = true});
  const std::vector<float> before = initial_parameters(model.layout(), config, 3);
  model.set_parameters(before);
  OptimizerOptions options;
  options.variant = GetParam();
  options.weight_decay = 0.1;
  Optimizer optimizer(*backend, model.layout(), options);
  for (std::uint64_t update = 1; update <= 3; ++update) {
    model.zero_gradients();
    model.backward(mean_scale(model.forward(batch, {})));
    optimizer.update(model.parameters(), model.gradients(), 1e-2, update);
  }
  const std::vector<float> after = model.host_parameters();
  for (const TensorSpec& spec : model.layout().tensors()) {
    if (spec.init != Init::normal) continue;
    const bool same = std::equal(before.begin() + spec.offset, before.begin() + spec.offset + spec.count,
                                 after.begin() + spec.offset);
    EXPECT_EQ(same, spec.name == "bert.pooler.weight") << spec.name;
  }
}

// What rate a tensor has when each depth has half the rate of the next: by name, of two layers.
double halved_rate(const std::string& name) {
  if (name.starts_with("bert.embeddings.")) return 0.125;
  if (name.starts_with("bert.encoder.layer.0.")) return 0.25;
  return name.starts_with("bert.encoder.layer.1.") ? 0.5 : 1.0;
}

class AdamWUpdates : public ::testing::TestWithParam<std::tuple<OptimizerVariant, double>> {};

TEST_P(AdamWUpdates, TenEqualTheReferenceTensorByTensor) {
  const auto [variant, layer_decay] = GetParam();
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = tiny_config();
  config.num_hidden_layers = 2;
  const ParameterLayout layout(config);
  const auto count = static_cast<std::size_t>(layout.count());
  OptimizerOptions options;
  options.variant = variant;
  options.layer_decay = layer_decay;
  options.weight_decay = 0.1;
  options.clip_norm = 2.0;
  Optimizer optimizer(*backend, layout, options);
  std::vector<float> parameters(count);
  CounterRng rng(1, Purpose::test, 0);
  for (float& p : parameters) p = static_cast<float>(rng.normal());

  reference::AdamWOptions plain;
  const bool google = variant == OptimizerVariant::google;
  plain.variant = google ? reference::AdamWVariant::google : reference::AdamWVariant::torch;
  plain.epsilon = google ? 1e-6 : 1e-8;
  std::vector<reference::Vector> expected;
  std::vector<reference::AdamWState> states(layout.tensors().size());
  for (const TensorSpec& tensor : layout.tensors()) {
    expected.emplace_back(parameters.begin() + tensor.offset,
                          parameters.begin() + tensor.offset + tensor.count);
  }

  for (std::uint64_t update = 1; update <= 10; ++update) {
    const double size = update % 2 == 0 ? 0.001 : 1.0;  // norms on both sides of the clip
    std::vector<float> gradients(count);
    double squares = 0;
    for (float& g : gradients) {
      g = static_cast<float>(size * rng.normal());
      squares += static_cast<double>(g) * static_cast<double>(g);
    }
    const double norm = optimizer.update(parameters.data(), gradients.data(), 1e-2, update);
    EXPECT_NEAR(norm, std::sqrt(squares), 1e-9 * norm);
    const double scale = norm > 2.0 ? 2.0 / norm : 1.0;
    for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
      const TensorSpec& tensor = layout.tensors()[t];
      plain.weight_decay = tensor.decay ? 0.1 : 0.0;
      reference::Vector gradient(gradients.begin() + tensor.offset,
                                 gradients.begin() + tensor.offset + tensor.count);
      for (double& g : gradient) g *= scale;
      const double rate = layer_decay < 1.0 ? 1e-2 * halved_rate(tensor.name) : 1e-2;
      reference::adamw_update(plain, rate, gradient, expected[t], states[t]);
    }
  }
  for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
    const TensorSpec& tensor = layout.tensors()[t];
    for (std::size_t i = 0; i < expected[t].size(); ++i) {
      ASSERT_NEAR(parameters[static_cast<std::size_t>(tensor.offset) + i], expected[t][i], 2e-5)
          << tensor.name << " " << i;
    }
  }
}

// A model that writes, whose final_logits_bias is a matrix of one row.
ModelConfig tiny_writer() {
  ModelConfig config = tiny_config();
  config.num_hidden_layers = 2;
  config.head = HeadType::generation;
  config.decoder.num_hidden_layers = 1;
  config.decoder.num_attention_heads = 2;
  config.decoder.intermediate_size = 24;
  return config;
}

// How far 50 updates are from the reference's, relative to the largest number of each tensor.
double error_of_fifty(OptimizerVariant variant) {
  const auto backend = kernels::make_cpu_backend();
  const ParameterLayout layout(tiny_writer());
  OptimizerOptions options;
  options.variant = variant;
  options.clip_norm = 1.0;
  Optimizer optimizer(*backend, layout, options);
  std::vector<float> parameters(static_cast<std::size_t>(layout.count()));
  CounterRng rng(3, Purpose::test, 0);
  for (float& p : parameters) p = static_cast<float>(rng.normal());
  const auto part = [](const std::vector<float>& all, const TensorSpec& tensor) {
    return reference::Vector(all.begin() + tensor.offset, all.begin() + tensor.offset + tensor.count);
  };
  std::vector<reference::Vector> expected;
  for (const TensorSpec& tensor : layout.tensors()) expected.push_back(part(parameters, tensor));
  std::vector<reference::AdamWState> states(expected.size());

  for (std::uint64_t update = 1; update <= 50; ++update) {
    const double size = update % 2 == 0 ? 0.001 : 1.0;  // norms on both sides of the clip
    std::vector<float> gradients(parameters.size());
    for (float& g : gradients) g = static_cast<float>(size * rng.normal());
    const double norm = optimizer.update(parameters.data(), gradients.data(), 1e-2, update);
    const double scale = norm > 1.0 ? 1.0 / norm : 1.0;
    for (std::size_t t = 0; t < expected.size(); ++t) {
      const TensorSpec& tensor = layout.tensors()[t];
      reference::Vector gradient = part(gradients, tensor);
      for (double& g : gradient) g *= scale;
      if (variant == OptimizerVariant::lamb) {
        reference::lamb_update({.excluded = !tensor.decay}, 1e-2, gradient, expected[t], states[t]);
      } else {
        reference::adamw_update({.weight_decay = tensor.decay ? 0.01 : 0.0}, 1e-2, gradient, expected[t],
                                states[t]);
      }
    }
  }
  double worst = 0;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    const reference::Vector got = part(parameters, layout.tensors()[t]);
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      difference = std::max(difference, std::abs(got[i] - expected[t][i]));
      largest = std::max(largest, std::abs(expected[t][i]));
    }
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

TEST(Etc, Check20AdamWWithClippingEqualsDouble) {
  EXPECT_LT(error_of_fifty(OptimizerVariant::google), 1e-6);
}

TEST(Etc, Check20LambEqualsDouble) {
  EXPECT_LT(error_of_fifty(OptimizerVariant::lamb), 1e-6);
}

// The norms are those of whole tensors: one that lies in several parts of the arena, and small ones.
TEST(Lamb, EveryTensorOfTheDecayGroupMovesByAShareOfItsNorm) {
  const auto backend = kernels::make_cpu_backend();
  const ParameterLayout layout(tiny_writer());
  OptimizerOptions options;
  options.variant = OptimizerVariant::lamb;
  Optimizer optimizer(*backend, layout, options);
  std::vector<float> parameters(static_cast<std::size_t>(layout.count())), gradients(parameters.size());
  CounterRng rng(4, Purpose::test, 0);
  for (float& p : parameters) p = static_cast<float>(rng.normal());
  for (float& g : gradients) g = static_cast<float>(rng.normal());
  const std::vector<float> before = parameters;
  optimizer.update(parameters.data(), gradients.data(), 0.01, 1);
  std::int64_t cut = 0;
  for (const TensorSpec& tensor : layout.tensors()) {
    double moved = 0, norm = 0;
    for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      moved += std::pow(static_cast<double>(parameters[at]) - static_cast<double>(before[at]), 2);
      norm += std::pow(static_cast<double>(before[at]), 2);
    }
    if (tensor.decay) {
      EXPECT_NEAR(std::sqrt(moved / norm), 0.01, 1e-7) << tensor.name;
    }
    cut += tensor.count > kernels::part_size(layout.count()) ? 1 : 0;
  }
  EXPECT_GT(cut, 0);
}

class AdafactorUpdates : public ::testing::TestWithParam<double> {};

TEST_P(AdafactorUpdates, FiftyEqualTheReferenceTensorByTensor) {
  const double layer_decay = GetParam();
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = tiny_writer();
  const ParameterLayout layout(config);
  const auto count = static_cast<std::size_t>(layout.count());
  OptimizerOptions options;
  options.variant = OptimizerVariant::adafactor;
  options.layer_decay = layer_decay;
  options.clip_norm = 2.0;
  Optimizer optimizer(*backend, layout, options);
  std::vector<float> parameters(count);
  CounterRng rng(2, Purpose::test, 0);
  for (float& p : parameters) p = static_cast<float>(rng.normal());
  std::vector<reference::Vector> expected;
  std::vector<reference::AdafactorState> states(layout.tensors().size());
  for (const TensorSpec& tensor : layout.tensors()) {
    ASSERT_TRUE(tensor.shape.size() == 1 || tensor.shape.size() == 2) << tensor.name;
    expected.emplace_back(parameters.begin() + tensor.offset,
                          parameters.begin() + tensor.offset + tensor.count);
  }
  const std::vector<float> before = parameters;

  for (std::uint64_t update = 1; update <= 50; ++update) {
    const double size = update % 2 == 0 ? 0.001 : 1.0;  // norms on both sides of the clip
    std::vector<float> gradients(count);
    for (float& g : gradients) g = static_cast<float>(size * rng.normal());
    for (const TensorSpec& tensor : layout.tensors()) {
      const auto first = gradients.begin() + tensor.offset;
      if (tensor.name == "final_logits_bias") std::fill_n(first, tensor.count, 0.0f);
      if (tensor.name == "bert.embeddings.word_embeddings.weight")  // the row of padding
        std::fill_n(first, config.hidden_size, 0.0f);
    }
    const double norm = optimizer.update(parameters.data(), gradients.data(), 1e-2, update);
    const double scale = norm > 2.0 ? 2.0 / norm : 1.0;
    for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
      const TensorSpec& tensor = layout.tensors()[t];
      reference::Vector gradient(gradients.begin() + tensor.offset,
                                 gradients.begin() + tensor.offset + tensor.count);
      for (double& g : gradient) g *= scale;
      // What follows the encoder, decoder included, has the whole rate.
      const double rate = layer_decay < 1.0 ? 1e-2 * halved_rate(tensor.name) : 1e-2;
      reference::adafactor_update(rate, {tensor.shape.begin(), tensor.shape.end()}, gradient, expected[t],
                                  states[t]);
    }
  }
  for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
    const TensorSpec& tensor = layout.tensors()[t];
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < expected[t].size(); ++i) {
      const auto value = static_cast<double>(parameters[static_cast<std::size_t>(tensor.offset) + i]);
      ASSERT_TRUE(std::isfinite(value)) << tensor.name << " " << i;
      difference = std::max(difference, std::abs(value - expected[t][i]));
      largest = std::max(largest, std::abs(expected[t][i]));
    }
    EXPECT_LT(difference, 1e-6 * largest) << tensor.name;
    const bool same =
        std::equal(before.begin() + tensor.offset, before.begin() + tensor.offset + tensor.count,
                   parameters.begin() + tensor.offset);
    EXPECT_EQ(same, tensor.name == "final_logits_bias") << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(LayerDecay, AdafactorUpdates, ::testing::Values(1.0, 0.5));

// What it is for: hardly any memory. A matrix has two vectors in place of two matrices.
TEST(Adafactor, ItsStateIsAVectorForEachAxis) {
  const ParameterLayout layout(tiny_writer());
  std::int64_t expected = 0, end = 0;
  for (const TensorSpec& tensor : layout.tensors()) {
    for (const std::int64_t size : tensor.shape) expected += size;
  }
  std::int64_t numbers = 0;
  std::vector<std::string> names;
  for (const OptimizerState& part : optimizer_state(layout, OptimizerVariant::adafactor)) {
    EXPECT_EQ(part.offset, end) << part.name;
    ASSERT_EQ(part.shape, std::vector<std::int64_t>{part.count}) << part.name;
    end += part.count;
    numbers += part.count;
    names.push_back(part.name);
  }
  EXPECT_EQ(numbers, expected);
  EXPECT_LT(numbers, layout.count() / 4);
  EXPECT_EQ(names[0], "exp_avg_sq_row.bert.embeddings.word_embeddings.weight");
  EXPECT_EQ(names[1], "exp_avg_sq_col.bert.embeddings.word_embeddings.weight");
  const auto has = [&](const char* name) { return std::count(names.begin(), names.end(), name) == 1; };
  EXPECT_TRUE(has("exp_avg_sq.bert.encoder.layer.0.attention.output.LayerNorm.weight"));
  EXPECT_TRUE(has("exp_avg_sq_row.final_logits_bias"));
  const auto backend = kernels::make_cpu_backend();
  const OptimizerMemory memory = optimizer_memory(layout, OptimizerVariant::adafactor, *backend);
  EXPECT_GE(memory.state, numbers);
  EXPECT_LT(memory.state, numbers + 64);
  EXPECT_GE(optimizer_memory(layout, OptimizerVariant::google, *backend).bytes(),
            2 * sizeof(float) * static_cast<std::size_t>(layout.count()));
}

// Options of AdamW decide nothing, and what decides nothing does not stop a run from going on.
TEST(Adafactor, ItsIdentityHasNothingOfAdamW) {
  OptimizerOptions options;
  options.variant = OptimizerVariant::adafactor;
  const auto identity = update_identity({ScheduleForm::huggingface, 1e-3, 2, 10}, options);
  EXPECT_EQ(identity.at("optimizer"), "adafactor");
  for (const char* name : {"steps", "learning_rate", "warmup", "schedule", "clip_norm"})
    EXPECT_TRUE(identity.contains(name)) << name;
  for (const char* name : {"beta1", "beta2", "epsilon", "weight_decay"})
    EXPECT_FALSE(identity.contains(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(EveryVariant, AdamW,
                         ::testing::Values(OptimizerVariant::google, OptimizerVariant::torch,
                                           OptimizerVariant::adafactor, OptimizerVariant::lamb),
                         [](const auto& instance) { return name_of(instance.param); });

INSTANTIATE_TEST_SUITE_P(VariantsAndLayerDecay, AdamWUpdates,
                         ::testing::Combine(::testing::Values(OptimizerVariant::google,
                                                              OptimizerVariant::torch),
                                            ::testing::Values(1.0, 0.5)));

TEST(AdamWNames, UnknownNamesListTheKnownOnes) {
  EXPECT_EQ(parse_optimizer_variant("torch"), OptimizerVariant::torch);
  EXPECT_EQ(parse_optimizer_variant("lamb"), OptimizerVariant::lamb);
  EXPECT_EQ(parse_schedule_form("huggingface"), ScheduleForm::huggingface);
  try {
    parse_optimizer_variant("sgd");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.hint().find("google, torch, adafactor, lamb"), std::string::npos);
  }
}

}  // namespace
}  // namespace bigbird
