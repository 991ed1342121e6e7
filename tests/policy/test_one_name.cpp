// One name for one thing, one thing for one name: over all verbs an option has one kind of value and one
// meaning, and no two options differ in their dashes alone. Names that were are a table of the program's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/old_names.h"
#include "tests/policy/plain_english.h"
#include "tests/policy/verbs_of_help.h"

namespace bigbird::policy {
namespace {

// An option as a line of help has it.
struct Told {
  std::string name;     // "--max-n"
  std::string kind;     // flag, number or text
  std::string meaning;  // the first word of what it is
};

std::string kind_of(const std::string& type) {
  static const std::set<std::string> numbers = {"INT",    "UINT",     "FLOAT",    "COUNT",  "COUNTS",
                                                "N",      "{N,auto}", "N|auto",   "BP",     "BASES",
                                                "TOKENS", "X",        "FRACTION", "SECONDS"};
  if (type.empty()) return "flag";
  return numbers.count(type) > 0 ? "number" : "text";
}

std::vector<Told> options_told(const std::string& help) {
  std::vector<Told> told;
  for (const HelpEntry& entry : entries_of(help)) {
    std::string word = entry.text.substr(0, entry.text.find_first_of(" ,;:."));
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::istringstream names(entry.name);
    for (std::string name; std::getline(names, name, ',');) {
      if (name.rfind("--", 0) == 0) told.push_back({name, kind_of(entry.value), word});
    }
  }
  return told;
}

using Meanings = std::map<std::pair<std::string, std::string>, std::set<std::string>>;  // by kind and word

std::map<std::string, Meanings> meanings_of(const std::map<std::string, std::vector<Told>>& verbs) {
  std::map<std::string, Meanings> all;
  for (const auto& [verb, options] : verbs) {
    for (const Told& option : options) all[option.name][{option.kind, option.meaning}].insert(verb);
  }
  return all;
}

const std::map<std::string, Meanings>& meanings() {
  static const auto all = [] {
    std::map<std::string, std::vector<Told>> verbs;
    for (const std::string& verb : listed_verbs()) verbs[verb] = options_told(help_of(verb));
    return meanings_of(verbs);
  }();
  return all;
}

// Names whose help begins with another word, or whose value is of another kind, in some verb; and why it is
// one thing nevertheless.
const std::map<std::string, std::string>& same_in_other_words() {
  static const std::map<std::string, std::string> reasons = {
      {"--baseline",
       "what the model's scores are held beside: files of other tools, or kinds of simple models"},
      {"--batch", "what is run at once, counted in what the verb reads; --batch-tokens counts tokens"},
      {"--data", "the labelled data that the verb works on, in the forms that its task has"},
      {"--length", "tokens of an input: the most of them, or all that a window or a plan has"},
      {"--null-odds", "one file, which predict writes and evaluate reads"},
      {"--output", "where the result goes, whatever it is"},
      {"--step", "from one window to the next, in bases, of questions in tokens"},
      {"--test", "what is measured on: regions, files"},
      {"--train", "what is learned from: regions, files, shards"},
      {"--valid", "what is chosen by: regions, files, shards"},
  };
  return reasons;
}

std::string text_of(const std::string& name, const Meanings& found) {
  std::string text = name + " means several things:\n";
  for (const auto& [meaning, verbs] : found) {
    text += "  " + meaning.first + ", \"" + meaning.second + " ...\":";
    for (const std::string& verb : verbs) text += " " + verb + ";";
    text += "\n";
  }
  return text;
}

TEST(OneName, HelpIsRead) {
  const auto line = [](std::string head, const std::string& text) {
    head.resize(34, ' ');
    return head + text + "\n";
  };
  const std::vector<Told> told =
      options_told("Sentence.\n" + line("  -o,--output FILE", "Where it goes") +
                   line("  --step INT=100", "Bases") + "  --a-name-that-is-very-long-indeed\n" +
                   line("", "Flag that is long") + line("  --type {a,b}=a", "Type of it"));
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(std::tie(told[0].name, told[0].kind, told[0].meaning),
            std::make_tuple("--output", "text", "where"));
  EXPECT_EQ(std::tie(told[1].name, told[1].kind, told[1].meaning),
            std::make_tuple("--step", "number", "bases"));
  EXPECT_EQ(std::tie(told[2].name, told[2].kind, told[2].meaning),
            std::make_tuple("--a-name-that-is-very-long-indeed", "flag", "flag"));
  EXPECT_EQ(told[3].kind, "text");
  const auto two = meanings_of({{"a", {{"--x", "flag", "one"}}}, {"b", {{"--x", "number", "two"}}}});
  EXPECT_EQ(two.at("--x").size(), 2u);
  ASSERT_GT(meanings().size(), 200u);
  EXPECT_EQ(meanings().at("--seed").size(), 1u) << text_of("--seed", meanings().at("--seed"));
}

TEST(OneName, ANameMeansOneThing) {
  for (const auto& [name, found] : meanings()) {
    if (same_in_other_words().count(name) > 0) continue;
    EXPECT_EQ(found.size(), 1u) << text_of(name, found);
  }
  for (const auto& [name, reason] : same_in_other_words()) {
    EXPECT_GT(reason.size(), 20u) << name << " has no reason";
    const auto found = meanings().find(name);
    EXPECT_TRUE(found != meanings().end() && found->second.size() > 1) << name << " needs no exception";
  }
}

// "auto", "never", "all": what a number outside of an option's own would stand for is a word.
TEST(OneName, NoNumberStandsForAWord) {
  const std::regex number_for_word("[;,.] (?:0|-1|negative)(?::| is| for| means) [^.;]{0,40}");
  std::smatch found;
  const std::string before = "Bases; 0: as the model was trained";
  EXPECT_TRUE(std::regex_search(before, found, number_for_word));
  for (const std::string& verb : listed_verbs()) {
    std::string help;
    for (const std::string& line : lines_of(help_of(verb))) {
      const std::size_t text = line.find_first_not_of(' ');
      if (text != std::string::npos) help += line.substr(text) + " ";
    }
    EXPECT_FALSE(std::regex_search(help, found, number_for_word)) << verb << ": " << found.str();
  }
}

// --nbest and --n-best were two options of one verb.
TEST(OneName, NoTwoNamesDifferInDashesAlone) {
  std::map<std::string, std::string> known;
  for (const auto& [name, found] : meanings()) {
    std::string letters = name;
    letters.erase(std::remove(letters.begin(), letters.end(), '-'), letters.end());
    const auto [at, is_new] = known.emplace(letters, name);
    EXPECT_TRUE(is_new) << name << " and " << at->second;
  }
}

// An option that is called like a verb is taken for what that verb does. --attention is what it prints.
TEST(OneName, NoOptionHasTheNameOfAVerb) {
  const std::set<std::string> same = {"attention"};
  for (const std::string& verb : listed_verbs()) {
    if (same.count(verb) > 0) continue;
    EXPECT_EQ(meanings().count("--" + verb), 0u) << "--" << verb;
  }
}

TEST(OneName, OldNamesAreOfTheVerbsAndNoneOfThemIsShown) {
  for (const apps::OldName& row : apps::old_names()) {
    int verbs = 0;
    const std::string now(row.now.substr(0, row.now.find('=')));
    for (const std::string& verb : listed_verbs()) {
      if (!apps::had_name(row, verb)) continue;
      ++verbs;
      std::set<std::string> names;
      for (const Told& option : options_told(help_of(verb))) names.insert(option.name);
      EXPECT_EQ(names.count(std::string(row.old)), 0u) << verb << " " << row.old;
      EXPECT_EQ(names.count(now), 1u) << verb << " has no " << now;
    }
    if (row.verbs.empty()) continue;
    EXPECT_EQ(verbs, 1 + std::count(row.verbs.begin(), row.verbs.end(), ','))
        << row.old << " names a verb that there is not";
  }
}

// What was another verb is no verb of the list, and runs as the one that it became.
TEST(OneName, VariantsMergeIsMerge) {
  EXPECT_EQ(known_verbs().count("variants merge"), 0u);
  EXPECT_EQ(asked("variants merge --help").out, asked("merge --help").out);
  EXPECT_EQ(asked("variants merge --help").status, 0);
}

}  // namespace
}  // namespace bigbird::policy
