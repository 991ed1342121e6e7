// Runs of Routing Transformer in both directions (system_training.h): its centroids are moved by what all
// ranks have counted, and saved with the run.
#include <algorithm>
#include <cmath>

#include "lib/io/weights/safetensors.h"
#include "lib/training/optimizer.h"
#include "tests/unit/model/network/model_fixture.h"
#include "tests/unit/training/system_training.h"

namespace bigbird {
namespace {

class RoutingTraining : public SystemTraining {
 protected:
  PretrainOptions routing(const std::string& run, bool causal,
                          OptimizerVariant variant = OptimizerVariant::torch) const {
    PretrainOptions options = six_updates(run, causal, [&](ModelConfig& config) {
      config.attention = AttentionPattern::routing;
      config.attention_options.routing = {.clusters = 3, .window = 16, .local_window = 8, .decay = 0.9};
      become_published(config);
    });
    options.optimizer.variant = variant;
    return options;
  }
};

TEST_F(RoutingTraining, G5RanksAndThreadsChangeNoByte) {
  for (const bool causal : {false, true}) {
    expect_same_by_ranks_and_threads(causal ? "causal" : "both",
                                     [&](const std::string& run) { return routing(run, causal); });
  }
}

TEST_F(RoutingTraining, G5NorDoThoseOfOptimizersThatTakeWholeTensors) {
  for (const OptimizerVariant variant : {OptimizerVariant::adafactor, OptimizerVariant::lamb}) {
    expect_same_by_ranks_and_threads(name_of(variant),
                                     [&](const std::string& run) { return routing(run, false, variant); });
  }
}

TEST_F(RoutingTraining, G7ARunInPartsIsTheRunInOnePiece) {
  expect_same_in_parts([&](const std::string& run) { return routing(run, false); });
}

// Counts are of real queries and keys, in parts of the update too, and no optimizer moves them.
TEST_F(RoutingTraining, CountsAreAveragesOfWhatUpdatesHaveSeen) {
  pretrain(routing("counts", false), *backend_);
  const SafetensorsFile weights(path("counts/final/model.safetensors"));
  const std::vector<float> counts = weights.floats("bert.encoder.layer.0.attention.self.centroids.counts");
  double all = 0;
  for (const float count : counts) {
    EXPECT_GE(count, 0.0f);
    all += static_cast<double>(count);
  }
  // Of one routed head: 8 sequences of 64 tokens at most, twice, with a weight of 1 - 0.9^6.
  const double most = 2 * 8 * 64 * (1 - std::pow(0.9, 6));
  EXPECT_LE(all, most * 1.0001);
  EXPECT_GT(all, most * 0.5);
}

TEST_F(RoutingTraining, T4AveragesOfFiftyUpdatesAreThoseOfDoubles) {
  ModelConfig config = testing::tiny_config();
  config.attention = AttentionPattern::routing;
  config.attention_options.routing = {.clusters = 3, .window = 16, .decay = 0.98};
  become_published(config);
  const ParameterLayout layout(config);
  const auto count = static_cast<std::size_t>(layout.count());
  for (const OptimizerVariant variant :
       {OptimizerVariant::google, OptimizerVariant::adafactor, OptimizerVariant::lamb}) {
    SCOPED_TRACE(name_of(variant));
    OptimizerOptions options;
    options.variant = variant;
    options.clip_norm = 1e-3;
    Optimizer optimizer(*backend_, layout, options);
    std::vector<float> parameters = initial_parameters(layout, config, 3), gradients(count);
    std::vector<double> expected(parameters.begin(), parameters.end());
    double largest = 0;
    for (std::uint64_t update = 1; update <= 50; ++update) {
      CounterRng random(5, Purpose::test, update);
      double square = 0;
      for (const TensorSpec& tensor : layout.tensors()) {
        for (auto i = static_cast<std::size_t>(tensor.offset);
             i < static_cast<std::size_t>(tensor.offset + tensor.count); ++i) {
          gradients[i] = static_cast<float>(random.normal());
          if (tensor.moving_decay) {
            expected[i] = 0.98 * expected[i] + 0.02 * static_cast<double>(gradients[i]);
          } else {
            square += std::pow(static_cast<double>(gradients[i]), 2);
          }
        }
      }
      const double norm = optimizer.update(parameters.data(), gradients.data(), 1e-3, update);
      EXPECT_NEAR(norm, std::sqrt(square), 1e-5 * norm);
    }
    for (const TensorSpec& tensor : layout.tensors()) {
      for (auto i = static_cast<std::size_t>(tensor.offset);
           tensor.moving_decay && i < static_cast<std::size_t>(tensor.offset + tensor.count); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(parameters[i]) - expected[i]));
    }
    EXPECT_LT(largest, 1e-6);
  }
}

}  // namespace
}  // namespace bigbird
