// A training run on the emulated device, from the command line: what it says of refused products, of the
// driver's memory and of a table of products, and that none of them but the table changes a number.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/emulated/emulated_program.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {
namespace {

class EmulatedRun : public ::testing::Test {
 protected:
  EmulatedRun() {
    write_tiny_tokenizer(folder_ / "tokenizer");
    write_tiny_shards(path("train"), folder_ / "tokenizer");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  RunResult bigbird(const std::vector<std::string>& arguments, const std::string& device) const {
    std::vector<std::string> environment{"XDG_CACHE_HOME=" + path("cache")};
    if (!table_.empty()) environment.push_back("BIGBIRD_PRODUCT_TABLE=" + table_);
    return run_emulated(device, arguments, environment);
  }
  RunResult pretrain(const std::string& run, const std::string& device,
                     const std::vector<std::string>& more = {}) const {
    std::istringstream fixed(
        "--layers 1 --width 64 --heads 2 --length 64 --block-size 16 --random-blocks 1 --random-mode hf-train "
        "--batch 1 --steps 4 --save-every 4 --warmup 0 --precision fp32 --device cuda -@ 1");
    std::vector<std::string> words = {"pretrain",        "--train", path("train"), "-m",
                                      path("tokenizer"), "-o",      path(run)};
    words.insert(words.end(), std::istream_iterator<std::string>(fixed), {});
    words.insert(words.end(), more.begin(), more.end());
    return bigbird(words, device);
  }
  std::string weights(const std::string& run) const {
    return read_text(folder_ / run / "final/model.safetensors");
  }

  TemporaryFolder folder_;
  std::string table_;  // what BIGBIRD_PRODUCT_TABLE says
};

TEST_F(EmulatedRun, PlansTheDriversMemoryAndRunsWithoutGraphsWhereTheyHaveTakenIt) {
  const RunResult graphs = pretrain("graphs", "", {"-v"});
  ASSERT_EQ(graphs.status, 0) << graphs.err;
  EXPECT_TRUE(contains(graphs.err, "driver, modules, graphs")) << graphs.err;
  EXPECT_FALSE(contains(graphs.err, "CUDA graphs hold")) << graphs.err;
  EXPECT_FALSE(contains(graphs.err, "cuBLASLt refused")) << graphs.err;
  // The first graph passes what there is for all.
  const RunResult bounded = pretrain("bounded", "graph_bytes=3000000 graph_allowance=2000000");
  ASSERT_EQ(bounded.status, 0) << bounded.err;
  EXPECT_TRUE(contains(bounded.err, "CUDA graphs hold 2 MiB, and 1 MiB were planned for them"))
      << bounded.err;
  EXPECT_EQ(weights("bounded"), weights("graphs"));
}

TEST_F(EmulatedRun, CountsRefusedProductsInItsLastLine) {
  const RunResult refused = pretrain("refused", "refused_depth=64");
  ASSERT_EQ(refused.status, 0) << refused.err;
  const std::size_t line = refused.err.rfind("[pretrain] bigbird ");
  ASSERT_NE(line, std::string::npos) << refused.err;
  const std::string last = refused.err.substr(line);
  EXPECT_TRUE(contains(last, ", cuBLASLt refused ")) << last;
  EXPECT_TRUE(contains(last, " shapes")) << last;
  EXPECT_TRUE(contains(refused.err, "cuBLASLt offers no product of 64 x 192 x 64 (fp32)")) << refused.err;
}

TEST_F(EmulatedRun, TakesTheTableOfProductsAndKeepsItsDigest) {
  ASSERT_EQ(pretrain("before", "fake_clock=1").status, 0);
  const RunResult tuned =
      bigbird({"devices", "--tune", "-m", path("before/final"), "--tokens", "64", "--precision", "fp32"},
              "fake_clock=1");
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_TRUE(contains(tuned.out, "\tsplits=2\t")) << tuned.out;
  const auto state = [&](const std::string& run) {
    return nlohmann::json::parse(read_text(folder_ / run / "checkpoint-4/trainer_state.json"));
  };
  const RunResult after = pretrain("after", "");
  ASSERT_EQ(after.status, 0) << after.err;
  EXPECT_TRUE(contains(after.err, ", plain loops, table of products ")) << after.err;
  EXPECT_FALSE(state("before").contains("product_table"));
  const std::string digest = state("after").at("product_table");
  EXPECT_TRUE(contains(after.err, "table of products " + digest)) << after.err;
  EXPECT_NE(weights("after"), weights("before")) << "sums in two parts";
  ASSERT_EQ(pretrain("again", "").status, 0);
  EXPECT_EQ(weights("again"), weights("after"));
  table_ = "none";
  const RunResult none = pretrain("none", "");
  EXPECT_FALSE(contains(none.err, "table of products")) << none.err;
  EXPECT_EQ(weights("none"), weights("before"));
  // A table of another device, named.
  table_ = path("other.tsv");
  std::string other = tuned.out;
  other.replace(other.find("emulated device"), 15, "another device");
  write_text(table_, other);
  const RunResult elsewhere = pretrain("elsewhere", "");
  EXPECT_TRUE(contains(elsewhere.err,
                       "other.tsv: measured on another device with plain loops, not on emulated "
                       "device with plain loops: cuBLASLt chooses"))
      << elsewhere.err;
  EXPECT_EQ(weights("elsewhere"), weights("before"));
}

}  // namespace
}  // namespace bigbird::testing
