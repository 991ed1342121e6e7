// bigbird simulate as a user runs it.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      files[std::filesystem::relative(entry.path(), folder).string()] = read_text(entry.path());
  }
  return files;
}

TEST(SimulateCommand, GivesTheSameBytesForAnyNumberOfThreadsAndFolder) {
  const TemporaryFolder folder;
  const auto one = run_bigbird({"simulate", "-o", (folder / "one").string(), "--bp", "600K", "-@", "1"});
  ASSERT_EQ(one.status, 0) << one.err;
  const auto two = run_bigbird({"simulate", "-o", (folder / "two").string(), "--bp", "600K", "-@", "2"});
  ASSERT_EQ(two.status, 0) << two.err;
  const auto files = contents(folder / "one");
  EXPECT_TRUE(files == contents(folder / "two"));
  for (const char* name : {"genome.fa.gz", "genome.fa.gz.fai", "genome.fa.gz.gzi", "promoters.tss.bed",
                           "variants.vcf.gz", "variants.vcf.gz.tbi", "peaks/CTCF.narrowPeak.gz",
                           "peaks/DNase.narrowPeak.gz", "peaks/peaks.tsv", "simulate.json"}) {
    EXPECT_TRUE(files.count(name) == 1 && !files.at(name).empty()) << name;
  }
  const auto other =
      run_bigbird({"simulate", "-o", (folder / "other").string(), "--bp", "600K", "--seed", "2"});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_NE(files.at("genome.fa.gz"), contents(folder / "other").at("genome.fa.gz"));
}

TEST(SimulateCommand, WantsForceForAFolderInUseAndTellsWhatIsWrong) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "used");
  write_text(folder / "used" / "mine.txt", "precious\n");
  const auto refused = run_bigbird({"simulate", "-o", (folder / "used").string(), "--bp", "300K"});
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.err.find("hint: "), std::string::npos);
  EXPECT_EQ(read_text(folder / "used" / "mine.txt"), "precious\n");
  const auto forced = run_bigbird({"simulate", "-o", (folder / "used").string(), "--bp", "300K", "--force"});
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "used" / "genome.fa.gz"));
  const auto small = run_bigbird({"simulate", "-o", (folder / "small").string(), "--bp", "1000"});
  EXPECT_EQ(small.status, 2) << small.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "small"));
}

}  // namespace
}  // namespace bigbird::testing
