// `bigbird merge`: the outputs of all shards of a run put together.
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/tasks/output_shards.h"

namespace bigbird::apps {

int cmd_merge(int argc, char** argv) {
  Verb verb("merge", "Put the outputs of all shards of a run together: the bytes that one run gives.",
            {"bigbird merge part1.tsv part2.tsv part3.tsv -o predictions.tsv",
             "bigbird merge nbest.1.json nbest.2.json -o nbest.json"});
  std::vector<std::string> shards;
  std::string output;
  CLI::App& app = verb.app();
  app.add_option("SHARDS", shards,
                 "One output of each shard of `text classify predict` or `text qa predict`, in any order; "
                 "SHARD.shard.json lies beside it")
      ->required();
  app.add_option("-o,--output", output, "The same of one run; - is stdout")->required()->type_name("OUT");
  if (!verb.parse(argc, argv)) return 0;
  verb.set_throughput(static_cast<double>(merge_outputs(shards, output)), "records");
  return 0;
}

}  // namespace bigbird::apps
