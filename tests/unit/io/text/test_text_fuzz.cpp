// Short fuzzing runs over the seeds of tests/fuzz: nothing but an Error may come out of damaged texts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/fuzz/entry_text.h"
#include "tests/fuzz/short_run.h"

namespace bigbird {
namespace {

bool json_library_accepts(const std::string& text, bool beyond_double) {
  try {
    return !nlohmann::json::parse(text).dump().empty();
  } catch (const nlohmann::json::out_of_range& error) {
    return beyond_double && error.id == 406;
  } catch (const nlohmann::json::parse_error&) {
    return false;
  }
}

bool json_entry(const std::uint8_t* data, std::size_t size) {
  return fuzz::json_records(data, size, json_library_accepts);
}

class TextFuzz : public ::testing::Test {
 protected:
  static void TearDownTestSuite() {
    for (const char* suffix : {".csv", ".json", ".jsonl", ".txt", ".xml"}) {
      std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + suffix);
    }
  }
};

TEST_F(TextFuzz, DamagedTablesAreReadOrRefused) {
  fuzz::short_run("delimited", fuzz::delimited, 200);
}

TEST_F(TextFuzz, DamagedJsonIsReadOrRefused) {
  fuzz::short_run("json_records", json_entry, 200);
}

TEST_F(TextFuzz, DamagedSummariesAreReadOrRefused) {
  fuzz::short_run("summaries", fuzz::summaries, 200);
}

TEST_F(TextFuzz, DamagedArticlesAreReadOrRefused) {
  fuzz::short_run("articles", fuzz::articles, 200);
}

// Plain text takes nearly everything: what must be refused is tested one by one (test_documents.cpp).
TEST_F(TextFuzz, DamagedDocumentsAreReadOrRefused) {
  for (const auto& file :
       std::filesystem::directory_iterator(testing::source_dir() / "tests/fuzz/seeds/documents")) {
    const std::string bytes = testing::read_text(file.path());
    EXPECT_TRUE(fuzz::documents(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()))
        << file.path();
    for (std::uint64_t index = 0; index < 200; ++index) {
      const std::string damaged = fuzz::mutated(bytes, index);
      fuzz::documents(reinterpret_cast<const std::uint8_t*>(damaged.data()), damaged.size());
    }
  }
}

}  // namespace
}  // namespace bigbird
