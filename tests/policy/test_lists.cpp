// What documents and help list is what there is: verbs, what each takes, kinds of input, patches. Each test
// compares a list with the one place that it comes from.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/policy/lines.h"
#include "tests/policy/verbs_of_help.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using policy::help_of;
using policy::known_verbs;
using policy::listed_verbs;
using policy::option_line;

std::string page(const std::string& path) {
  return testing::read_text(testing::source_dir() / path);
}

// The first cells of a table's rows, from the line `header` to the first one that is no row.
std::vector<std::string> first_cells(const std::string& text, const std::string& header) {
  std::vector<std::string> cells;
  bool inside = false;
  for (const std::string& line : policy::lines_of(text)) {
    if (inside && line.rfind("| ", 0) == 0) cells.push_back(line.substr(2, line.find(" |") - 2));
    inside = line == header || (inside && line[0] == '|');
  }
  return cells;
}

// What stands in backticks.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = text.find('`', at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find('`', at + 1), text.size());
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return names;
}

// What is between "{" and "}", by commas.
std::vector<std::string> choices_of(const std::string& line) {
  std::vector<std::string> choices;
  const std::size_t begin = line.find('{');
  if (begin == std::string::npos) return choices;
  std::istringstream in(line.substr(begin + 1, line.find('}', begin) - begin - 1));
  for (std::string choice; std::getline(in, choice, ',');) choices.push_back(choice);
  return choices;
}

std::string sentence_of(const std::string& verb) {
  for (const std::string& line : policy::lines_of(policy::asked("--help").out)) {
    if (line.rfind("  " + verb + "  ", 0) == 0)
      return line.substr(line.find_first_not_of(' ', verb.size() + 2));
  }
  return {};
}

TEST(Lists, TheReadmesTableNamesEveryVerbOnce) {
  std::vector<std::string> named;
  for (const std::string& cell : first_cells(page("README.md"), "| verb | does |")) {
    for (const std::string& name : names_in(cell)) named.push_back(name);
  }
  std::vector<std::string> verbs = listed_verbs();
  std::sort(named.begin(), named.end());
  std::sort(verbs.begin(), verbs.end());
  EXPECT_EQ(policy::joined(named), policy::joined(verbs));
}

TEST(Lists, ThePageOfVerbsIsMadeOfTheirHelp) {
  const testing::RunResult made = testing::run_program(
      {"bash", (testing::source_dir() / "tests/policy/verbs_page.sh").string(), testing::bigbird_binary()});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(made.out == page("docs/verbs.md"))
      << "bash tests/policy/verbs_page.sh build/release/bin/bigbird > docs/verbs.md";
  std::istringstream words(made.out);
  const auto count = std::distance(std::istream_iterator<std::string>(words), {});
  EXPECT_LE(count, 1300) << "words; make the first paragraph of a verb's --help shorter";
  for (const std::string& verb : listed_verbs())
    EXPECT_NE(made.out.find("`" + verb + "`"), std::string::npos) << verb;
}

// docs/command-line.md 4.4. Where this fails, the row that it wants is the one to put there.
TEST(Lists, ThePageOfTheCommandLineSaysWhichVerbsTakeWhat) {
  const std::string text = page("docs/command-line.md");
  for (const std::string option : {"-O", "--shard", "--resume"}) {
    std::string row;
    for (const std::string& verb : listed_verbs()) {
      const std::string line = option_line(help_of(verb), option);
      if (line.empty()) continue;
      row += (row.empty() ? "" : ", ") + ("`" + verb + "`");
      if (option != "-O") continue;
      std::string types;
      for (const std::string& type : choices_of(line)) types += (types.empty() ? "" : ", ") + type;
      EXPECT_NE(types, "") << verb << ": --help does not list what -O takes";
      row += " (" + types + ")";
    }
    row = "| `" + option + "` | " + row + " |";
    EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << "docs/command-line.md 4.4 needs\n" << row;
  }
}

TEST(Lists, AnOptionHasOneLongName) {
  for (const std::string& verb : listed_verbs()) {
    const std::string line = option_line(help_of(verb), "-O");
    EXPECT_TRUE(line.empty() || line.rfind("  -O,--output-type ", 0) == 0) << verb << line;
  }
}

// One word for one thing (CONTRIBUTING.md, "Rules"): a part of 1 is a fraction.
TEST(Lists, HelpSaysFraction) {
  for (const std::string& verb : listed_verbs()) {
    const std::string help = help_of(verb);
    for (const char* other : {"hare of", "hares of", "SHARE"})
      EXPECT_EQ(help.find(other), std::string::npos) << verb << ": " << other;
  }
}

// No other list of verbs with --shard is kept by hand.
TEST(Lists, EveryVerbWithShardsIsTakenByClusterSbatch) {
  for (const std::string& verb : listed_verbs()) {
    if (option_line(help_of(verb), "--shard").empty()) continue;
    std::vector<std::string> words = {"cluster", "sbatch", "--shards", "2"};
    std::istringstream in(verb);
    for (std::string word; in >> word;) words.push_back(word);
    for (const char* word : {"-m", "model", "input", "-o", "output"}) words.emplace_back(word);
    const testing::RunResult run = testing::run_bigbird(words);
    EXPECT_EQ(run.status, 0) << verb << "\n" << run.err;
    EXPECT_NE(run.out.find("merge output.shards/1"), std::string::npos) << verb;
  }
}

