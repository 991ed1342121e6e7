// A fuzzer's seeds as a test of the suite: every seed is read; of its damaged copies some are, and some are
// refused.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/mutations.h"
#include "tests/support/support.h"

namespace bigbird::fuzz {

inline void short_run(const std::string& name, bool (*entry)(const std::uint8_t*, std::size_t),
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
    for (std::uint64_t index = 0; index < copies; ++index) ++(reads(mutated(bytes, index)) ? read : refused);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, static_cast<int>(copies) / 2);
}

}  // namespace bigbird::fuzz
