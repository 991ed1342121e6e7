// Ranks that meet in a folder: what is sent arrives, who leaves is missed, and folders that were used are
// refused.
#include "kernels/ranks/ranks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "tests/ranks/ranks_error.h"

namespace bigbird::kernels {
namespace {

namespace fs = std::filesystem;

class FolderRanks : public ::testing::Test {
 protected:
  FolderRanks() : folder_(fs::temp_directory_path() / ("folder-ranks-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~FolderRanks() override { fs::remove_all(folder_); }

  std::unique_ptr<Ranks> make(int rank, int count, double patience = 20,
                              const std::string& start = {}) const {
    return make_folder_ranks(folder_.string(), {rank, count, start}, patience);
  }
  // Threads stand for processes; each has its own object.
  void run(int count, const std::function<void(Ranks&)>& body) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank) {
      threads.emplace_back([&, rank] { body(*make(rank, count)); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  fs::path folder_;
};

// The first line of what `work` throws; there is a hint too.
std::string error_line(const std::function<void()>& work) {
  const std::string text = testing::ranks_error_of(work);
  const std::size_t end = text.find('\n');
  EXPECT_LT(end + 1, text.size()) << text;
  return text.substr(0, end);
}

TEST_F(FolderRanks, WhatIsSentArrives) {
  run(4, [](Ranks& ranks) {
    EXPECT_EQ(ranks.count(), 4);
    EXPECT_EQ(ranks.count_on_machine(), 4);
    EXPECT_EQ(ranks.rank_on_machine(), ranks.rank());
    for (int round = 0; round < 20; ++round) {
      const auto own = static_cast<double>(ranks.rank() + 10 * round);
      EXPECT_EQ(gather_numbers(ranks, {&own, 1}),
                (std::vector<double>{10.0 * round, 10.0 * round + 1, 10.0 * round + 2, 10.0 * round + 3}));
      std::vector<int> to_each, from_each(4);
      for (int r = 0; r < 4; ++r) to_each.push_back(100 * ranks.rank() + r);
      ranks.exchange(to_each.data(), from_each.data(), sizeof(int));
      for (int r = 0; r < 4; ++r) EXPECT_EQ(from_each[static_cast<std::size_t>(r)], 100 * r + ranks.rank());
      int word = ranks.rank() == round % 4 ? round : -1;
      ranks.broadcast(&word, sizeof word, round % 4);
      EXPECT_EQ(word, round);
    }
    EXPECT_EQ(gather_texts(ranks, std::string(static_cast<std::size_t>(ranks.rank()), 'x')),
              (std::vector<std::string>{"", "x", "xx", "xxx"}));
  });
  EXPECT_FALSE(fs::exists(folder_)) << "nothing is left";
}

TEST_F(FolderRanks, WhoHasLeftIsMissed) {
  run(2, [](Ranks& ranks) {
    if (ranks.rank() == 1) return;
    const std::string message = error_line([&] {
      for (int i = 0; i < 2; ++i) gather_numbers(ranks, {});
    });
    EXPECT_EQ(message, "rank 1 has ended");
  });
}

// A process that is killed says nothing.
TEST_F(FolderRanks, WhoWasKilledIsMissedSoon) {
  const pid_t child = fork();
  if (child == 0) {
    const auto ranks = make(1, 2);
    pause();
    _exit(0);
  }
  const auto ranks = make(0, 2);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(error_line([&] { gather_numbers(*ranks, {}); }), "rank 1 has ended");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(FolderRanks, WhoDoesNotComeIsNamed) {
  const std::string message = error_line([&] { make(0, 2, 0.2); });
  EXPECT_EQ(message.rfind("rank 1 has not come for 0 s", 0), 0u) << message;
}

TEST_F(FolderRanks, AFolderThatWasUsedIsRefused) {
  fs::create_directories(folder_);
  {
    const auto left = error_line([&] { make(0, 2, 0.1); });
  }
  EXPECT_EQ(error_line([&] { make(0, 2, 0.1); }), folder_.string() + ": was used before");
  // A start that has a name has a folder of its own.
  const std::string message = error_line([&] { make(0, 2, 0.1, "job-1.0.0"); });
  EXPECT_EQ(message.rfind("rank 1 has not come", 0), 0u) << message;
}

TEST(ProcessNumber, IsWhatSrunOrTheEnvironmentSays) {
  const auto read = [](std::map<std::string, std::string> variables) {
    return read_process_number([variables = std::move(variables)](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  const ProcessNumber slurm = read({{"SLURM_PROCID", "3"},
                                    {"SLURM_STEP_NUM_TASKS", "4"},
                                    {"SLURM_JOB_ID", "17"},
                                    {"SLURM_STEP_ID", "2"},
                                    {"RANK", "0"},
                                    {"WORLD_SIZE", "9"}});
  EXPECT_EQ(slurm.rank, 3);
  EXPECT_EQ(slurm.count, 4);
  EXPECT_EQ(slurm.start, "job-17.2.0");
  const ProcessNumber plain = read({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(plain.rank, 1);
  EXPECT_EQ(plain.count, 2);
  EXPECT_EQ(plain.start, "");
  EXPECT_NE(error_line([&] { read({}); }).find("do not name the number of this process"), std::string::npos);
  EXPECT_NE(error_line([&] { read({{"RANK", "2"}, {"WORLD_SIZE", "2"}}); }).find("RANK"), std::string::npos);
}

}  // namespace
}  // namespace bigbird::kernels
