// `bigbird embed`: vectors of all windows of an input into a matrix and the table of its rows, chunk by
// chunk, so that shards share the input and a run that was stopped goes on; and the files of all shards as
// those of one run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/inference/embed.h"
#include "lib/parts/parts.h"

namespace bigbird {

struct EmbedOptions {
  std::string input;  // file of the windows; "-": stdin
  std::string pool;   // as parse_pooling takes it
  std::string output;
  std::vector<std::string> comments;            // provenance of the table, without "##"
  std::map<std::string, std::string> metadata;  // of the matrix, where its format has room for it
  ChunkedWork work;
};

// OUT.npy, OUT.safetensors or OUT.h5 (float32 [rows, width]) and OUT.rows.tsv (#row id chrom start end strand
// piece); the file of a shard (shard_file.h) may have any name. The number of windows. Error{bad_input}: no
// window; as Embedder::run.
std::uint64_t run_embed(const EmbedOptions& options, WindowReader& windows, Embedder& embedder);

inline constexpr const char* embed_kind = "embed";
std::uint64_t merge_embeddings(const std::vector<std::string>& shards, const std::string& output);

}  // namespace bigbird
