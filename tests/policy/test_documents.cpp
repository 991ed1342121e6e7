// What the documents and scripts tell a user to type exists: verbs, and the options of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/policy/comments.h"
#include "tests/policy/lines.h"
#include "tests/policy/verbs_of_help.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

struct TypedCommand {
  std::string verb;                // "promoter build"
  std::vector<std::string> words;  // behind it
  std::string line;
};

using policy::known_verbs;

// Words of a shell up to the end of its command; quotes are taken off.
std::vector<std::string> shell_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool in_word = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\n';
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 ||
               std::string("|<>;&)`").find(c) != std::string::npos || (c == '#' && !in_word)) {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
      if (std::isspace(static_cast<unsigned char>(c)) == 0) break;
    } else {
      word += c;
      in_word = true;
    }
  }
  return words;
}

// The commands in what follows `bigbird `: one, or of `cluster sbatch` that and the verb in it.
void add_commands(const std::string& text, const std::set<std::string>& verbs,
                  std::vector<TypedCommand>& commands) {
  std::vector<std::string> words = shell_words(text);
  TypedCommand command{words.empty() ? "" : words.front(), {}, "bigbird " + text};
  std::size_t count = 1;
  std::string spoken;
  for (std::size_t i = 0; i < words.size() && i < 3; ++i) {
    spoken += (i == 0 ? "" : " ") + words[i];
    const auto after = verbs.lower_bound(spoken + " ");  // the first words of several verbs are known too
    if (verbs.count(spoken) == 0 && (after == verbs.end() || after->rfind(spoken + " ", 0) != 0)) continue;
    command.verb = spoken;
    count = i + 1;
  }
  for (std::size_t i = count; i < words.size(); ++i) {
    const bool begins_verb = std::any_of(verbs.begin(), verbs.end(), [&](const std::string& name) {
      return name == words[i] || name.rfind(words[i] + " ", 0) == 0;
    });
    if (command.verb == "cluster sbatch" && begins_verb) {
      add_commands(text.substr(text.find(" " + words[i] + " ") + 1), verbs, commands);
      break;
    }
    command.words.push_back(words[i]);
  }
  commands.push_back(command);
}

// Every command line: `bigbird ...` in a block, fenced or indented, after run or run_to FILE of a script, and
// in the backticks of a sentence.
std::vector<TypedCommand> typed_commands(const std::string& text, const std::set<std::string>& verbs) {
  std::vector<TypedCommand> commands;
  std::string whole = text;
  for (std::size_t at = 0; (at = whole.find("\\\n", at)) != std::string::npos;) whole.replace(at, 2, " ");
  bool in_block = false;
  std::string sentences;
  for (const std::string& line : policy::lines_of(whole)) {
    if (line.rfind("```", 0) == 0) {
      in_block = !in_block;
      continue;
    }
    const bool script = line.rfind("run ", 0) == 0 || line.rfind("run_to ", 0) == 0;
    if (!in_block && !script && line.rfind("    ", 0) != 0) {
      sentences += line + "\n";
      continue;
    }
    if (line.find("hint: ") == line.find_first_not_of(' ')) continue;  // what the program prints
    const std::size_t end = std::min(line.find(" #"), line.size());
    for (std::size_t at = 0; (at = line.find("bigbird ", at)) < end; at += 8) {
      if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '(')
        add_commands(line.substr(at + 8), verbs, commands);
    }
  }
  for (std::size_t at = 0; (at = sentences.find('`', at)) != std::string::npos;) {
    const std::size_t end = std::min(sentences.find('`', at + 1), sentences.size());
    if (sentences.compare(at + 1, 8, "bigbird ") == 0)
      add_commands(sentences.substr(at + 9, end - at - 9), verbs, commands);
    at = end + 1;
  }
  return commands;
}

// What a reader puts something in for: "I/N", "OUT", "$genome", "...".
bool is_placeholder(const std::string& word) {
  const std::string value = word[0] == '-' ? word.substr(std::min(word.find('='), word.size())) : word;
  return value.find_first_of("$*{") != std::string::npos || value.find("...") != std::string::npos ||
         (value.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos &&
          std::none_of(value.begin(), value.end(), [](char c) { return c >= 'a' && c <= 'z'; }));
}

