// A run whose records are worked on chunk by chunk, for outputs that are no text in pieces (chunked_outputs.h
// is for those): the numbers of every chunk are bytes (chunk_bytes.h), kept until the output is whole
// (chunks.h), and a shard's output holds them (shard_file.h).
//
//   ChunkRun run("out.h5", header, "in.bed", work);  // header: kind, identity, output
//   if (run.is_whole()) return;
//   const auto sink = run.is_shard() ? nullptr : make_sink();
//   while (read_chunk(records, run.chunk_size())) {
//     if (!run.begin(records.size(), digest_of(records))) continue;   // another shard's
//     if (run.is_wanted()) run.made(compute(records));
//     if (sink) write(run.bytes(), *sink);
//   }
//   run.close({"out.h5"}, [&] { if (sink) sink->close(); });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/sha256.h"
#include "lib/tasks/chunked_outputs.h"
#include "lib/tasks/shard_file.h"

namespace bigbird {

class ChunkRun {
 public:
  // `header`: kind, identity and output are given; the rest is filled in. `output`: what the user named; "-"
  // and devices keep nothing. Errors: as ChunkedOutputs.
  ChunkRun(const std::string& output, ShardHeader header, const std::string& input, const ChunkedWork& work);
  ~ChunkRun();
  ChunkRun(const ChunkRun&) = delete;
  ChunkRun& operator=(const ChunkRun&) = delete;

  // With a Restart that goes on: the output is there already, whole and of this run. Then nothing is to be
  // made; close() is not called.
  bool is_whole() const { return whole_; }
  // The output is the file of a shard, which this object writes; else the caller writes it.
  bool is_shard() const { return writer_ != nullptr; }
  std::uint64_t chunk_size() const { return header_.chunk; }

  // A chunk of the input. Several may be open, while their results are on their way.
  struct Chunk {
    std::uint64_t number = 0;
    std::string digest;
    bool is_wanted = false;  // else it was finished by the run before
    std::string bytes;       // of a chunk that is not wanted
  };
  // The next one, with the digest of its records (64 letters): nothing where it is another shard's.
  std::optional<Chunk> open(std::uint64_t records, std::string_view digest);
  // `chunk.bytes` are there: kept, where it was wanted. In the order of open().
  void finish(const Chunk& chunk);
  std::string path(const Chunk& chunk) const { return finished_.path(chunk.number); }

  // One chunk after the other: the next chunk of the input, false where it is another shard's.
  bool begin(std::uint64_t records, std::string_view digest);
  // Whether the chunk at hand is to be computed now, and given to made(); else it was finished by the run
  // before.
  bool is_wanted() const { return at_hand_.is_wanted; }
  void made(std::string bytes);
  // Of the chunk at hand.
  const std::string& bytes() const { return at_hand_.bytes; }
  // Where it lies, to name it in an error.
  std::string path() const { return path(at_hand_); }
  // `finish` closes the outputs, which are `files`; none of a shard. They and what tells of them appear
  // together (output_set.h), and what was kept is removed; so it is where `finish` throws Error{bad_input},
  // because nothing can come of the input.
  void close(const std::vector<std::string>& files, const std::function<void()>& finish);

  // Of all chunks, those of other shards too.
  std::uint64_t records() const { return records_; }

 private:
  std::string record_path() const { return output_ + ".run.json"; }
  bool is_recorded() const;

  std::string output_;
  ShardHeader header_;
  bool tell_ = false;
  FinishedChunks finished_;
  bool whole_ = false;
  std::unique_ptr<ShardFileWriter> writer_;
  std::uint64_t chunks_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t resumed_records_ = 0;
  Chunk at_hand_;
  Sha256 input_digest_;  // over the digests of all chunks
};

}  // namespace bigbird
