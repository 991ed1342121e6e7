// A short fuzzing run over the seeds of tests/fuzz: nothing but an Error may come out of a damaged file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/entry_tokenizer_json.h"
#include "tests/fuzz/mutations.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

bool reads(const std::string& bytes) {
  return fuzz::tokenizer_json(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

TEST(TokenizerJsonFuzz, DamagedFilesAreReadOrRefusedButNeverWorse) {
  const auto folder = testing::source_dir() / "tests" / "fuzz" / "seeds" / "tokenizer_json";
  std::vector<std::filesystem::path> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) seeds.push_back(entry.path());
  std::sort(seeds.begin(), seeds.end());
  ASSERT_GE(seeds.size(), 4u);
  int read = 0, refused = 0;
  for (const auto& seed : seeds) {
    const std::string bytes = testing::read_text(seed);
    EXPECT_EQ(reads(bytes), seed.filename() != "nested.json") << seed;
    for (std::uint64_t index = 0; index < 1500; ++index)
      ++(reads(fuzz::mutated(bytes, index)) ? read : refused);
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

TEST(TokenizerJsonFuzz, TheCorpusIsReadOrRefused) {
  int read = 0, refused = 0;
  for (const std::string& bytes : fuzz::read_corpus("tokenizer_json")) ++(reads(bytes) ? read : refused);
  EXPECT_GT(read, 10);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace bigbird
