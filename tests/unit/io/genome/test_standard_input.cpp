// Readers of the standard input that ends because the program was told to stop: that is no end of the data,
// and no damaged file.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/vcf.h"
#include "tests/support/standard_input.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::PipedInput;

void read_variants() {
  VcfReader reader("-");
  for (VcfRecord record; reader.next(record);) {
  }
}

void read_variants_and_stop_among_them() {
  clear_cancel();
  VcfReader reader("-");
  request_cancel(SIGTERM);
  for (VcfRecord record; reader.next(record);) {
  }
}

void read_lines() {
  LineReader reader("-");
  for (std::string_view line; reader.next(line);) {
  }
}

TEST(StandardInput, ThatEndsForAStopIsNeitherTheEndNorDamage) {
  const auto seed = [](const char* name) {
    return testing::read_text(testing::source_dir() / "tests/fuzz/seeds" / name);
  };
  const std::string vcf = seed("vcf/header.vcf"), bcf = seed("bcf/two_records.bcf");
  struct Case {
    const char* name;
    std::string bytes;
    std::function<void()> read;
  };
  std::vector<Case> cases{{"whole file", "text", [] { read_file("-"); }}};
  for (const std::size_t kept : {std::size_t{0}, std::size_t{3}}) {
    cases.push_back({"lines", std::string("a\nb\nc").substr(0, kept), read_lines});
  }
  for (const std::size_t kept : {std::size_t{0}, vcf.size() / 2, vcf.size() - 5, vcf.size()}) {
    cases.push_back({"VCF", vcf.substr(0, kept), read_variants});
  }
  for (const std::size_t kept : {std::size_t{20}, bcf.size() - 5, bcf.size()}) {
    cases.push_back({"BCF", bcf.substr(0, kept), read_variants});
  }
  for (const std::string& bytes : {vcf, vcf.substr(0, vcf.size() - 5), bcf, bcf.substr(0, bcf.size() - 5)}) {
    cases.push_back({"among the records", bytes, read_variants_and_stop_among_them});
  }
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.name) + ", " + std::to_string(each.bytes.size()) + " bytes");
    const PipedInput input(each.bytes);
    request_cancel(SIGTERM);
    const auto error = error_of(each.read);
    clear_cancel();
    ASSERT_TRUE(error.has_value()) << "taken for the end";
    EXPECT_EQ(error->kind(), ErrorKind::interrupted) << error->message();
  }
}

TEST(StandardInput, WithoutAStopIsReadToItsEnd) {
  const PipedInput input("a\nb\nc");
  EXPECT_FALSE(error_of(read_lines).has_value());
}

}  // namespace
}  // namespace bigbird
