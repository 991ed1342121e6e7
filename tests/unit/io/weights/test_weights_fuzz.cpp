// Short fuzzing runs over the seeds of tests/fuzz: nothing but an Error may come out of damaged weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/entry_weights.h"
#include "tests/fuzz/mutations.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

// Every seed is read; of its damaged copies some are, and some are refused.
void short_run(const std::string& name, bool (*entry)(const std::uint8_t*, std::size_t),
               std::uint64_t copies) {
  const auto reads = [&](const std::string& bytes) {
    return entry(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  };
  std::vector<std::filesystem::path> seeds;
  for (const auto& file :
       std::filesystem::directory_iterator(testing::source_dir() / "tests/fuzz/seeds" / name)) {
    seeds.push_back(file.path());
  }
  std::sort(seeds.begin(), seeds.end());
  ASSERT_GE(seeds.size(), 2u);
  int read = 0, refused = 0;
  for (const auto& seed : seeds) {
    const std::string bytes = testing::read_text(seed);
    EXPECT_TRUE(reads(bytes)) << seed;
    for (std::uint64_t index = 0; index < copies; ++index)
      ++(reads(fuzz::mutated(bytes, index)) ? read : refused);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, static_cast<int>(copies) / 2);
}

class WeightsFuzz : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { std::filesystem::remove_all(fuzz::weights_folder()); }
};

TEST_F(WeightsFuzz, DamagedSafetensorsAreReadOrRefused) {
  short_run("safetensors", fuzz::safetensors, 1000);
}

TEST_F(WeightsFuzz, DamagedTorchFilesAreReadOrRefused) {
  short_run("torch_file", fuzz::torch_file, 1000);
}

TEST_F(WeightsFuzz, DamagedPicklesAreReadOrRefused) {
  short_run("torch_pickle", fuzz::torch_pickle, 5000);
}

TEST_F(WeightsFuzz, DamagedIndexesAreReadOrRefused) {
  short_run("weight_index", fuzz::weight_index, 1000);
}

}  // namespace
}  // namespace bigbird
