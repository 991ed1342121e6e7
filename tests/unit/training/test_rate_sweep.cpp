// Several learning rates: which one is kept, what is left of each, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/training/rate_sweep.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

struct Trained {
  std::string run;
  double rate = 0;
  RunStart start = RunStart::fresh;
};

class RateSweep : public ::testing::Test {
 protected:
  RateSweep() {
    options_ = finetuning_defaults();
    options_.run = run_;
    options_.learning_rate = 0.5;
    options_.rate_choices = {1e-4, 3e-4, 1e-3};
  }

  // A training that leaves its rate in RUN/final, and these validation losses.
  std::function<TrainingSummary()> training(std::map<double, double> losses) {
    return [this, losses] {
      trained_.push_back({options_.run, options_.learning_rate, options_.start});
      std::filesystem::create_directories(options_.run + "/final");
      write_text(options_.run + "/final/weights", std::to_string(options_.learning_rate));
      TrainingSummary summary;
      summary.steps = 10;
      summary.tokens = 100;
      summary.final_step = 7;
      summary.final_valid_loss = losses.at(options_.learning_rate);
      return summary;
    };
  }

  const TemporaryFolder folder_;
  const std::string run_ = (folder_ / "run").string();
  RunOptions options_;
  std::vector<Trained> trained_;
};

TEST_F(RateSweep, KeepsTheRateOfLowestValidationLoss) {
  const TrainingSummary summary =
      sweep_learning_rates(options_, training({{1e-4, 0.7}, {3e-4, 0.25}, {1e-3, 0.5}}));
  ASSERT_EQ(trained_.size(), 3u);
  EXPECT_EQ(trained_[0].run, run_ + "/lr-0.0001");
  EXPECT_EQ(trained_[2].run, run_ + "/lr-0.001");
  EXPECT_EQ(trained_[1].rate, 3e-4);
  EXPECT_EQ(read_text(run_ + "/final/weights"), std::to_string(3e-4));
  EXPECT_EQ(read_text(run_ + "/rates.tsv"),
            "rate\tbest_step\tvalid_loss\tchosen\n0.0001\t7\t0.7\t0\n0.0003\t7\t0.25\t1\n0.001\t7\t0.5\t0\n");
  EXPECT_EQ(summary.final_valid_loss, 0.25);
  EXPECT_EQ(summary.tokens, 300u) << "of all three";
  EXPECT_EQ(options_.run, run_) << "given back";
  EXPECT_EQ(options_.learning_rate, 0.5);
}

TEST_F(RateSweep, OfEqualLossesTheFirstWins) {
  sweep_learning_rates(options_, training({{1e-4, 0.3}, {3e-4, 0.2}, {1e-3, 0.2}}));
  EXPECT_EQ(read_text(run_ + "/final/weights"), std::to_string(3e-4));
}

TEST_F(RateSweep, OneRateIsARunOfItsOwn) {
  options_.rate_choices = {};
  sweep_learning_rates(options_, training({{0.5, 0.3}}));
  options_.rate_choices = {1e-3};
  sweep_learning_rates(options_, training({{1e-3, 0.3}}));
  ASSERT_EQ(trained_.size(), 2u);
  EXPECT_EQ(trained_[0].run, run_);
  EXPECT_EQ(trained_[1].run, run_);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/rates.tsv"));
}

TEST_F(RateSweep, AFolderThatHoldsARunIsRefusedBeforeAnythingIsTrained) {
  const auto losses = training({{1e-4, 0.7}, {3e-4, 0.25}, {1e-3, 0.5}});
  sweep_learning_rates(options_, losses);
  trained_.clear();
  EXPECT_THROW(sweep_learning_rates(options_, losses), Error);
  EXPECT_TRUE(trained_.empty());
  options_.start = RunStart::resume;
  sweep_learning_rates(options_, losses);
  EXPECT_EQ(trained_.size(), 3u) << "each run sees for itself what is left to do";
  write_text(run_ + "/notes.txt", "x");
  std::filesystem::create_directories(run_ + "/lr-0.5");
  options_.start = RunStart::overwrite;
  sweep_learning_rates(options_, losses);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/lr-0.5")) << "of an earlier choice";
  EXPECT_TRUE(std::filesystem::exists(run_ + "/notes.txt"));
}

TEST_F(RateSweep, HoldsItsFolderUntilTheLastRateIsTrained) {
  const auto train = training({{1e-4, 0.7}, {3e-4, 0.25}, {1e-3, 0.5}});
  sweep_learning_rates(options_, [&] {
    for (const RunStart start : {RunStart::resume, RunStart::overwrite}) {
      try {
        const RunFolder second(run_, start);
        ADD_FAILURE() << "after " << trained_.size();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::runtime) << error.message();
      }
    }
    return train();
  });
  EXPECT_EQ(trained_.size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/run.lease"));
}

TEST_F(RateSweep, RatesThatCannotBeAreRefusedBeforeTheFirstIsTrained) {
  for (const auto& rates : std::vector<std::vector<double>>{{1e-4, 2}, {1e-4, 0}, {1e-4, 3e-4, 1e-4}}) {
    options_.rate_choices = rates;
    EXPECT_THROW(sweep_learning_rates(options_, training({{1e-4, 0.7}})), Error);
  }
  options_.rate_choices = {1e-4, 1e-3};
  options_.final_state = FinalState::last;
  EXPECT_THROW(sweep_learning_rates(options_, training({{1e-4, 0.7}})), Error);
  EXPECT_TRUE(trained_.empty());
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_F(RateSweep, AStopLeavesNoFinal) {
  const auto train = training({{1e-4, 0.7}});
  EXPECT_THROW(sweep_learning_rates(options_,
                                    [&] {
                                      if (!trained_.empty())
                                        throw Error(ErrorKind::interrupted, "stopped", "");
                                      return train();
                                    }),
               Error);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/final"));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/lr-0.0001/final"));
  EXPECT_EQ(options_.run, run_);
}

}  // namespace
}  // namespace bigbird
