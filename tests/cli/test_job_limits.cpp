// What a verb takes from the environment of a Slurm job: threads, memory, and the end of its time, before
// which it stops by itself and goes on afterwards.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

class JobLimits : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_text_model(path("classes"));
    std::string rows = "text\n";
    for (unsigned i = 0; i < 20'000; ++i) rows += tiny_text(i) + "\n";
    write("many.csv", rows);
    write("one.csv", "text\n" + tiny_text(0) + "\n");
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  void end_in(int seconds) { set("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + seconds)); }
  static Words predict(const std::string& input, const Words& more) {
    return Words{"text", "classify", "predict", "-m", path("classes"), path(input), "-o", path("out.tsv")} +
           more;
  }
  static bool exists(const std::string& name) { return std::filesystem::exists(path(name)); }

 private:
  std::vector<std::string> set_;
};

TEST_F(JobLimits, ThreadsAndMemoryAreThoseOfTheJob) {
  EXPECT_FALSE(holds(must(predict("one.csv", {})).err, "Slurm"));
  set("SLURM_JOB_ID", "71");
  set("SLURM_CPUS_PER_TASK", "3");
  set("SLURM_MEM_PER_NODE", "2000");
  end_in(3600);
  const std::string said = must(predict("one.csv", {})).err;
  EXPECT_TRUE(holds(said, "Slurm job 71: 3 threads, 2.1 GB of memory, 1h00m left") ||
              holds(said, "Slurm job 71: 3 threads, 2.1 GB of memory, 59m5"))
      << said;
  EXPECT_TRUE(holds(said, ", 3 threads\n")) << said;
  EXPECT_TRUE(holds(must(predict("one.csv", {"-@", "2"})).err, ", 2 threads\n"));
  std::filesystem::remove(path("out.tsv"));
}

TEST_F(JobLimits, AVerbStopsBeforeTheEndAndGoesOnAfterwards) {
  set("SLURM_JOB_ID", "72");
  end_in(4);
  const Words words = predict("many.csv", {"--chunk-size", "1", "--resume", "auto"});
  const RunResult stopped = run_bigbird(words + Words{"--stop-before", "2s"});
  EXPECT_EQ(stopped.status, 143) << stopped.err;
  EXPECT_TRUE(holds(stopped.err, "bigbird: stopped before the end of the job (--stop-before)"))
      << stopped.err;
  EXPECT_FALSE(exists("out.tsv"));
  EXPECT_TRUE(exists("out.tsv.parts/chunk-00000000"));
  EXPECT_FALSE(exists("out.tsv.parts.lease"));
  // What was finished is there to go on from: of the texts' beginning, to be done sooner.
  end_in(3600);
  const std::string many = read_text(path("many.csv"));
  std::size_t end = 0;
  for (int line = 0; line < 100; ++line) end = many.find('\n', end) + 1;
  write("many.csv", many.substr(0, end));
  const RunResult resumed = must(words + Words{"--stop-before", "2m"});
  EXPECT_TRUE(holds(resumed.err, " of 99 records were finished by the run before")) << resumed.err;
  const std::string out = read_text(path("out.tsv"));
  must(predict("many.csv", {"--force"}));
  EXPECT_TRUE(read_text(path("out.tsv")) == out);
  std::filesystem::remove(path("out.tsv"));
}

TEST_F(JobLimits, WhatCannotBeKeptIsRefused) {
  refused(predict("one.csv", {"--stop-before", "2m"}), 2,
          "--stop-before 2m: the end of the job is not known");
  set("SLURM_JOB_ID", "73");
  refused(predict("one.csv", {"--stop-before", "2m"}), 2,
          "--stop-before 2m: the end of the job is not known");
  end_in(60);
  refused(predict("one.csv", {"--stop-before", "2m"}), 1, "Slurm job 73 ends in ");
  for (const char* text : {"", "m", "2x", "-1", "2 m", "9999d"}) {
    refused(predict("one.csv", {std::string("--stop-before=") + text + "?"}), 2, "no duration");
  }
  EXPECT_FALSE(exists("out.tsv"));
}

}  // namespace
}  // namespace bigbird::testing
