// Every option of every verb is passed by some test: an option that nothing passes may be bound to nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "apps/common_options.h"
#include "tests/policy/passed_options.h"
#include "tests/support/support.h"

namespace bigbird::policy {
namespace {

using Passed = std::map<std::string, std::set<std::string>>;

const std::map<std::string, std::vector<OptionNames>>& all_options() {
  static const auto options = options_of_verbs(testing::run_bigbird({"completion", "bash"}).out);
  return options;
}

std::set<std::string> verbs() {
  std::set<std::string> names;
  for (const auto& [verb, options] : all_options()) names.insert(verb);
  return names;
}

// What every verb takes alike, from apps/command_line.cpp, rank_options.cpp and training_options.cpp: one
// verb that passes it is enough.
const std::set<std::string> common = {"--help",        "--quiet",
                                      "--verbose",     "--log",
                                      "--config",      "--provenance",
                                      "--threads",     "--device",
                                      "--precision",   "--nondeterministic",
                                      "--stop-before", "--ranks",
                                      "--log-ranks",   "--between-devices",
                                      "--tensorboard", "--random-mode",
                                      "--plan"};

Passed everything_passed() {
  Passed passed;
  const auto add = [&](const Passed& more) {
    for (const auto& [verb, words] : more) passed[verb].insert(words.begin(), words.end());
  };
  const auto texts = [](const char* folder, const char* suffix) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / folder)) {
      if (entry.path().extension() == suffix) found.push_back(testing::read_text(entry.path()));
    }
    return found;
  };
  std::string headers;
  for (const char* folder : {"tests/cli", "tests/emulated", "tests/support"}) {
    for (const std::string& text : texts(folder, ".h")) headers += text;
  }
  for (const char* folder : {"tests/cli", "tests/emulated"}) {
    for (const std::string& text : texts(folder, ".cpp")) add(passed_words(text, headers, verbs()));
  }
  for (const std::string& text : texts("pipelines", ".sh")) add(passed_words_of_script(text, verbs()));
  return passed;
}

TEST(PassedOptions, TheTableOfOptionsIsTheProgramsOwn) {
  const auto& options = all_options();
  ASSERT_GT(options.size(), 25u);
  const auto& chunk = options.at("chunk");
  EXPECT_NE(std::find(chunk.begin(), chunk.end(), OptionNames{"--fasta-ref", "-f"}), chunk.end());
  const auto& build = options.at("promoter build");
  EXPECT_NE(std::find(build.begin(), build.end(), OptionNames{"--tss"}), build.end());
}

TEST(PassedOptions, ATestPassesWhatItAndItsHelpersHold) {
  const std::set<std::string> names = {"chunk", "variants", "variants merge", "evaluate",
                                       "promoter evaluate"};
  const std::string source =
      "RunResult run(const std::string& more) {\n  return run_bigbird({\"chunk\", \"--passes\", more});\n}\n"
      "class Shared {\n  static std::vector<std::string> command() {\n    return {\"variants\", \"-m\"};\n  }\n};\n"
      "TEST(A, B) {\n  run(\"--seed=1\");  // \"--not-this\"\n}\n"
      "TEST(A, C) {\n  auto words = command();\n  words.insert(words.begin() + 1, \"merge\");\n}\n"
      "TEST(A, D) {\n  run_bigbird({\"promoter\", \"evaluate\", \"--data\"});\n}\n"
      "TEST(A, E) {\n  shell(\"'x/bigbird' evaluate -m y --batch 2 > z --quiet\");\n}\n";
  const Passed passed = passed_words(source, "", names);
  EXPECT_EQ(passed.at("chunk"), (std::set<std::string>{"chunk", "--passes", "--seed"}));
  EXPECT_EQ(passed.at("variants merge"), (std::set<std::string>{"variants", "merge", "-m"}));
  EXPECT_EQ(passed.at("promoter evaluate"), (std::set<std::string>{"promoter", "evaluate", "--data"}));
  EXPECT_EQ(passed.at("evaluate"), (std::set<std::string>{"evaluate", "-m", "y", "--batch", "2"}));
  const Passed script =
      passed_words_of_script("# bigbird chunk --seed 1\nrun bigbird chunk -f x \\\n  --passes 2\n", names);
  EXPECT_EQ(script.at("chunk"), (std::set<std::string>{"chunk", "-f", "x", "--passes", "2"}));
}

TEST(PassedOptions, EveryOptionOfEveryVerbIsPassedBySomeTest) {
  const Passed passed = everything_passed();
  std::string missing;
  std::set<std::string> common_passed;
  for (const auto& [verb, options] : all_options()) {
    const auto found = passed.find(verb);
    for (const OptionNames& names : options) {
      const bool is_passed =
          found != passed.end() && std::any_of(names.begin(), names.end(), [&](const std::string& name) {
            return found->second.count(name) > 0;
          });
      if (is_passed) common_passed.insert(names[0]);
      if (!is_passed && common.count(names[0]) == 0) missing += verb + " " + names[0] + "\n";
    }
  }
  for (const std::string& name : common) {
    if (common_passed.count(name) == 0) missing += "any verb " + name + "\n";
  }
  EXPECT_EQ(missing, "") << "no test of tests/cli or tests/emulated passes these to these verbs";
}

// Verbs with many options say which of them --help shows, and each of those is one of theirs.
TEST(Options, TheListOfCommonOptionsIsOfTheVerb) {
  for (const auto& [verb, options] : all_options()) {
    std::set<std::string> names;
    for (const OptionNames& option : options) names.insert(option.begin(), option.end());
    const auto common_here = apps::common_options(verb);
    if (options.size() > 32) {
      EXPECT_FALSE(common_here.empty()) << verb << " has " << options.size() << " options";
    }
    EXPECT_LE(common_here.size(), 17u) << verb;
    for (const std::string_view name : common_here)
      EXPECT_TRUE(names.contains("--" + std::string(name))) << verb << ": no option --" << name;
  }
}

}  // namespace
}  // namespace bigbird::policy
