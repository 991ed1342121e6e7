// Training over ranks: the bytes of one process, whatever the number of ranks. The ranks are threads; those
// of an MPI are in tests/mpi/training.sh.
#include <cmath>
#include <fstream>

#include "lib/model/network/model.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/training/evaluator.h"
#include "tests/unit/training/thread_team.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

class TrainingOverRanks : public TrainingTest {
 protected:
  // Four micro-batches an update, dropout, validations and checkpoints.
  PretrainOptions small(const std::string& run) const {
    PretrainOptions options = TrainingTest::options(run);
    options.valid = path("valid");
    options.batch = 8;
    options.accumulate = 4;
    options.steps = 6;
    options.eval_every = 2;
    options.eval_samples = 7;
    options.save_every = 3;
    options.dropout = 0.1;
    return options;
  }

  // The run of `options` on so many ranks; what each of them threw.
  std::vector<std::string> run(int ranks, const PretrainOptions& options) const {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    testing::run_team(ranks, [&](RankTeam& team) {
      const auto backend = kernels::make_cpu_backend(precision_);
      PretrainOptions own = options;
      own.team = &team;
      try {
        pretrain(own, *backend);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(team.ranks().rank())] = error.message();
      }
    });
    return errors;
  }

  // Lines without their last four columns, which are times and speeds.
  static std::string metrics(const std::string& file) {
    std::ifstream in(file);
    std::string text, line;
    while (std::getline(in, line)) {
      for (int i = 0; i < 4 && !line.starts_with("##"); ++i) line.resize(line.rfind('\t'));
      text += line + "\n";
    }
    return text;
  }

  void expect_same_run(const std::string& got, const std::string& expected) const {
    for (const char* file : {"final/model.safetensors", "checkpoint-6/model.safetensors",
                             "checkpoint-6/optimizer.safetensors", "valid.tsv"}) {
      EXPECT_EQ(testing::read_text(path(got) + "/" + file), testing::read_text(path(expected) + "/" + file))
          << file << " of " << got;
    }
    EXPECT_EQ(metrics(path(got) + "/metrics.tsv"), metrics(path(expected) + "/metrics.tsv")) << got;
  }
  // On 1, 2 and 4 ranks.
  void expect_no_difference(const std::function<PretrainOptions(const std::string&)>& options) {
    pretrain(options("one"), *backend_);
    for (const int ranks : {1, 2, 4}) {
      const std::string name = "ranks-" + std::to_string(ranks);
      for (const std::string& error : run(ranks, options(name))) EXPECT_EQ(error, "");
      expect_same_run(name, "one");
    }
  }

  kernels::Precision precision_ = kernels::Precision::fp32;
};

TEST_F(TrainingOverRanks, LeavesTheBytesOfOneProcess) {
  expect_no_difference([&](const std::string& name) { return small(name); });
}

TEST_F(TrainingOverRanks, WithLayerDecayAveragesAndClippingToo) {
  expect_no_difference([&](const std::string& name) {
    PretrainOptions options = small(name);
    options.optimizer.variant = OptimizerVariant::torch;
    options.optimizer.layer_decay = 0.8;
    options.optimizer.freeze_positions = true;
    options.optimizer.clip_norm = 0.5;
    options.average_decay = 0.9;
    options.final_state = FinalState::best;
    return options;
  });
}

TEST_F(TrainingOverRanks, InBf16Too) {
  precision_ = kernels::Precision::bf16;
  backend_ = kernels::make_cpu_backend(precision_);
  expect_no_difference([&](const std::string& name) { return small(name); });
}

TEST_F(TrainingOverRanks, WithAdafactorToo) {
  expect_no_difference([&](const std::string& name) {
    PretrainOptions options = small(name);
    options.optimizer.variant = OptimizerVariant::adafactor;
    options.optimizer.clip_norm = 1.0;
    return options;
  });
}

TEST_F(TrainingOverRanks, WithLambToo) {
  expect_no_difference([&](const std::string& name) {
    PretrainOptions options = small(name);
    options.optimizer.variant = OptimizerVariant::lamb;
    options.optimizer.layer_decay = 0.8;
    options.optimizer.freeze_positions = true;
    options.optimizer.clip_norm = 0.5;
    return options;
  });
}

TEST_F(TrainingOverRanks, AStopOfAnyGoesOnWithAnotherNumber) {
  pretrain(small("one"), *backend_);
  PretrainOptions options = small("moved");
  stop_after(2);
  for (const std::string& error : run(4, options)) EXPECT_EQ(error, "stopped after step 2 of 6");
  run_on();
  options.start = RunStart::resume;
  stop_after(2);  // of this part
  for (const std::string& error : run(1, options)) EXPECT_EQ(error, "stopped after step 4 of 6");
  run_on();
  for (const std::string& error : run(2, options)) EXPECT_EQ(error, "");
  expect_same_run("moved", "one");
}

