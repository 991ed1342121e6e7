// The table of verbs that work in parts; see sharded_verbs.h.
#include "lib/parts/sharded_verbs.h"

namespace bigbird {

const std::vector<ShardedVerb>& sharded_verbs() {
  static const std::vector<ShardedVerb> verbs = {
      {"variants",
       "records",
       false,
       {".skipped.tsv", ".summary.json"},
       {},
       {"--summary-prefix"},
       {"--write-index"}},
      {"chromatin predict", "windows", true, {".run.json"}},
      {"promoter scan", "positions", true, {".run.json"}, {}, {"--calls", "--summary"}},
      {"embed", "sequences", true, {".run.json"}},
      {"ism", "regions of a BED", false, {".shard.json"}},
      {"text classify predict", "texts", false, {".shard.json"}},
      {"text tag predict", "sentences", false, {".shard.json"}},
      {"text embed", "texts", true, {".run.json"}},
      {"text qa predict", "questions", false, {".shard.json"}, {"--candidates", "--null-odds"}},
      {"text summarize predict", "documents", false, {".shard.json"}},
      {"text hibert predict", "documents", false, {".shard.json"}},
  };
  return verbs;
}

const ShardedVerb* find_sharded_verb(const std::string& name) {
  for (const ShardedVerb& verb : sharded_verbs()) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

std::string names_of_sharded_verbs() {
  std::string names;
  for (const ShardedVerb& verb : sharded_verbs()) names += (names.empty() ? "" : ", ") + verb.name;
  return names;
}

}  // namespace bigbird
