// How the settings that lib's messages name become the options of a verb.
#include "apps/option_names.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

using apps::name_options;
using apps::option_text;
using apps::set_running_verb;
using apps::usage_hint;

TEST(OptionNames, ASettingIsItsOptionWithDashes) {
  EXPECT_EQ(name_options("`clip_norm` 2: too much; see `batch`", {"--clip-norm", "--batch"}),
            "--clip-norm 2: too much; see --batch");
}

TEST(OptionNames, ExceptionsStandInATable) {
  EXPECT_EQ(name_options("`learning_rate` 2: must lie between 0 and 1", {"--lr"}),
            "--lr 2: must lie between 0 and 1");
  EXPECT_EQ(name_options("give `fasta`", {"--fasta-ref", "-f"}), "give -f");
  // With a value; and the option without it does not do.
  EXPECT_EQ(name_options("`anchor_bin`: no", {"--anchor"}), "--anchor bin: no");
  EXPECT_EQ(name_options("`anchor_bin`: no", {"--anchor bin"}), "anchor_bin: no");
  // Rows of one setting, each for the verbs that have its option.
  EXPECT_EQ(name_options("`format` tsv", {"--print", "--format"}), "--print tsv");
  EXPECT_EQ(name_options("`format` tsv", {"--format"}), "--format tsv");
  EXPECT_EQ(name_options("give `fasta`", {"--fasta"}), "give --fasta");
}

TEST(OptionNames, AnOptionOfAnotherVerbStandsBesideItsName) {
  EXPECT_EQ(name_options("bigbird check with `write_digest`", {"--lr"}), "bigbird check with --write-digest");
}

TEST(OptionNames, WithoutSuchAnOptionTheBareWordStays) {
  EXPECT_EQ(name_options("`learning_rate` 2", {"--rate"}), "learning_rate 2");
  EXPECT_EQ(name_options("`clip_norm`", {"--clip"}), "clip_norm");
  EXPECT_EQ(name_options("`clip_norm`", {}), "clip_norm");
}

TEST(OptionNames, OtherTextStandsAsItIs) {
  const std::vector<std::string> options = {"--check", "--bigbird", "--x-y", "--"};
  for (const char* text : {"", "no settings", "`bigbird check --all`", "`bigbird`", "one ` only", "`", "``",
                           "`A`", "`x-y`", "`x y`", "`_x`", "ends in `"}) {
    EXPECT_EQ(name_options(text, options), text);
  }
  EXPECT_EQ(name_options("`bigbird check` `check` `", options), "`bigbird check` --check `");
}

TEST(OptionNames, TheVerbThatRunsDecides) {
  EXPECT_EQ(option_text("`batch` 0"), "`batch` 0");  // none runs yet
  EXPECT_EQ(usage_hint(""), "");
  set_running_verb("promoter finetune", {"--batch"});
  EXPECT_EQ(option_text("`batch` 0"), "--batch 0");
  EXPECT_EQ(usage_hint(""), "see bigbird promoter finetune --help");
  EXPECT_EQ(usage_hint("give `batch`"), "give --batch");
  set_running_verb("chunk", {});
  EXPECT_EQ(option_text("`batch` 0"), "batch 0");
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
