// Verbs in a process whose memory is limited (ulimit -v, ulimit -d): plans know the limit, and what does not
// fit ends with status 3 and a line that names it.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/variants_fixture.h"
#include "tests/cli/words.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {
namespace {

class MemoryLimits : public VariantsFixture {
 protected:
  void SetUp() override {
    if (under_sanitizer) GTEST_SKIP() << "sanitizers take address space of their own";
  }
  // `limit`: "-v 1000000", in KiB.
  static RunResult run_under(const std::string& limit, const Words& words) {
    return run_program(Words{"bash", "-c", "ulimit " + limit + "; exec \"$@\"", "bash", bigbird_binary()} +
                       words);
  }
  static void names_the_limit(const std::string& limit, const Words& words) {
    const RunResult run = run_under(limit, words);
    EXPECT_EQ(run.status, 3) << run.err;
    EXPECT_TRUE(holds(run.err, "error: this run needs ")) << run.err;
    EXPECT_TRUE(holds(run.err, " MiB (ulimit " + limit + "), passed by ")) << run.err;
    EXPECT_TRUE(holds(run.err, ", or raise the limit of the process\n")) << run.err;
  }
  static Words scoring(const Words& more) {
    return Words{"variants", "-m", path("model"), "-f", path("genome.fa"), path("in.vcf"), "-@", "1"} + more;
  }
};

TEST_F(MemoryLimits, AScoringVerbPlansWithThem) {
  const RunResult run = run_under("-v 1000000", scoring({"-o", path("fits.vcf")}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(holds(run.err, "(ulimit -v 1000000)\n")) << run.err;  // in the line of the plan
  names_the_limit("-v 1000000", scoring({"-o", path("v.vcf"), "--batch-tokens", "20000000"}));
  names_the_limit("-d 900000", scoring({"-o", path("d.vcf"), "--batch-tokens", "20000000"}));
}

TEST_F(MemoryLimits, PretrainingPlansWithThem) {
  write_tiny_tokenizer(path("tokenizer"));
  write_tiny_shards(path("train"), path("tokenizer"));
  names_the_limit("-v 1000000", {"pretrain",
                                 "--train",
                                 path("train"),
                                 "-m",
                                 path("tokenizer"),
                                 "-o",
                                 path("run"),
                                 "--layers",
                                 "1",
                                 "--width",
                                 "32",
                                 "--heads",
                                 "2",
                                 "--length",
                                 "64",
                                 "--block-size",
                                 "16",
                                 "--random-mode",
                                 "hf-train",
                                 "--batch",
                                 "20000",
                                 "--accumulate",
                                 "1",
                                 "--steps",
                                 "1",
                                 "-@",
                                 "1"});
}

// 8 GiB that take no place on the disk.
TEST_F(MemoryLimits, WeightsThatCannotBeMappedAreNoUnreadableFile) {
  const std::string weights = path("large.safetensors");
  std::ofstream file(weights, std::ios::binary);
  std::string head = R"({"w":{"dtype":"F32","shape":[2147483648],"data_offsets":[0,8589934592]}})";
  head.resize(80, ' ');
  file.write("\x50\0\0\0\0\0\0\0", 8) << head;
  file.close();
  std::filesystem::resize_file(weights, 88 + (std::uintmax_t{8} << 30));
  const RunResult run = run_under("-v 1000000", {"info", weights});
  EXPECT_EQ(run.status, 3) << run.err;
  EXPECT_TRUE(holds(run.err, weights + ": cannot read: Cannot allocate memory\nhint: raise the limit of the "
                                       "process (ulimit -v 1000000)"))
      << run.err;
}

}  // namespace
}  // namespace bigbird::testing