TEST(Lists, MergeNamesNoVerbsForItsShards) {
  const std::string help = help_of("merge");
  const std::size_t begin = help.find("\n  SHARDS ");
  ASSERT_NE(begin, std::string::npos);
  const std::string shards = help.substr(begin, help.find("\n  -", begin) - begin);
  for (const std::string& name : names_in(shards)) EXPECT_EQ(known_verbs().count(name), 0u) << name;
}

TEST(Lists, CompletionSaysEveryShell) {
  const std::vector<std::string> shells = choices_of(option_line(help_of("completion"), "SHELL"));
  ASSERT_GE(shells.size(), 3u);
  for (const std::string& shell : shells)
    EXPECT_NE(sentence_of("completion").find(shell), std::string::npos) << shell;
}

// `bigbird report` of what it does not know lists its kinds of input, in the words of --help and of the page.
TEST(Lists, ThePageOfReportsHasARowOfEveryKind) {
  const std::string begin = "hint: a report takes: ";
  const std::string err =
      testing::run_bigbird({"report", (testing::source_dir() / "README.md").string(), "-o", "/dev/null"}).err;
  ASSERT_NE(err.find(begin), std::string::npos) << err;
  std::string kinds = err.substr(err.find(begin) + begin.size());
  kinds.pop_back();
  EXPECT_NE(help_of("report").find(kinds), std::string::npos);
  std::string rows;
  for (const std::string& cell : first_cells(page("docs/reports.md"), "| input | what is shown |")) {
    ASSERT_EQ(cell.rfind("**", 0), 0u) << cell;
    rows += (rows.empty() ? "" : ", ") + cell.substr(2, cell.find("**", 2) - 2);
  }
  EXPECT_EQ(rows, kinds);
}

// benchmarks/gpu.md names the file that calls the operation.
TEST(Lists, ThePageOfTheGpuSaysWhoChoosesTheLargestLogits) {
  const std::string text = page("benchmarks/gpu.md");
  const std::size_t at = text.find("- `top_log_softmax`");
  ASSERT_NE(at, std::string::npos);
  int callers = 0;
  for (const std::string& name : names_in(text.substr(at, text.find("\n- ", at) - at))) {
    if (name.rfind("lib/", 0) != 0) continue;
    ++callers;
    EXPECT_NE(page(name).find("top_log_softmax("), std::string::npos) << name;
  }
  EXPECT_EQ(callers, 1);
}

// The index of docs says of the page of summaries what its commands do.
TEST(Lists, TheIndexSaysWhatThePageOfSummariesIsFor) {
  std::string row;
  for (const std::string& line : policy::lines_of(page("docs/README.md"))) {
    if (line.find("](summaries.md)") != std::string::npos) row = line;
  }
  const std::string text = page("docs/summaries.md");
  for (const auto& [verb, word] : std::vector<std::pair<std::string, std::string>>{
           {"finetune", "train "}, {"predict", "write "}, {"evaluate", "measure "}}) {
    EXPECT_EQ(row.find(word) != std::string::npos,
              text.find("bigbird text summarize " + verb) != std::string::npos)
        << row << " " << verb;
  }
}

// What CI compiles kernels for is said as tests/run.sh has it.
TEST(Lists, TheTableOfChecksSaysWhatKernelsAreCompiledFor) {
  const std::string script = page("tests/run.sh"), option = "-DCMAKE_CUDA_ARCHITECTURES=", ptx = "-virtual";
  const std::size_t at = script.find(option);
  ASSERT_NE(at, std::string::npos);
  const std::string architecture =
      script.substr(at + option.size(), script.find(')', at) - at - option.size());
  ASSERT_EQ(architecture.substr(architecture.find('-')), ptx) << architecture;
  for (const std::string& line : policy::lines_of(page("CONTRIBUTING.md"))) {
    if (line.rfind("| `build` |", 0) != 0) continue;
    EXPECT_NE(line.find("PTX for sm_" + architecture.substr(0, architecture.find('-')) + " where"),
              std::string::npos)
        << line;
  }
}

TEST(Lists, TheTableOfMutationsIsMadeOfThePatches) {
  const testing::RunResult made =
      testing::run_program({"bash", (testing::source_dir() / "tests/mutations/table.sh").string()});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(made.out == page("tests/mutations/README.md"))
      << "bash tests/mutations/table.sh > tests/mutations/README.md";
}

// The command stands above the table, which has some of the columns that it prints. Where this fails, the row
// that it wants is the one to put there.
TEST(Lists, TheComparisonOfAttentionIsWhatTheProgramPrints) {
  const std::string text = page("docs/attention.md"), begin = "\n    bigbird attention --compare ";
  const std::size_t at = text.find(begin);
  ASSERT_NE(at, std::string::npos);
  std::vector<std::string> words;
  std::istringstream command(text.substr(at + 5, text.find('\n', at + 1) - at - 5));
  for (std::string word; command >> word;) words.push_back(word);
  const testing::RunResult run = testing::run_bigbird({words.begin() + 1, words.end()});
  ASSERT_EQ(run.status, 0) << run.err;
  std::size_t rows = 0;
  for (const std::string& line : policy::lines_of(run.out)) {
    if (line.empty() || line.starts_with("attention\t")) continue;
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 16u);
    std::string row = "|";
    for (const std::size_t column : {0u, 1u, 2u, 3u, 4u, 7u, 8u, 9u, 10u}) row += " " + cells[column] + " |";
    EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << row;
    ++rows;
  }
  EXPECT_GE(rows, 8u);
}

}  // namespace
}  // namespace bigbird
