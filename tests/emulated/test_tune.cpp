// `bigbird devices --tune` and what runs do with its file, over the emulated device and its invented clock.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/emulated/emulated_program.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;

class Tuning : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "model");
    write_text(folder_ / "model/config.json",
               R"({"model_type": "big_bird", "architectures": ["BigBirdForMaskedLM"], "hidden_size": 64,
                   "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 96, "vocab_size": 40,
                   "max_position_embeddings": 64, "type_vocab_size": 2, "block_size": 16,
                   "num_random_blocks": 1, "attention_type": "original_full"})");
  }
  RunResult run(const std::vector<std::string>& arguments, const std::string& device = "fake_clock=1") {
    return run_emulated(device, arguments, {"XDG_CACHE_HOME=" + (folder_ / "cache").string()});
  }
  RunResult tune(const std::string& tokens) {
    return run({"devices", "--tune", "--device", "cuda:0", "-m", (folder_ / "model").string(), "--tokens",
                tokens, "--precision", "fp32"});
  }
  std::string table() const {
    return (folder_ / "cache/bigbird/products-emulated-device-plain-loops.tsv").string();
  }

  TemporaryFolder folder_;
};

TEST_F(Tuning, WritesATableThatTheNextRunReads) {
  const RunResult tuned = tune("128");
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_EQ(tuned.out, read_text(table()));
  EXPECT_TRUE(contains(tuned.err, "written to " + table())) << tuned.err;
  EXPECT_TRUE(contains(tuned.out, "##device=emulated device\n##library=plain loops\n")) << tuned.out;
  EXPECT_TRUE(contains(tuned.out, "fp32\tfp32\tTN\t0\tnone\t192\t64\t128\tsplits=2\t")) << tuned.out;
  // Other sizes are added, and the same measurement again changes nothing.
  ASSERT_EQ(tune("128").status, 0);
  EXPECT_EQ(tuned.out, read_text(table()));
  const RunResult more = tune("64");
  ASSERT_EQ(more.status, 0) << more.err;
  const std::string both = read_text(table());
  EXPECT_TRUE(contains(both, "\t192\t64\t128\t")) << both;
  EXPECT_TRUE(contains(both, "\t192\t64\t64\t")) << both;
}

TEST_F(Tuning, ABrokenTableEndsARunInOneLineAndIsMadeAnew) {
  ASSERT_EQ(tune("64").status, 0);
  const std::string whole = read_text(table());
  write_text(table(), whole.substr(0, whole.size() - 5));
  const RunResult broken = run({"bench", "--device", "cuda"});
  EXPECT_EQ(broken.status, 1) << broken.err;
  EXPECT_TRUE(contains(broken.err, table() + ": line ")) << broken.err;
  EXPECT_TRUE(contains(broken.err, "the file is cut short")) << broken.err;
  EXPECT_TRUE(contains(broken.err, "hint: `bigbird devices --tune` measures it again")) << broken.err;
  EXPECT_EQ(run({"devices"}).status, 0) << "it lists what there is all the same";
  const RunResult again = tune("64");
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_text(table()), whole);
}

TEST_F(Tuning, WithoutADeviceSaysSo) {
  const RunResult none = run({"devices", "--tune"}, "compute_capability=80 architectures=90-real");
  EXPECT_EQ(none.status, 3) << none.err;
  EXPECT_TRUE(contains(none.err, "--tune: cuda:0 (emulated device) has compute capability 8.0")) << none.err;
  EXPECT_EQ(run({"devices", "--tokens", "64"}).status, 2) << "an option of --tune";
}

}  // namespace
}  // namespace bigbird::testing
