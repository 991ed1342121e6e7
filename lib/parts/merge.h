// Putting the outputs of shards (finished_chunks.h) together to the bytes that one run gives. Chunk c of the
// input lies in shard c % N, so that the outputs are read in turn, chunk by chunk; how many rows each chunk
// has is what a shard writes down beside its output.
//
//   std::vector<ShardFacts> facts;        // a shard of each output, and what must be the same in all
//   std::vector<ChunkedTable> tables;     // in the order of the shards
//   for (const std::size_t i : order_of_shards(facts)) tables.push_back({outputs[i], rows_by_chunk[i]});
//   merge_tables(tables, RowNumbers::keep, "merged.tsv");
//
// Shards may be more than the files that a process may have open: none stays open between its turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/parts/json_entries.h"
#include "lib/parts/side_file.h"

namespace bigbird {

// An output as the merge meets it.
struct ShardFacts {
  std::string output;  // names it in errors
  Shard shard;
  // What must be the same in all shards of a run, each with the words that say that it is not: {"models,
  // genomes or options differ", "{...}"}.
  std::vector<std::pair<std::string, std::string>> same;
};

// Of an output that `facts` are of; `other_kind` says that kinds differ.
ShardFacts shard_facts(const std::string& output, const PartFacts& facts, const char* other_kind,
                       std::uint64_t records, const std::string& input_digest);

// Which of `shards` is the first, the second ... of the run. Error{bad_input} naming the outputs: numbers of
// shards or anything of `same` differ, a shard is given twice or is missing. Error{usage} for no shard at
// all.
std::vector<std::size_t> order_of_shards(const std::vector<ShardFacts>& shards);

// Every record is in a chunk of one of the shards: Error{bad_input} naming `path`, which says that the input
// has so many records in chunks of so many.
void require_every_chunk(const std::string& path, std::uint64_t records, std::uint64_t chunk,
                         std::uint64_t chunks_of_shards);
// Error{bad_input}: a file is not the one that was written, cut or changed.
void require_unchanged(const std::string& path, const FileDigest& digest);

// Calls take(shard, chunk of that shard) for all chunks of the input in order. `chunks_of`: how many each
// shard has; `names`: of the shards, for the Error{bad_input} where one of them has too few chunks for its
// turns.
void for_each_chunk_in_turn(const std::vector<std::size_t>& chunks_of, const std::vector<std::string>& names,
                            const std::function<void(std::size_t shard, std::size_t chunk)>& take);

// A file of a shard with so many rows for each of its chunks.
struct ChunkedTable {
  std::string path;
  std::vector<std::uint64_t> rows;
};

enum class RowNumbers {
  keep,    // rows are copied as they are
  anew,    // the first column is the row's number, counted from 0 over all shards
  no_head  // lines without a head, such as JSON Lines, are copied as they are
};

// Tab-separated tables in the order of the shards: the head of the first ("##" lines and the line of names,
// which must be that of all), and the rows in order. Error{bad_input}: names of columns differ, fewer or more
// rows than `rows` says.
void merge_tables(const std::vector<ChunkedTable>& shards, RowNumbers numbers, const std::string& output);

// The same of JSON whose entries have lines to themselves (json_entries.h): one file with all entries. `rows`
// counts the lines of entries of one section; those of the frame are not among them.
void merge_json(const std::vector<ChunkedTable>& shards, const EntriesLayout& layout,
                const std::string& output);

// The same of .npy matrices of one width, written as float32.
void merge_matrices(const std::vector<ChunkedTable>& shards, const std::string& output);

// Outputs of the shards of one run, in any order, as the output of that run; `output` is "-" for stdout. How
// many records they are of. Error{bad_input} naming the files: as read_output_shard; other kinds, inputs,
// sizes of chunks, models or settings; a shard that is missing or given twice; a file that is not the one
// that was written, cut or changed.
std::uint64_t merge_outputs(const std::vector<std::string>& shards, const std::string& output);

// Error{bad_input}: a file does not hold what was written down beside it. `what`: "fewer rows".
[[noreturn]] void refuse_other_length(const std::string& path, const std::string& what);

}  // namespace bigbird
