// Pages, --help and messages are in plain English, by the numbers of docs/style.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/policy/lines.h"
#include "tests/policy/message_names.h"
#include "tests/policy/plain_english.h"
#include "tests/policy/policy.h"
#include "tests/policy/verbs_of_help.h"
#include "tests/support/support.h"

namespace bigbird::policy {
namespace {

// What a user reads; benchmarks/ is a book of figures.
std::vector<std::string> pages() {
  std::vector<std::string> found = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"};
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "docs")) {
    if (entry.path().extension() == ".md") found.push_back("docs/" + entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(PlainEnglish, PagesAreReadOnce) {
  ASSERT_GT(pages().size(), 20u);
  for (const std::string& path : pages()) {
    const PageEnglish page = english_of(path, testing::read_text(testing::source_dir() / path));
    EXPECT_LE(page.mean(), 18) << path << ": words a sentence";
    EXPECT_LE(page.percentile_90(), 28u) << path << ": words of its longer sentences";
    EXPECT_EQ(joined(page.idioms), "");
    EXPECT_EQ(joined(page.long_lines), "");
  }
}

// What an option does, in words: the column behind its name, which --help wraps to the terminal.
TEST(PlainEnglish, HelpHasNoIdioms) {
  std::set<std::string> found;
  for (const std::string& verb : listed_verbs()) {
    for (const std::string& line : lines_of(help_of(verb))) {
      // Examples are commands; `beside` is a choice of --provenance, which its definition begins with.
      if (line.rfind("  bigbird ", 0) == 0 || line.find("--provenance") != std::string::npos ||
          line.find("beside: OUT") != std::string::npos)
        continue;
      const std::size_t begin = line.rfind("  -", 0) == 0 ? line.find("  ", 3) : 0;
      for (const std::string& sentence : sentences_of(line.substr(std::min(begin, line.size())))) {
        for (const std::string& idiom : idioms_of(sentence)) found.insert(verb + ": " + idiom);
      }
    }
  }
  EXPECT_EQ(joined({found.begin(), found.end()}), "");
}

TEST(PlainEnglish, HelpOfEachOptionHasOneForm) {
  std::set<std::string> found;
  std::size_t entries = 0, defaults = 0;
  for (const std::string& verb : listed_verbs()) {
    for (const HelpEntry& entry : entries_of(help_of(verb))) {
      ++entries;
      if (entry.text.find("(default: ") != std::string::npos) ++defaults;
      for (const std::string& fault : faults_of(entry)) found.insert(verb + " " + fault);
    }
  }
  EXPECT_GT(entries, 1500u);
  EXPECT_GT(defaults, 300u);
  EXPECT_EQ(joined({found.begin(), found.end()}), "");
}

TEST(PlainEnglish, MessagesHaveNoIdioms) {
  std::vector<std::string> found;
  std::size_t read = 0;
  for (const std::string& file : source_files(testing::source_dir())) {
    const bool code = file.rfind("lib/", 0) == 0 || file.rfind("apps/", 0) == 0;
    // Scripts of a shell, and styles of a page.
    if (!code || file == "apps/machine/cmd_completion.cpp" || file == "lib/report/html_page.cpp") continue;
    for (const Text& text : texts_of(testing::read_text(testing::source_dir() / file))) {
      if (text.words.find(' ') == std::string::npos || text.words.find("beside: OUT") != std::string::npos)
        continue;
      ++read;
      for (const std::string& sentence : sentences_of(text.words)) {
        for (const std::string& idiom : idioms_of(sentence)) found.push_back(file + ": " + idiom);
      }
    }
  }
  EXPECT_GT(read, 3000u);
  EXPECT_EQ(joined(found), "");
}

TEST(PlainEnglish, SentencesAreCountedAsTheyAreRead) {
  EXPECT_EQ(sentences_of("One. Two three! `four` five (see [six](a.md)). Seven: Eight").size(), 5u);
  EXPECT_EQ(sentences_of("0.5 of it, e.g. Reb1, by Zaheer et al. 2020").size(), 1u);
  EXPECT_EQ(sentences_of("a: b, and so on"), std::vector<std::string>{"a: b, and so on"});
  const PageEnglish page =
      english_of("x.md",
                 "# Of no heading that lies\n\nOne two\nthree. Four.\n- five six\n- seven\n"
                 "| a | that of b |\n```\nit stands behind\n```\n    code alone\n");
  EXPECT_EQ(page.lengths, (std::vector<std::size_t>{1, 1, 2, 3}));
  EXPECT_DOUBLE_EQ(page.mean(), 1.75);
  EXPECT_EQ(page.percentile_90(), 2u);
  EXPECT_EQ(page.idioms, std::vector<std::string>{"x.md:7: a that of b"});
  EXPECT_EQ(english_of("x.md", std::string(111, 'a') + "\n| " + std::string(120, 'b') + " |\n").long_lines,
            std::vector<std::string>{"x.md:1: 111 columns"});
}

TEST(PlainEnglish, IdiomsAreFound) {
  for (const char* bad :
       {"The file says so.", "What stands here", "the median of A and that of B", "Of AdamW.",
        "a word behind it", "it lies there", "for this alone", "beside it", "it is no number"})
    EXPECT_EQ(idioms_of(bad).size(), 1u) << bad;
  for (const char* good :
       {"there is no number", "it is no longer read", "most of it", "standalone", "a part of"})
    EXPECT_EQ(idioms_of(good).size(), 0u) << good;
  EXPECT_EQ(idioms_of("Both say that it is no matrix")[0], "both say that it is");
}

TEST(PlainEnglish, EntriesOfHelpAreRead) {
  const std::string indent(34, ' ');
  const std::vector<HelpEntry> entries = entries_of(
      "Does something.\n\nExamples:\n  bigbird x --y\n\nUsage: bigbird x [OPTIONS] VCF\n\nPositionals:\n"
      "  VCF TEXT (required)             Variants\n\nOptions:\n"
      "  --track [NAME=]BW ...           Track\n"
      "  -@,--threads INT=auto           Threads (default: all)\n"
      "  --random-mode {google,hf-train,hf-eval}=google\n" +
      indent +
      "Mode\n  --json                          Print JSON\n\nVerbs that begin with this one:\n  x y  do\n");
  std::vector<std::string> seen;
  for (const HelpEntry& entry : entries)
    seen.push_back(entry.name + "|" + entry.value + "|" + entry.constant + "|" + entry.text);
  EXPECT_EQ(joined(seen),
            "VCF|TEXT||Variants\n--track|[NAME=]BW||Track\n-@,--threads|INT|auto|Threads (default: all)\n"
            "--random-mode|{google,hf-train,hf-eval}|google|Mode\n--json|||Print JSON\n");
}

TEST(PlainEnglish, FaultsOfHelpAreFound) {
  const auto faults = [](const char* value, const char* constant, const char* text) {
    return faults_of({"--x", value, constant, text}).size();
  };
  for (const char* bad : {"bases of a window",
                          "Use a window",
                          "Give the window",
                          "Whether windows overlap",
                          "If set, windows",
                          "Where the scores go",
                          "The window",
                          "Write a window",
                          "Its window",
                          "Bases of a window.",
                          "",
                          "(Bases)",
                          "Bases; default 3",
                          "Bases, 3 by default",
                          "Bases; without it 3",
                          "Bases, else 3",
                          "Bases (3 when not given)",
                          "Bases (default: 3) of a window",
                          "Bases (default: 3). More",
                          "Bases (default: 3) (default: 4)",
                          "Bases (default: 3"})
    EXPECT_EQ(faults("INT", "", bad), 1u) << bad;
  for (const char* good :
       {"Bases of a window", "3 bases", "Bases (default: 3)", "Labels LABEL_0, LABEL_1 ...",
        "Bases (default: 3 (4 of a file), else 5)", "Defaults of others, elsewhere"})
    EXPECT_EQ(faults("INT", "", good), 0u) << good;
  EXPECT_EQ(faults("INT", "3", "Bases"), 0u);
  EXPECT_EQ(faults("INT", "3", "Bases (default: 3)"), 1u);
  EXPECT_EQ(faults("INT", "auto", "Bases"), 1u);
  EXPECT_EQ(faults("INT", "auto", "Bases (default: 3)"), 0u);
  EXPECT_EQ(faults("", "", "Write bases (default: none)"), 0u);
  EXPECT_EQ(faults("", "", "Bases of a window"), 1u);
  EXPECT_EQ(faults("", "", "write bases"), 2u);
  EXPECT_EQ(faults_of({"VCF", "", "", "Variants"}).size(), 0u);
}

}  // namespace
}  // namespace bigbird::policy
