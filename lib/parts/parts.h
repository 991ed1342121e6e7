// Work in parts: one engine for every verb whose input is long. What lives in this room, on io and core only:
//
//   parts.h            the engine: reads chunks, has them computed, keeps them, writes them in their order
//   finished_chunks.h  shards; the folder OUT.parts of finished chunks; its lease, so that one process works
//   chunk_bytes.h      results as bytes, made only where they are kept
//   chunked_outputs.h  outputs of rows and JSON entries; chunked_numbers.h: those that are no text in pieces
//   side_file.h        what lies beside an output: is it whole, whose shard is it
//   merge.h            the outputs of shards as those of one run
//   sharded_verbs.h    which verbs can do it, and how; slurm_script.h: the script that has Slurm do it
//
// A kind of work gives the engine PartSteps: read a chunk, begin it, write its result. Several chunks are on
// their way where a device works beside the program; else a chunk is whole, and kept, before the next is
// begun. A verb asks first whether its output is whole already, and opens nothing large before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/sha256.h"
#include "lib/parts/chunk_bytes.h"
#include "lib/parts/finished_chunks.h"

namespace bigbird {

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

// What a chunk of the input is known by.
struct ChunkKey {
  std::uint64_t records = 0;
  std::string digest;  // 64 letters that stand for all that its result depends on
};

struct ChunkPlace {
  std::uint64_t number = 0;  // in the input
  ChunkKey key;
  std::string path;    // of what is kept of it, to name it in an error
  bool is_new = true;  // made now; else finished by the run before
};

// One kind of work. `Records`: a chunk of the input; `Result`: what comes of it, as chunk_bytes.h takes it.
template <typename Records, typename Result>
struct PartSteps {
  std::function<bool(Records&)> read;  // the next chunk; false at the end
  std::function<ChunkKey(const Records&)> key;
  // Calls the function once, now or later. The records stay where they are until they are written.
  std::function<void(Records&, std::function<void(Result)>)> begin;
  // In the order of the input; results of the run before too.
  std::function<void(Records&, const Result&, const ChunkPlace&)> write;
  std::function<void()> finish = [] {};  // every chunk that was begun is there afterwards
  bool works_ahead = false;              // begin() returns while a device works
};

class Parts {
 public:
  explicit Parts(const ChunkedWork& work) : work_(work) {}

  // Finished chunks are kept in `folder` from now on. Errors: as FinishedChunks.
  void keep_chunks(const std::string& folder, const std::string& identity);
  // In OUT.parts beside the first output, where all of them are files (or folders of them) and the input (as
  // given) is not stdin. Error{usage}: Restart::resume where nothing can be kept; a shard whose output is no
  // file.
  void keep_chunks_beside(const std::vector<std::string>& outputs, const std::string& input,
                          const std::string& identity);
  bool keeps() const { return finished_.keeps(); }
  // The bytes of each chunk that is written are wanted there too.
  void copy_bytes_to(std::function<void(std::string_view)> take) { take_bytes_ = std::move(take); }
  // The output is there already, whole and of this run: nothing is to be made.
  void leave_whole(const std::string& output) const;

  const ChunkedWork& work() const { return work_; }
  std::uint64_t chunk_size() const { return work_.chunk; }

  // The whole input. Errors: those of the steps; a part that is damaged or of another input.
  template <typename Records, typename Result>
  void run(const PartSteps<Records, Result>& steps);

  // Of all chunks, those of other shards too; of those that are this run's; of those that were finished by
  // the run before.
  std::uint64_t records() const { return records_; }
  std::uint64_t taken_records() const { return taken_records_; }
  std::uint64_t resumed_records() const { return resumed_records_; }
  // sha256 over the digests of all chunks; once, at the end.
  std::string input_digest() { return input_digest_.finish(); }

  // `put` closes the outputs, which are `files`: they appear together (output_set.h), and what was kept is
  // removed; so it is where `put` throws Error{bad_input}, because nothing can come of the input.
  // `note` follows the count of what the run before had finished.
  void close(const std::vector<std::string>& files, const std::function<void(OutputSet&)>& put,
             const std::string& note = "");

 private:
  // Behind one that waits for a full batch there may be many of which nothing is computed.
  static constexpr std::size_t most_chunks_begun = 16;

  // The next chunk; nothing where it is another shard's.
  std::optional<ChunkPlace> next_place(ChunkKey key);
  bool wants_bytes(const ChunkPlace& place) const { return take_bytes_ || (place.is_new && keeps()); }
  void take_bytes(const ChunkPlace& place, const std::string& bytes);

  ChunkedWork work_;
  FinishedChunks finished_;
  std::function<void(std::string_view)> take_bytes_;
  std::uint64_t chunks_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t taken_records_ = 0;
  std::uint64_t resumed_records_ = 0;
  Sha256 input_digest_;
};

template <typename Records, typename Result>
void Parts::run(const PartSteps<Records, Result>& steps) {
  struct BegunChunk {
    ChunkPlace place;
    Records records;
    std::optional<Result> result;
  };
  std::deque<BegunChunk> begun;
  const auto write_whole_ones = [&] {
    for (; !begun.empty() && begun.front().result; begun.pop_front()) {
      BegunChunk& chunk = begun.front();
      if (wants_bytes(chunk.place)) take_bytes(chunk.place, chunk_bytes(*chunk.result));
      steps.write(chunk.records, *chunk.result, chunk.place);
    }
  };
  while (true) {
    throw_if_cancelled();
    Records records{};
    if (!steps.read(records)) break;
    std::optional<ChunkPlace> place = next_place(steps.key(records));
    if (!place) continue;
    BegunChunk& chunk = begun.emplace_back(BegunChunk{std::move(*place), std::move(records), std::nullopt});
    if (const auto stored = finished_.load(chunk.place.number, chunk.place.key.digest)) {
      chunk.place.is_new = false;
      resumed_records_ += chunk.place.key.records;
      chunk.result = from_chunk_bytes<Result>(*stored, chunk.place.path);
    } else {
      steps.begin(chunk.records, [&chunk](Result result) { chunk.result = std::move(result); });
    }
    if (!steps.works_ahead || begun.size() > most_chunks_begun) steps.finish();
    write_whole_ones();
  }
  steps.finish();
  write_whole_ones();
}

// Of what `add_to_digest(sha256, record)` takes of each record.
template <typename Record, typename AddToDigest>
ChunkKey key_of_records(const std::vector<Record>& records, const AddToDigest& add_to_digest) {
  Sha256 digest;
  for (const Record& record : records) add_to_digest(digest, record);
  return {records.size(), digest.finish()};
}

// Up to `size` records of `next`, which is false behind the last one; whether there is any.
template <typename Record, typename Next>
bool read_records(std::vector<Record>& records, std::uint64_t size, const Next& next) {
  while (records.size() < size) {
    if (next(records.emplace_back())) continue;
    records.pop_back();
    break;
  }
  return !records.empty();
}

}  // namespace bigbird
