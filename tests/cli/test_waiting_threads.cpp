// Threads that wait sleep, unless the user has said otherwise: the program starts itself again with that in
// its environment, before it reads anything.
#include <sched.h>

#include <map>

#include "tests/cli/running_program.h"

namespace bigbird::testing {
namespace {

// Variables of the environment for the time of a test; empty: not set.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      const char* before = std::getenv(name.c_str());
      if (before != nullptr) before_[name] = before;
      names_.push_back(name);
      if (value.empty()) {
        unsetenv(name.c_str());
      } else {
        setenv(name.c_str(), value.c_str(), 1);
      }
    }
  }
  ~Environment() {
    for (const std::string& name : names_) {
      if (before_.count(name) != 0) {
        setenv(name.c_str(), before_[name].c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> before_;
};

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// OMP_WAIT_POLICY that the program was started with, at the last start, when it has come to read its input;
// "none" where it is not set.
std::string policy_of(const std::map<std::string, std::string>& variables,
                      const std::vector<std::string>& more = {}) {
  std::map<std::string, std::string> all = {
      {"OMP_WAIT_POLICY", ""}, {"GOMP_SPINCOUNT", ""}, {"KMP_BLOCKTIME", ""}, {"BIGBIRD_THREADS", ""}};
  for (const auto& [name, value] : variables) all[name] = value;
  const Environment environment(all);
  const TemporaryFolder folder;
  std::vector<std::string> words = {"variants", "evaluate", "-"};
  words.insert(words.end(), more.begin(), more.end());
  Running program(words, (folder / "errors").string());
  program.give("chrom\tpos\tref\talt\tours\ttheirs");  // it waits for the end of the line
  EXPECT_TRUE(program.wait_until([&] { return program.unread_input() == 0; })) << program.error();
  const std::string binary = bigbird_binary();
  EXPECT_EQ(program.proc("comm"), binary.substr(binary.rfind('/') + 1).substr(0, 15) + "\n");
  const std::string name = std::string(1, '\0') + "OMP_WAIT_POLICY=",
                    text = std::string(1, '\0') + program.proc("environ");
  const std::size_t at = text.find(name);
  return at == std::string::npos ? "none" : text.substr(at + name.size()).c_str();
}

class WaitingThreads : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(BIGBIRD_STD_THREADS)
    GTEST_SKIP() << "this build's threads are none of OpenMP";
#endif
    if (processors() == 1) GTEST_SKIP() << "one processor: no thread waits";
  }
};

TEST_F(WaitingThreads, SleepWhereNothingIsSaid) {
  EXPECT_EQ(policy_of({}), "passive");
  EXPECT_EQ(policy_of({{"BIGBIRD_THREADS", "2"}}), "passive");
}

TEST_F(WaitingThreads, WaitAsTheUserSays) {
  EXPECT_EQ(policy_of({{"OMP_WAIT_POLICY", "active"}}), "active");
  EXPECT_EQ(policy_of({{"GOMP_SPINCOUNT", "1000"}}), "none");
  EXPECT_EQ(policy_of({{"KMP_BLOCKTIME", "1"}}), "none");
}

TEST_F(WaitingThreads, OfOneThreadNothingIsChanged) {
  EXPECT_EQ(policy_of({{"BIGBIRD_THREADS", "1"}}), "none");
}

// What was typed comes through as it was, and so does the standard input.
TEST_F(WaitingThreads, WordsAndInputAreThoseOfTheFirstStart) {
  const Environment environment({{"OMP_WAIT_POLICY", ""}, {"GOMP_SPINCOUNT", ""}, {"KMP_BLOCKTIME", ""}});
  const RunResult result =
      run_bigbird({"variants", "evaluate", "-", "--score", "ours", "--labels", "nowhere '\"$x\" y"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("nowhere '\"$x\" y"), std::string::npos) << result.err;
  const RunResult typo = run_bigbird({"variants", "evaluate", "--scoer"});
  EXPECT_EQ(typo.status, 2);
}

}  // namespace
}  // namespace bigbird::testing
