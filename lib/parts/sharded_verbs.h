// The verbs that take --shard and --resume, once: what their chunks hold, what lies beside a shard, and what
// a script must know to run and merge them. The options of these verbs, `cluster sbatch` and `cluster plan`
// go by this table; tests/policy holds the workflow of pipelines/cluster against it.
#pragma once

#include <string>
#include <vector>

namespace bigbird {

struct ShardedVerb {
  std::string name;
  std::string records;                         // what the chunks hold, in words
  bool numbers = false;                        // a shard is a file of numbers, whatever OUT is
  std::vector<std::string> beside;             // what OUT of a shard has beside it: the ends of their names
  std::vector<std::string> more = {};          // options of further outputs, each merged by itself
  std::vector<std::string> merged = {};        // options of outputs that only the merge writes
  std::vector<std::string> merged_flags = {};  // the same without a value
};

const std::vector<ShardedVerb>& sharded_verbs();
// Null for a verb that does not work in parts.
const ShardedVerb* find_sharded_verb(const std::string& name);
// "variants, chromatin predict, ...".
std::string names_of_sharded_verbs();

}  // namespace bigbird
