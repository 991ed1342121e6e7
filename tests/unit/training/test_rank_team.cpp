// Ranks that were started unlike one another, or of which some cannot go on: all of them say the same.
#include "lib/training/rank_team.h"

#include <gtest/gtest.h>

#include "tests/unit/io/expect_error.h"
#include "tests/unit/training/thread_team.h"

namespace bigbird {
namespace {

using Facts = std::map<std::string, std::string>;

// What every rank of the team must throw.
void expect_of_all(RankTeam& team, ErrorKind kind, const std::string& message,
                   const std::function<void()>& work) {
  try {
    work();
    ADD_FAILURE() << "rank " << team.ranks().rank() << " threw nothing";
  } catch (const ErrorOfAllRanks& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.message(), message);
  }
  EXPECT_FALSE(team.in_step());
}

TEST(RankTeam, EqualFactsAreNoError) {
  testing::run_team(4, [](RankTeam& team) {
    EXPECT_FALSE(team.in_step());
    EXPECT_NO_THROW(team.enter({{"program", "abc"}, {"seed", "1"}}));
    EXPECT_TRUE(team.in_step());
    EXPECT_NO_THROW(team.agree({{"weights", "1"}}));
    team.leave();
    EXPECT_FALSE(team.in_step());
  });
  RankTeam alone(kernels::make_self_ranks());
  EXPECT_NO_THROW(alone.enter({}));
}

TEST(RankTeam, EveryRankNamesTheFirstThatDiffersAndTheFact) {
  testing::run_team(4, [](RankTeam& team) {
    const std::string rate = team.ranks().rank() >= 2 ? "0.001" : "0.0001";
    const std::string message = "rank 2 has '0.001' for learning_rate, rank 0 has '0.0001'";
    const Facts facts = {{"learning_rate", rate}, {"seed", "1"}};
    expect_of_all(team, ErrorKind::usage, message, [&] { team.enter(facts); });
    team.enter({});
    expect_of_all(team, ErrorKind::usage, message, [&] { team.agree(facts); });
  });
}

TEST(RankTeam, AFactThatOneRankAloneHasIsADifference) {
  testing::run_team(2, [](RankTeam& team) {
    Facts facts = {{"seed", "1"}};
    if (team.ranks().rank() == 1) facts["average"] = "0.99";
    expect_of_all(team, ErrorKind::usage, "rank 1 has '0.99' for average, rank 0 has nothing",
                  [&] { team.enter(facts); });
  });
}

TEST(RankTeam, ARankThatCannotGoOnEndsAllWithItsError) {
  testing::run_team(4, [](RankTeam& team) {
    const int rank = team.ranks().rank();
    expect_of_all(team, ErrorKind::bad_input, "rank 1: train.bin: cannot be opened", [&] {
      if (rank == 1) team.fail(Error(ErrorKind::bad_input, "train.bin: cannot be opened"));
      if (rank == 3) team.fail(Error(ErrorKind::runtime, "another"));
      team.enter({});
    });
  });
}

TEST(RankTeam, WhatAllRanksMeetIsNoRanksOwn) {
  testing::run_team(3, [](RankTeam& team) {
    expect_of_all(team, ErrorKind::bad_input, "x: missing",
                  [&] { team.fail(Error(ErrorKind::bad_input, "x: missing", "give it")); });
    expect_of_all(team, ErrorKind::interrupted, "stopped",
                  [&] { throw_on_all_ranks(&team, Error(ErrorKind::interrupted, "stopped")); });
  });
  EXPECT_THROW(throw_on_all_ranks(nullptr, Error(ErrorKind::runtime, "alone")), Error);
}

}  // namespace
}  // namespace bigbird