// The commands of a text that do not exist as typed: no such verb or option, or a value that the program's
// own parser refuses (--help before the words has it read them, and do nothing).
std::vector<std::string> broken_commands(const std::string& text) {
  const std::set<std::string> verbs = known_verbs();
  std::vector<std::string> broken;
  for (const TypedCommand& command : typed_commands(text, verbs)) {
    if (command.verb.empty() || command.verb[0] == '-' || command.verb == "help" ||
        is_placeholder(command.verb))
      continue;
    std::vector<std::string> ask = shell_words(command.verb);
    ask.push_back("--help");
    const testing::RunResult& asked = policy::asked(command.verb + " --help all");
    const bool family = asked.status == 0 && verbs.count(command.verb) == 0;
    if (asked.status != 0 || (family && !command.words.empty() && !is_placeholder(command.words.front()))) {
      broken.push_back("no such verb: " + command.line);
      continue;
    }
    if (family) continue;
    bool exact = true;
    for (const std::string& word : command.words) {
      exact = exact && !is_placeholder(word);
      if (word.size() < 2 || word[0] != '-' || std::isdigit(static_cast<unsigned char>(word[1])) != 0)
        continue;
      const std::string option = word.substr(0, word.find('='));
      bool known = false;
      for (const char* end : {",", " ", "\n"}) {
        known = known || asked.out.find("  " + option + end) != std::string::npos ||
                asked.out.find("," + option + end) != std::string::npos;
      }
      if (!known) broken.push_back("no option " + option + ": " + command.line);
    }
    // A sentence names an option without its value.
    std::vector<std::string> words = command.words;
    while (!words.empty() && words.back().size() > 1 && words.back()[0] == '-') words.pop_back();
    if (!exact || words.empty()) continue;
    ask.insert(ask.end(), words.begin(), words.end());
    const testing::RunResult parsed = testing::run_bigbird(ask);
    if (parsed.status != 0) broken.push_back(command.line + ": " + parsed.err);
  }
  return broken;
}

// Every page that people read.
std::vector<std::string> pages() {
  const std::filesystem::path root = testing::source_dir();
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() == ".md") found.push_back(entry.path().string());
  }
  for (const char* folder : {"docs", "benchmarks", "packaging", "pipelines", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") found.push_back(entry.path().string());
    }
  }
  return found;
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
  EXPECT_EQ(broken_commands("```\nzcat x | bigbird chunk --passes some -f - # bigbird x\n```\n").size(), 1u);
  EXPECT_EQ(broken_commands("```\nbigbird chunk --passes '2' -f - | bigbird x\n```\n").size(), 1u);
  EXPECT_EQ(broken_commands("Say `bigbird chunk\n--passes some`, or `bigbird text qa`.\n").size(), 1u);
  EXPECT_EQ(broken_commands("`bigbird text qa`, `bigbird chunk --passes N`, `bigbird VERB`").size(), 0u);
  EXPECT_EQ(broken_commands("`bigbird text qa frobnicate`, `bigbird text frobnicate`").size(), 2u);
}

TEST(Documents, EveryCommandOfTheReadmeExists) {
  const std::string readme = testing::read_text(testing::source_dir() / "README.md");
  EXPECT_FALSE(typed_commands(readme, known_verbs()).empty());
  EXPECT_EQ(policy::joined(broken_commands(readme)), "");
}

// What -o names twice, in commands that are typed one after another: the second run of a folder is refused.
std::vector<std::string> outputs_named_again(const std::string& text) {
  std::set<std::string> named;
  std::vector<std::string> again;
  for (const TypedCommand& command : typed_commands(text, known_verbs())) {
    for (std::size_t i = 0; i + 1 < command.words.size(); ++i) {
      if (command.words[i] == "-o" && !named.insert(command.words[i + 1]).second)
        again.push_back(command.line);
    }
  }
  return again;
}

TEST(Documents, PagesThatAreTypedFromTheTopNameEveryOutputOnce) {
  for (const char* page : {"README.md", "docs/getting-started.md"}) {
    EXPECT_EQ(policy::joined(outputs_named_again(testing::read_text(testing::source_dir() / page))), "")
        << page;
  }
  EXPECT_EQ(
      outputs_named_again("```\nbigbird chunk -o a\nbigbird pretrain -o run\nbigbird pretrain -o run\n```\n")
          .size(),
      1u);
}

TEST(Documents, EveryCommandOfThePagesExists) {
  ASSERT_GT(pages().size(), 30u);
  for (const std::string& page : pages())
    EXPECT_EQ(policy::joined(broken_commands(testing::read_text(page))), "") << page;
}

TEST(Documents, EveryCommandOfTheScriptsExists) {
  const std::string demo = testing::read_text(testing::source_dir() / "pipelines/demo.sh");
  EXPECT_GE(typed_commands(demo, known_verbs()).size(), 8u);
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "pipelines")) {
    if (entry.path().extension() != ".sh") continue;
    std::string commands;
    for (const std::string& line : policy::lines_of(testing::read_text(entry.path())))
      commands += line.substr(std::min(line.find_first_not_of(' '), line.size())) + "\n";
    EXPECT_EQ(policy::joined(broken_commands(commands)), "") << entry.path();
  }
}

TEST(Documents, EveryExampleOfHelpIsParsed) {
  for (const std::string& verb : policy::listed_verbs()) {
    const std::string help = policy::help_of(verb);
    const std::size_t begin = help.find("\nExamples:\n");
    ASSERT_NE(begin, std::string::npos) << verb;
    const std::string examples =
        "```\n" + help.substr(begin + 11, help.find("\n\n", begin) - begin - 10) + "```\n";
    EXPECT_FALSE(typed_commands(examples, known_verbs()).empty()) << verb;
    EXPECT_EQ(policy::joined(broken_commands(examples)), "") << verb;
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
