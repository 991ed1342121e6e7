// How the settings that lib's messages name become the options of a verb.
#include "apps/option_names.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

using apps::option_name;

TEST(OptionNames, ASettingIsItsOptionWithDashes) {
  EXPECT_EQ(option_name("clip_norm", {"--clip-norm", "--batch"}), "--clip-norm");
  EXPECT_EQ(option_name("batch", {"--clip-norm", "--batch"}), "--batch");
}

TEST(OptionNames, ExceptionsStandInATable) {
  EXPECT_EQ(option_name("learning_rate", {"--lr"}), "--lr");
  EXPECT_EQ(option_name("fasta", {"--fasta-ref", "-f"}), "-f");
  // With a value; and the option without it does not do.
  EXPECT_EQ(option_name("anchor_bin", {"--anchor"}), "--anchor bin");
  EXPECT_EQ(option_name("anchor_bin", {"--anchor bin"}), "anchor_bin");
  // Of several the first that the verb has, and else the own name.
  EXPECT_EQ(option_name("format", {"--print", "--format"}), "--print");
  EXPECT_EQ(option_name("format", {"--format"}), "--format");
  EXPECT_EQ(option_name("fasta", {"--fasta"}), "--fasta");
}

TEST(OptionNames, AnOptionOfAnotherVerbStandsBesideItsName) {
  EXPECT_EQ(option_name("write_digest", {"--lr"}), "--write-digest");
}

TEST(OptionNames, WithoutSuchAnOptionTheBareWordStays) {
  EXPECT_EQ(option_name("learning_rate", {"--rate"}), "learning_rate");
  EXPECT_EQ(option_name("clip_norm", {"--clip"}), "clip_norm");
  EXPECT_EQ(option_name("clip_norm", {}), "clip_norm");
}

TEST(OptionNames, WhatIsNoFieldStaysAsItIs) {
  for (const char* word : {"", "A", "x-y", "x y", "_x"})
    EXPECT_EQ(option_name(word, {"--A", "--x-y", "--"}), "`" + std::string(word) + "`");
}

// Through the program: an Error's message, and the hint that stands for a missing one. (A line of the log:
// NeedsNoSequence in test_chromatin_build.cpp.)
TEST(OptionNames, ErrorsOfTheLibraryNameOptions) {
  const RunResult result =
      run_bigbird({"promoter", "scan", "-m", "none", "-f", "none.fa", "--merge-distance", "-1"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find(
                "error: --merge-distance -1: must not be negative\nhint: see bigbird promoter scan --help\n"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace bigbird::testing
