// How the settings that lib's messages name become the options of a verb.
#include "apps/option_names.h"

#include <gtest/gtest.h>

#include "apps/old_names.h"
#include "tests/cli/shell.h"
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

TEST(OptionNames, AWrongWordIsToldTheRightOnes) {
  for (const auto& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"tokenize", "--shard-tokens", "nevr"}, "'nevr' is not a number, and not never"},
           {{"chromatin", "finetune", "--average", "off"}, "'off' is not a number, and not auto or never"},
           {{"tokenize", "-@", "all"}, "'all' is not a number, and not auto"},
           {{"tokenize", "--shard-tokens", "5x"}, "'5x' is not a count"}}) {
    const RunResult result = run_bigbird(words);
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find(told), std::string::npos) << result.err;
  }
}

TEST(OldNames, WhatIsTypedBecomesTheNameOfToday) {
  const auto today = [](const std::string& verb, std::vector<std::string> words) {
    apps::use_names_of_today(verb, words);
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  EXPECT_EQ(today("ism", {"--strand", "+", "--chunk=4", "-o", "x"}), "--strands + --chunk-size=4 -o x");
  // Of the verbs that had it alone, and before "--".
  EXPECT_EQ(today("text classify predict", {"--text", "a"}), "--text a");
  EXPECT_EQ(today("embed", {"--text", "a", "--", "--text"}), "--lines a -- --text");
  EXPECT_EQ(today("pretrain", {"--window", "64", "--summary=8"}), "--attention-window 64 --summary-tokens=8");
  EXPECT_EQ(today("copies", {"--window", "64"}), "--window 64");
  // A flag that has a value now, and a value that is part of one.
  EXPECT_EQ(today("chunk", {"--reverse-complement", "-f", "g"}), "--strands=both -f g");
  EXPECT_EQ(today("chunk", {"--reverse-complement=false", "-f", "g"}), "-f g");
  EXPECT_EQ(today("devices", {"--tune", "--cuda", "1"}), "--tune --device=cuda:1");
  EXPECT_EQ(today("devices", {"--cuda=2"}), "--device=cuda:2");
  EXPECT_EQ(today("devices", {"--cuda"}), "--device");
  EXPECT_EQ(today("info", {"--no-provenance", "x"}), "--provenance=none x");
}

// Typed, in a file and in the environment.
TEST(OldNames, TheProgramReadsThemEverywhere) {
  const TemporaryFolder folder;
  const std::string fasta = (folder / "g.fa").string(), options = (folder / "old.toml").string();
  write_text(fasta, ">chr1\n" + std::string(4000, 'A') + "\n");
  write_text(options, "reverse-complement = true\nformat = \"text\"\n");
  const std::string chunk = " chunk -q -f " + fasta +
                            " --chromosomes all --passes 1 --min-sentences 1 --max-sentences 2 "
                            "--min-sentence-length 100 --max-sentence-length 200 --max-start 0";
  const auto out = [&](const std::string& before, const std::string& more) {
    const RunResult run = run_shell(before + " \"$bigbird\"" + chunk + " " + more);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.out;
  };
  const std::string wanted = out("", "-O text --strands both");
  EXPECT_NE(wanted, out("", "-O text"));
  EXPECT_NE(wanted.find("TTTT"), std::string::npos) << wanted;
  EXPECT_EQ(out("", "--format text --reverse-complement"), wanted);
  EXPECT_EQ(out("", "--config " + options), wanted);
  EXPECT_EQ(out("BIGBIRD_FORMAT=text BIGBIRD_REVERSE_COMPLEMENT=true", ""), wanted);
  // The name of today wins.
  EXPECT_EQ(out("BIGBIRD_REVERSE_COMPLEMENT=true BIGBIRD_STRANDS=+", "-O text"), out("", "-O text"));
  EXPECT_EQ(run_bigbird({"chunk", "-f", fasta, "--reverse-complements"}).status, 2);
}

}  // namespace
}  // namespace bigbird::testing
