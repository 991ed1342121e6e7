// Runs of Performer, in both directions: the same bytes by any number of ranks and threads and in parts,
// whose projections are the draws that are due, and an average of weights that has the last draw.
#include "lib/model/network/random_features.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/unit/training/system_training.h"

namespace bigbird {
namespace {

class PerformerTraining : public SystemTraining {
 protected:
  PretrainOptions performer(const std::string& run, bool causal) const {
    return six_updates(run, causal, [](ModelConfig& config) {
      config.attention = AttentionPattern::performer;
      config.attention_options.performer = {.features = 24, .redraw = 4};
    });
  }

  // Of every layer draw `number` of the run's seed.
  void expect_draw(const std::string& folder, const PretrainOptions& options, std::uint64_t number) const {
    const LoadedModel model = load_model(path(folder), LoadOptions{});
    const ParameterLayout layout(model.config);
    int layers = 0;
    for (const TensorSpec& spec : layout.tensors()) {
      if (spec.init != Init::features) continue;
      const auto first = model.parameters.begin() + spec.offset;
      EXPECT_EQ(std::vector<float>(first, first + spec.count),
                drawn_features(model.config, spec.depth - 1, options.seed, number))
          << folder << " " << spec.name;
      ++layers;
    }
    EXPECT_EQ(layers, model.config.num_hidden_layers);
  }
};

TEST_F(PerformerTraining, G5RanksAndThreadsChangeNoByte) {
  for (const bool causal : {false, true}) {
    const std::string one = causal ? "causal" : "both";
    expect_same_by_ranks_and_threads(one, [&](const std::string& run) { return performer(run, causal); });
    expect_draw(one + "/checkpoint-3", performer(one, causal), 0);
    expect_draw(one + "/final", performer(one, causal), 1);
  }
}

// Stopped before a draw and behind it.
TEST_F(PerformerTraining, G7ARunInPartsIsTheRunInOnePiece) {
  expect_same_in_parts([&](const std::string& run) { return performer(run, false); });
}

TEST_F(PerformerTraining, AnAverageHasTheLastDraw) {
  PretrainOptions options = performer("average", false);
  options.average_decay = 0.9;
  pretrain(options, *backend_);
  expect_draw("average/final", options, 1);
}

}  // namespace
}  // namespace bigbird
