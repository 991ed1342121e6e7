// A short fuzzing run over the seeds of tests/fuzz: nothing but an Error may come out of a damaged file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fuzz/entry_vcf.h"
#include "tests/fuzz/mutations.h"
#include "tests/fuzz/short_run.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

TEST(VcfFuzz, DamagedTextIsReadOrRefused) {
  const auto reads = [](const std::string& bytes, bool again) {
    return fuzz::vcf(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), again);
  };
  int read = 0;
  int refused = 0;
  for (const char* name : {"header.vcf", "table.tsv"}) {
    const std::string bytes = testing::read_text(testing::source_dir() / "tests/fuzz/seeds/vcf" / name);
    EXPECT_TRUE(reads(bytes, true)) << name;
    for (std::uint64_t index = 0; index < 400; ++index)
      ++(reads(fuzz::mutated(bytes, index), index % 200 == 0) ? read : refused);
  }
  std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + ".vcf");
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

TEST(VcfFuzz, DamagedBcfIsReadOrRefused) {
  // Damage can ask for gigabytes, which htslib tries to get; ASan writes down each of them.
  fuzz::short_run("bcf", fuzz::bcf, testing::under_sanitizer ? 50 : 500);
  std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + ".bcf");
}

}  // namespace
}  // namespace bigbird
