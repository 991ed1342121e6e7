// What lies beside an output: OUT.shard.json of an output of rows or entries (chunked_outputs.h), so that
// those of all shards can be put together, and OUT.run.json of one of numbers (chunked_numbers.h). Both say
// what the output is of, and what it holds: whether a run that goes on finds it whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/output_set.h"
#include "lib/io/files/sha256.h"
#include "lib/parts/finished_chunks.h"
#include "lib/parts/json_entries.h"

namespace bigbird {

// What a run depends on besides its records, by name: a run that is resumed, and the shards of a merge, must
// agree in all of it. Names are those of settings where there is one.
using RunIdentity = std::map<std::string, std::string>;

// What is known of any output before a record is read.
struct PartFacts {
  std::string kind;  // what is in it: "tsv", "nbest"; of numbers the verb, "chromatin predict"
  Shard shard;
  std::uint64_t chunk = 0;  // records
  RunIdentity identity;
  FileDigest input_file;  // not known where the input is no file
};

struct OutputShard : PartFacts {
  ChunkForm form = ChunkForm::lines;
  bool has_head = false;
  std::vector<std::uint64_t> lines;  // of each chunk that it took, without those of head and frame
  std::uint64_t records = 0;         // of the whole input
  std::string input_digest;          // sha256 over the digests of all chunks
  FileDigest output;                 // not known: written by an earlier version
};

// "OUT.shard.json".
std::string output_shard_path(const std::string& output);
void write_output_shard(const std::string& output, const OutputShard& shard);
// Error{bad_input} naming the file that is missing or is none that write_output_shard made.
OutputShard read_output_shard(const std::string& output);
// Whether an output is there, whole, and what a run of these facts would make: nothing is left to be done.
// `lines`, `records` and `input_digest` of `run` are not known yet and not looked at; without a digest of the
// input's file it never is.
bool is_whole_output(const std::string& output, const OutputShard& run);

// The same of numbers. `header`: JSON object, what the outputs are like; decides nothing that is computed.
struct ShardHeader : PartFacts {
  std::string output;
};

}  // namespace bigbird
