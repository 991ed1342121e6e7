// Ranks that were started unlike one another: all of them say which, and how.
#include "lib/training/rank_agreement.h"

#include <gtest/gtest.h>

#include "tests/ranks/thread_ranks.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

TEST(RankAgreement, EqualFactsAreNoError) {
  testing::run_ranks(4, [](kernels::Ranks& ranks) {
    EXPECT_NO_THROW(require_agreement(ranks, {{"program", "abc"}, {"seed", "1"}}));
  });
  const auto alone = kernels::make_self_ranks();
  EXPECT_NO_THROW(require_agreement(*alone, {}));
}

TEST(RankAgreement, EveryRankNamesTheFirstThatDiffersAndTheFact) {
  testing::run_ranks(4, [](kernels::Ranks& ranks) {
    const std::string rate = ranks.rank() >= 2 ? "0.001" : "0.0001";
    const auto error = testing::error_of([&] {
      require_agreement(ranks, {{"learning_rate", rate}, {"seed", "1"}});
    });
    testing::expect_message(error, "rank 2 has '0.001' for learning_rate", "rank 0 has '0.0001'");
  });
}

TEST(RankAgreement, AFactThatOneRankAloneHasIsADifference) {
  testing::run_ranks(2, [](kernels::Ranks& ranks) {
    std::map<std::string, std::string> facts = {{"seed", "1"}};
    if (ranks.rank() == 1) facts["average"] = "0.99";
    const auto error = testing::error_of([&] { require_agreement(ranks, facts); });
    testing::expect_message(error, "rank 1 has '0.99' for average", "rank 0 has nothing");
  });
}

}  // namespace
}  // namespace bigbird
