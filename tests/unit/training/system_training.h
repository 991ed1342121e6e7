// Runs of a system of attention that is computed on the CPU: the same bytes by any number of ranks and
// threads and in parts.
#pragma once

#include <functional>
#include <string>

#include "tests/unit/training/thread_team.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {

class SystemTraining : public TrainingTest {
 protected:
  // Six updates with dropout, measured and saved after three, by what `config` makes of the options.
  PretrainOptions six_updates(const std::string& run, bool causal,
                              const std::function<void(ModelConfig&)>& config) const {
    PretrainOptions options = TrainingTest::options(run);
    options.valid = path("valid");
    options.config.num_random_blocks = 0;
    if (causal) {
      options.config.causal = true;
      options.config.head = HeadType::causal_lm;
      options.objective.next = true;
    }
    config(options.config);
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

  // options_of(the folder of a run); the first run is `one`.
  using OptionsOf = std::function<PretrainOptions(const std::string&)>;

  void expect_same_by_ranks_and_threads(const std::string& one, const OptionsOf& options_of) const {
    pretrain(options_of(one), *backend_);
    for (const int count : {2, 4}) {
      const std::string ranks = one + "-ranks-" + std::to_string(count);
      testing::run_team(count, [&](RankTeam& team) {
        const auto backend = kernels::make_cpu_backend();
        PretrainOptions own = options_of(ranks);
        own.team = &team;
        pretrain(own, *backend);
      });
      expect_same_run(ranks, one);
      const std::string threads = one + "-threads-" + std::to_string(count);
      kernels::set_thread_count(count);
      pretrain(options_of(threads), *kernels::make_cpu_backend());
      kernels::set_thread_count(1);
      expect_same_run(threads, one);
    }
  }

  // Stopped after two updates, and after five.
  void expect_same_in_parts(const OptionsOf& options_of) const {
    pretrain(options_of("one"), *backend_);
    for (const int stop : {2, 5}) {
      const std::string name = "parts-" + std::to_string(stop);
      PretrainOptions options = options_of(name);
      stop_after(static_cast<std::uint64_t>(stop));
      EXPECT_THROW(pretrain(options, *backend_), Error);
      run_on();
      options.start = RunStart::resume;
      pretrain(options, *backend_);
      expect_same_run(name, "one");
    }
  }
};

}  // namespace bigbird
