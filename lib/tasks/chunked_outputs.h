// Outputs of text that are made chunk by chunk: shards take chunks in turn, finished ones are kept until the
// outputs are whole (chunks.h); what goes to the standard output goes there chunk by chunk. Beside each
// output of a shard, OUT.shard.json says what is needed to put them together (output_shards.h). For verbs
// whose every output is one file of rows, or JSON with entries in lines of their own.
//
//   ChunkedOutputs outputs({{"out.tsv", "tsv", ChunkForm::lines, "#id\tlabel\n"}}, identity, "in.csv", work);
//   if (outputs.are_whole()) return;
//   while (read_chunk(records, outputs.chunk_size())) {
//     if (!outputs.begin(records.size(), digest_of(records))) continue;
//     for (...) outputs.write(0, row);
//     outputs.end();
//   }
//   outputs.close();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/tasks/chunks.h"
#include "lib/tasks/output_shards.h"

namespace bigbird {

struct ChunkedOutput {
  std::string path;  // "-": stdout
  std::string kind;  // what is in it, "tsv", "nbest"; outputs of one kind are shards of one another
  ChunkForm form = ChunkForm::lines;
  std::string head = {};  // of ChunkForm::lines: written once
};

// What a user can say of a run in chunks. A chunk has so many records; what comes out does not depend on it.
struct ChunkedWork {
  std::uint64_t chunk = 1024;
  Shard shard;
  Restart restart = Restart::refuse;
  // A shard is made, be it the only one.
  bool shard_asked = false;
  // What the output is of is written beside it, of a whole run as well: one that may be started again.
  bool tell = false;
};

class ChunkedOutputs {
 public:
  // Finished chunks are kept beside the first output, in PATH.parts/, where all outputs are files and the
  // input (as given) is not stdin. Error{usage}: Restart::resume where nothing is kept; a shard whose output
  // is no file. Error{bad_input}: as FinishedChunks.
  ChunkedOutputs(std::vector<ChunkedOutput> outputs, const RunIdentity& identity, const std::string& input,
                 const ChunkedWork& work);
  ~ChunkedOutputs();
  ChunkedOutputs(const ChunkedOutputs&) = delete;
  ChunkedOutputs& operator=(const ChunkedOutputs&) = delete;

  // With a Restart that goes on: every output is there already, whole and of this run. Then nothing is to be
  // made; close() is not called.
  bool are_whole() const { return whole_; }
  std::uint64_t chunk_size() const { return work_.chunk; }
  // The next chunk of the input, with the digest of its records (64 letters): true when its texts are to be
  // made now, and end() called; false when it is another shard's, or was finished by the run before.
  bool begin(std::uint64_t records, std::string_view digest);
  // Text of the chunk at hand for one of the outputs.
  void write(std::size_t output, std::string_view text);
  void end();
  // Puts the outputs in their places, and says how many records were read and how many went out. Without it
  // nothing is left behind but finished chunks.
  void close();

  // Of all chunks, those of other shards too.
  std::uint64_t records() const { return records_; }
  // Those that were finished by the run before.
  std::uint64_t resumed_records() const { return resumed_records_; }

 private:
  struct Output;

  void say_records() const;
  // What is known of an output before a record is read.
  OutputShard facts_of(const ChunkedOutput& output) const;

  ChunkedWork work_;
  RunIdentity identity_;
  FileDigest input_file_;  // not known where nobody will ask
  FinishedChunks finished_;
  bool whole_ = false;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::string input_;
  std::uint64_t chunks_ = 0;
  std::uint64_t made_records_ = 0;  // of the chunks that are this run's, earlier finished ones too
  std::uint64_t records_ = 0;
  std::uint64_t resumed_records_ = 0;
  std::string chunk_digest_;
  Sha256 input_digest_;  // over the digests of all chunks
};

}  // namespace bigbird
