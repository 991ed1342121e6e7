// The verbs that the workflow of pipelines/cluster runs in shards: what it knows of them is what
// lib/parts/sharded_verbs.h has.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "lib/parts/sharded_verbs.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

std::string source(const std::string& path) {
  return testing::read_text(testing::source_dir() / path);
}

// The text from `begin` to the next `end`, on one line; empty where it is not.
std::string passage(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  const std::string found = text.substr(from, text.find(end, from) - from);
  return std::regex_replace(found, std::regex("\n"), " ");
}

TEST(ShardedVerbs, TheWorkflowKnowsThemAsTheyAre) {
  const std::string tasks =
      passage(source("pipelines/cluster/workflow/rules/common.smk"), "TASKS = {", "\n}");
  // "name": ("verb", [before the input] or None, takes a genome, "merge", ["what lies beside"])
  const std::regex row(
      R"re("(\w+)": \(\s*"([^"]+)",\s*(\[[^\]]*\]|None),\s*\w+,\s*"([^"]+)",\s*\[([^\]]*)\])re");
  int rows = 0;
  for (std::sregex_iterator at(tasks.begin(), tasks.end(), row), end; at != end; ++at, ++rows) {
    const std::string task = (*at)[1].str();
    const ShardedVerb* const verb = find_sharded_verb((*at)[2].str());
    ASSERT_NE(verb, nullptr) << task;
    EXPECT_EQ((*at)[4].str(), "merge") << task;
    std::string beside;
    for (const std::string& suffix : verb->beside) beside += (beside.empty() ? "\"" : ", \"") + suffix + "\"";
    EXPECT_EQ((*at)[5].str(), beside) << task;
    const std::string named =
        passage(source("pipelines/cluster/workflow/rules/common.smk"), "if config[\"task\"] not in (", ")");
    EXPECT_EQ(named.find("\"" + task + "\"") == std::string::npos, verb->numbers) << task;
  }
  EXPECT_EQ(rows, 5);
}

}  // namespace
}  // namespace bigbird
