// The verbs that the workflow of pipelines/cluster runs in shards: what it knows of them is what
// lib/parts/sharded_verbs.h has, every one of them has a task, and its page names the tasks.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lib/parts/sharded_verbs.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

nlohmann::json workflow_tasks() {
  return nlohmann::json::parse(
      testing::read_text(testing::source_dir() / "pipelines/cluster/workflow/tasks.json"));
}

TEST(ShardedVerbs, TheWorkflowKnowsThemAsTheyAre) {
  nlohmann::json verbs;
  for (const ShardedVerb& verb : sharded_verbs()) {
    verbs[verb.name] = {
        {"numbers", verb.numbers}, {"beside", verb.beside}, {"more", verb.more}, {"merged", verb.merged}};
  }
  EXPECT_EQ(workflow_tasks().at("verbs"), verbs);
}

TEST(ShardedVerbs, EachHasATaskThatThePageNames) {
  const std::string page = testing::read_text(testing::source_dir() / "pipelines/cluster/config/README.md");
  std::set<std::string> with_task;
  const nlohmann::json tasks = workflow_tasks().at("tasks");
  for (const auto& [task, row] : tasks.items()) {
    const std::string verb = row.at("verb").get<std::string>();
    with_task.insert(verb);
    EXPECT_NE(page.find("| `" + task + "` | `" + verb + "` |"), std::string::npos) << task;
  }
  std::set<std::string> verbs;
  for (const ShardedVerb& verb : sharded_verbs()) verbs.insert(verb.name);
  EXPECT_EQ(with_task, verbs);
}

}  // namespace
}  // namespace bigbird
