// Runs of Reformer, in both directions, with layers that keep their activations and with reversible ones
// (system_training.h).
#include "tests/unit/training/system_training.h"

namespace bigbird {
namespace {

class ReformerTraining : public SystemTraining {
 protected:
  PretrainOptions reformer(const std::string& run, bool causal, bool reversible) const {
    return six_updates(run, causal, [&](ModelConfig& config) {
      config.attention = AttentionPattern::reformer;
      config.attention_options.reformer = {.chunk = 8, .hashes = 3, .reversible = reversible};
      become_published(config);
    });
  }
};

TEST_F(ReformerTraining, G5RanksAndThreadsChangeNoByte) {
  for (const bool causal : {false, true}) {
    expect_same_by_ranks_and_threads(causal ? "causal" : "both",
                                     [&](const std::string& run) { return reformer(run, causal, causal); });
  }
}

TEST_F(ReformerTraining, G7ARunInPartsIsTheRunInOnePiece) {
  expect_same_in_parts([&](const std::string& run) { return reformer(run, false, true); });
}

}  // namespace
}  // namespace bigbird