// A stop in the middle of a validation: it is made when the run goes on.
TEST_F(TrainingOverRanks, AValidationThatWasGivenUpIsMadeUpFor) {
  pretrain(small("one"), *backend_);
  PretrainOptions options = small("moved");
  // The progress of step 2 comes before its validation.
  stop_after(2);
  try {
    pretrain(options, *backend_);
    FAIL() << "was not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  EXPECT_FALSE(read_train_state(options.run + "/checkpoint-2").valid_loss.has_value());
  run_on();
  options.start = RunStart::resume;
  pretrain(options, *backend_);
  expect_same_run("moved", "one");
}

TEST_F(TrainingOverRanks, WhatIsNotFiniteIsFoundByAllAlike) {
  PretrainOptions options = small("diverges");
  options.steps = 200;
  options.learning_rate = 0.999;
  options.warmup = 0;
  options.schedule = ScheduleForm::huggingface;
  options.debug_nan = true;
  std::string alone;
  try {
    pretrain(options, *backend_);
    GTEST_SKIP() << "it did not diverge";
  } catch (const Error& error) {
    alone = error.message();
  }
  options.run = path("diverges-too");
  for (std::string error : run(2, options)) {
    if (const std::size_t at = error.find("diverges-too"); at != std::string::npos) error.erase(at + 8, 4);
    EXPECT_EQ(error, alone);
  }
}

TEST_F(TrainingOverRanks, SharesThatAreNotEqualAreRefused) {
  const auto refused = [&](int ranks, std::uint64_t batch, std::uint64_t accumulate) {
    PretrainOptions options = small("refused");
    options.batch = batch;
    options.accumulate = accumulate;
    for (const std::string& error : run(ranks, options))
      EXPECT_NE(error.find("do not make `batch`"), std::string::npos) << error;
    EXPECT_FALSE(std::filesystem::exists(options.run));
  };
  refused(3, 6, 3);
  refused(2, 9, 2);
  refused(2, 12, 6);
}

TEST_F(TrainingOverRanks, OtherOptionsOrDataAreNamed) {
  // Shards of the same counts with other tokens.
  for (const char* end : {".idx", ".json"})
    std::filesystem::copy_file(path("train") + end, path("other") + end);
  std::string ids = testing::read_text(path("train") + ".bin");
  for (std::size_t i = 0; i < ids.size(); i += 2) {
    if (ids[i] > 6) ids[i] = static_cast<char>(ids[i] - 1);
  }
  std::ofstream(path("other") + ".bin") << ids;
  std::vector<std::string> errors(2);
  const auto run_unlike = [&](const std::function<void(PretrainOptions&)>& change) {
    testing::run_team(2, [&](RankTeam& team) {
      const auto backend = kernels::make_cpu_backend();
      PretrainOptions own = small("unlike");
      own.team = &team;
      if (team.ranks().rank() == 1) change(own);
      try {
        pretrain(own, *backend);
      } catch (const ErrorOfAllRanks& error) {
        errors[static_cast<std::size_t>(team.ranks().rank())] = error.message();
      }
    });
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_FALSE(std::filesystem::exists(path("unlike")));
    return errors[0];
  };
  EXPECT_NE(run_unlike([](PretrainOptions& own) { own.learning_rate = 2e-3; }).find("`learning_rate`"),
            std::string::npos);
  EXPECT_NE(run_unlike([&](PretrainOptions& own) { own.train = path("other"); }).find("the data"),
            std::string::npos)
      << errors[0];
}

TEST_F(TrainingOverRanks, EvaluationIsThatOfOneProcess) {
  pretrain(small("one"), *backend_);
  const LoadedModel loaded = load_model(path("one") + "/final", HeadType::pretraining, 1);
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(path("tokenizer"));
  const TokenShards shards(path("valid"));
  const PretrainingBatches batches(shards, *tokenizer, loaded.config, {}, 128, 1);
  const auto evaluate = [&](kernels::Ranks& ranks) {
    const auto backend = kernels::make_cpu_backend();
    Model model(*backend, loaded.config, batches.limits(2), {});
    model.set_parameters(loaded.parameters);
    return evaluate_pretraining(model, batches, *tokenizer, {.batch = 2, .keep_scored = true}, ranks);
  };
  const EvaluationResult one = evaluate(kernels::this_process());
  ASSERT_GT(one.scored.size(), 10u);
  for (const int count : {2, 4}) {
    testing::run_ranks(count, [&](kernels::Ranks& ranks) {
      const EvaluationResult result = evaluate(ranks);
      EXPECT_EQ(result.sums.numbers(), one.sums.numbers());
      EXPECT_EQ(result.samples, one.samples);
      EXPECT_EQ(result.tokens, one.tokens);
      EXPECT_EQ(result.bases_covered, one.bases_covered);
      ASSERT_EQ(result.scored.size(), one.scored.size());
      for (std::size_t i = 0; i < one.scored.size(); ++i) {
        EXPECT_EQ(result.scored[i].left, one.scored[i].left);
        EXPECT_EQ(result.scored[i].label, one.scored[i].label);
      }
    });
  }
}

}  // namespace
}  // namespace bigbird
