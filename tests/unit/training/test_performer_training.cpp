// Runs of Performer, in both directions: the same bytes by any number of ranks and threads and in parts,
// whose projections are the draws that are due, and an average of weights that has the last draw.
#include "lib/model/network/random_features.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/unit/training/thread_team.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

class PerformerTraining : public TrainingTest {
 protected:
  PretrainOptions performer(const std::string& run, bool causal) const {
    PretrainOptions options = TrainingTest::options(run);
    options.valid = path("valid");
    options.config.attention = AttentionPattern::performer;
    options.config.attention_options.performer = {.features = 24, .redraw = 4};
    options.config.num_random_blocks = 0;
    if (causal) {
      options.config.causal = true;
      options.config.head = HeadType::causal_lm;
      options.objective.next = true;
    }
    options.length = 64;
    options.batch = 8;
    options.accumulate = 4;
    options.steps = 6;
    options.warmup = 1;
    options.learning_rate = 1e-2;
    options.eval_every = 3;
    options.save_every = 3;
    options.dropout = 0.1;
    return options;
  }

  void expect_same_run(const std::string& got, const std::string& expected) const {
    for (const char* file : {"final/model.safetensors", "checkpoint-6/optimizer.safetensors", "valid.tsv"}) {
      EXPECT_EQ(testing::read_text(path(got) + "/" + file), testing::read_text(path(expected) + "/" + file))
          << file << " of " << got;
    }
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
    const std::string direction = causal ? "-causal" : "";
    const PretrainOptions options = performer("one" + direction, causal);
    pretrain(options, *backend_);
    expect_draw("one" + direction + "/checkpoint-3", options, 0);
    expect_draw("one" + direction + "/final", options, 1);
    for (const int count : {2, 4}) {
      const std::string name = "ranks-" + std::to_string(count) + direction;
      testing::run_team(count, [&](RankTeam& team) {
        const auto backend = kernels::make_cpu_backend();
        PretrainOptions own = performer(name, causal);
        own.team = &team;
        pretrain(own, *backend);
      });
      expect_same_run(name, "one" + direction);
      const std::string threads = "threads-" + std::to_string(count) + direction;
      kernels::set_thread_count(count);
      pretrain(performer(threads, causal), *kernels::make_cpu_backend());
      kernels::set_thread_count(1);
      expect_same_run(threads, "one" + direction);
    }
  }
}

// Stopped before a draw and behind it.
TEST_F(PerformerTraining, G7ARunInPartsIsTheRunInOnePiece) {
  pretrain(performer("one", false), *backend_);
  for (const int stop : {2, 5}) {
    const std::string name = "parts-" + std::to_string(stop);
    PretrainOptions options = performer(name, false);
    stop_after(static_cast<std::uint64_t>(stop));
    EXPECT_THROW(pretrain(options, *backend_), Error);
    run_on();
    options.start = RunStart::resume;
    pretrain(options, *backend_);
    expect_same_run(name, "one");
  }
}

TEST_F(PerformerTraining, AnAverageHasTheLastDraw) {
  PretrainOptions options = performer("average", false);
  options.average_decay = 0.9;
  pretrain(options, *backend_);
  expect_draw("average/final", options, 1);
}

}  // namespace
}  // namespace bigbird
