// What the documents and scripts tell a user to type exists: verbs, and the options of each.
#include <gtest/gtest.h>

#include <algorithm>

#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/policy/comments.h"
#include "tests/policy/lines.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

struct TypedCommand {
  std::string verb;                  // "promoter build"
  std::vector<std::string> options;  // "--tss", "-f"
  std::string line;
};

// Verbs as `bigbird` alone lists them: lines that start with two blanks.
std::set<std::string> known_verbs() {
  std::set<std::string> verbs;
  std::istringstream overview(testing::run_bigbird({"--help"}).out);
  for (std::string line; std::getline(overview, line);) {
    if (line.rfind("  ", 0) == 0) verbs.insert(line.substr(2, line.find("  ", 2) - 2));
  }
  return verbs;
}

// Every command line that begins with `bigbird ` (in a block, fenced or indented, or after run or run_to
// FILE), with continuation lines.
std::vector<TypedCommand> typed_commands(const std::string& text, const std::set<std::string>& verbs) {
  std::vector<TypedCommand> commands;
  std::string whole = text;
  for (std::size_t at = 0; (at = whole.find("\\\n", at)) != std::string::npos;) whole.replace(at, 2, " ");
  std::istringstream in(whole);
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("```", 0) == 0) in_block = !in_block;
    const std::size_t start = line.find("bigbird ");
    const std::string before = line.substr(0, start == std::string::npos ? 0 : start);
    const bool script = before == "run " || (before.rfind("run_to ", 0) == 0);
    const bool block = in_block && (before.empty() || before == "$ " || before.back() == '(');
    const bool typed = block || before == "    ";
    if (start == std::string::npos || !(script || typed)) continue;
    std::istringstream first_words(line.substr(start + 8));
    std::string verb, second, third;
    first_words >> verb >> second >> third;
    if (verbs.count(verb + " " + second + " " + third) > 0) {
      verb += " " + second + " " + third;
    } else if (verbs.count(verb + " " + second) > 0) {
      verb += " " + second;
    }
    TypedCommand command{verb, {}, line};
    std::istringstream words(line.substr(line.find(verb, start) + verb.size()));
    for (std::string word; words >> word && word != "|" && word != ">" && word[0] != '#';) {
      // A command in a command: `cluster sbatch --shards 8 variants -m ...`.
      if (verb == "cluster sbatch" && std::any_of(verbs.begin(), verbs.end(), [&](const std::string& name) {
            return name == word || name.rfind(word + " ", 0) == 0;
          })) {
        std::string rest;
        std::getline(words, rest);
        for (TypedCommand& inner : typed_commands("```\nbigbird " + word + rest + "\n```\n", verbs))
          commands.push_back(inner);
        break;
      }
      if (word.size() > 1 && word[0] == '-' &&
          (std::isalpha(static_cast<unsigned char>(word[1])) != 0 || word[1] == '-' || word[1] == '@')) {
        command.options.push_back(word.substr(0, word.find('=')));
      }
    }
    commands.push_back(command);
  }
  return commands;
}

// The commands of a file that do not exist as typed.
std::vector<std::string> broken_commands(const std::string& text) {
  const std::set<std::string> verbs = known_verbs();
  std::vector<std::string> broken;
  for (const TypedCommand& command : typed_commands(text, verbs)) {
    if (command.verb[0] == '-') continue;  // bigbird --version
    if (command.verb == "help") continue;
    if (verbs.count(command.verb) == 0) {
      broken.push_back("no such verb: " + command.line);
      continue;
    }
    std::vector<std::string> ask;
    std::istringstream words(command.verb);
    for (std::string word; words >> word;) ask.push_back(word);
    ask.push_back("--help");
    const std::string help = testing::run_bigbird(ask).out;
    for (const std::string& option : command.options) {
      bool known = false;
      for (const char* end : {",", " ", "\n"}) {
        known = known || help.find("  " + option + end) != std::string::npos ||
                help.find("," + option + end) != std::string::npos;
      }
      if (!known) broken.push_back("no option " + option + ": " + command.line);
    }
  }
  return broken;
}

TEST(Documents, ACommandThatDoesNotExistIsFound) {
  EXPECT_EQ(policy::joined(broken_commands("```\nbigbird man completion\n```\n")), "");
  EXPECT_EQ(broken_commands("```\nbigbird frobnicate -x\n```\n").size(), 1u);
  EXPECT_EQ(broken_commands("run bigbird man --frobnicate completion\n").size(), 1u);
  EXPECT_EQ(broken_commands("```\nbigbird cluster sbatch --shards 2 variants -m x -o y\n```\n").size(), 0u);
  EXPECT_EQ(broken_commands("```\nbigbird cluster sbatch --shards 2 variants --frobnicate\n```\n").size(),
            1u);
  EXPECT_EQ(broken_commands("```\nbigbird cluster sbatch --frobnicate 2 variants -m x\n```\n").size(), 1u);
  EXPECT_EQ(broken_commands("```\n$ bigbird man \\\n  --frobnicate completion\n```\n").size(), 1u);
}

TEST(Documents, EveryCommandOfTheReadmeExists) {
  const std::string readme = testing::read_text(testing::source_dir() / "README.md");
  EXPECT_FALSE(typed_commands(readme, known_verbs()).empty());
  EXPECT_EQ(policy::joined(broken_commands(readme)), "");
}

TEST(Documents, EveryCommandOfThePagesExists) {
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "docs")) {
    EXPECT_EQ(policy::joined(broken_commands(testing::read_text(entry.path()))), "") << entry.path();
  }
}

TEST(Documents, EveryCommandOfTheDemonstrationExists) {
  const std::string demo = testing::read_text(testing::source_dir() / "pipelines/demo.sh");
  EXPECT_GE(typed_commands(demo, known_verbs()).size(), 8u);
  EXPECT_EQ(policy::joined(broken_commands(demo)), "");
}

TEST(Documents, EveryVerbStandsInTheReadme) {
  const std::string readme = testing::read_text(testing::source_dir() / "README.md");
  for (const std::string& verb : known_verbs()) {
    EXPECT_NE(readme.find("`" + verb + "`"), std::string::npos)
        << "README.md does not name the verb " << verb;
  }
}

// The page to know every verb by has a row for each, and the table of the program says nothing else of them.
TEST(Documents, EveryVerbHasARowOnThePageOfVerbs) {
  const std::string page = testing::read_text(testing::source_dir() / "docs/verbs.md");
  for (const std::string& verb : known_verbs()) {
    EXPECT_NE(page.find("\n| `" + verb + "` |"), std::string::npos) << "docs/verbs.md has no row of " << verb;
  }
}

TEST(Documents, FirstScreenOfTheReadmeNamesBothCommands) {
  std::istringstream readme(testing::read_text(testing::source_dir() / "README.md"));
  std::string first_screen, line;
  for (int i = 0; i < 40 && std::getline(readme, line); ++i) first_screen += line + "\n";
  EXPECT_NE(first_screen.find("bash pipelines/demo.sh"), std::string::npos);
  EXPECT_NE(first_screen.find("bash tests/run.sh"), std::string::npos);
}

TEST(Documents, TheReadmeStaysShort) {
  const std::string readme = testing::read_text(testing::source_dir() / "README.md");
  EXPECT_EQ(policy::joined(policy::size_violations("README.md", readme, 120, 110)), "");
  EXPECT_EQ(policy::size_violations("x.md", "a\nb\nc\n", 2, 10).size(), 1u);
  EXPECT_EQ(policy::size_violations("x.md", "12345678901\n", 2, 10).size(), 1u);
  EXPECT_EQ(policy::size_violations("x.md", "\u2192234567890\n", 2, 10).size(), 0u);
}

TEST(Documents, TheIndexOfDocsNamesEveryPage) {
  const std::string index = testing::read_text(testing::source_dir() / "docs/README.md");
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "docs")) {
    const std::string page = entry.path().filename().string();
    if (page == "README.md") continue;
    EXPECT_NE(index.find("](" + page + ")"), std::string::npos) << page;
  }
}

}  // namespace
}  // namespace bigbird
