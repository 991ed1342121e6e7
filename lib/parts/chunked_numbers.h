// Outputs of numbers that are made in parts (parts.h), for files that cannot be put together from pieces:
// tracks, HDF5, calls that look at their neighbours. The output of a shard holds the bytes of its chunks
// (chunk_bytes.h) and all that a merge needs to write what one run would have written: no model is read for
// it. Of a whole run the caller writes the files. OUT.run.json lies beside either (side_file.h).
//
//   ChunkedNumbers run("out.h5", header, "in.bed", work);  // header: kind, identity, output
//   if (run.is_whole()) return;
//   const auto sink = run.is_shard() ? nullptr : make_sink();
//   run.parts().run(steps);  // which write to the sink
//   run.close({"out.h5"}, [&] { if (sink) sink->close(); });
//
//   MergedShards shards(paths);  // complete, of one run, none of them cut
//   shards.for_each([&](std::string_view bytes, const std::string& path) { write(bytes); });
//
// The file of a shard: a line that names it; the header as JSON; the chunks; the end as JSON. Each part
// stands behind its length and before a checksum (FNV-1a).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/parts/parts.h"
#include "lib/parts/side_file.h"

namespace bigbird {

class ShardFileWriter {
 public:
  // The file appears with close(), whole or not at all.
  ShardFileWriter(const std::string& path, const ShardHeader& header);
  void add(std::string_view chunk);
  // `records`, `input_digest`: of the whole input, those of other shards too.
  void close(std::uint64_t records, const std::string& input_digest);

 private:
  void put(std::string_view part);

  AtomicFile file_;
  std::uint64_t chunks_ = 0;
};

// Whether a file begins as one of these; false for one that is not there.
bool is_shard_file(const std::string& path);

// Its header. Error{bad_input}: none of these files, or its beginning is damaged.
ShardHeader read_shard_header(const std::string& path);

// What a shard holds, read from end to end.
struct ShardContents {
  ShardHeader header;
  std::uint64_t chunks = 0;   // that it has
  std::uint64_t records = 0;  // of the whole input, those of other shards too
};
class MergedShards {
 public:
  // In any order. Error{bad_input} naming the files: damaged or cut; of other kinds, inputs, chunks, models
  // or settings; a shard that is missing or given twice.
  explicit MergedShards(const std::vector<std::string>& paths);
  ~MergedShards();

  // Of one shard alone. Error{bad_input}: it is none, damaged or cut.
  static ShardContents contents_of(const std::string& path);

  // Of the first shard of the run.
  const ShardHeader& header() const;
  // Of the input.
  std::uint64_t records() const;
  // All chunks in the order of the input; `path` names a chunk's file in errors.
  void for_each(const std::function<void(std::string_view bytes, const std::string& path)>& take) const;

 private:
  struct Opened;
  std::vector<Opened> shards_;
};

class ChunkedNumbers {
 public:
  // `header`: kind, identity and output are given; the rest is filled in. `output`: what the user named; "-"
  // and devices keep nothing. Errors: as Parts::keep_chunks_beside.
  ChunkedNumbers(const std::string& output, ShardHeader header, const std::string& input,
                 const ChunkedWork& work);

  // With a Restart that goes on: the output is there already, whole and of this run. Then nothing is to be
  // made; close() is not called.
  bool is_whole() const { return whole_; }
  // The output is the file of a shard, which this object writes; else the caller writes it.
  bool is_shard() const { return writer_ != nullptr; }
  Parts& parts() { return parts_; }
  // `finish` closes the outputs, which are `files`; none of a shard. As Parts::close().
  void close(const std::vector<std::string>& files, const std::function<void()>& finish);

 private:
  Parts parts_;
  std::string output_;
  ShardHeader header_;
  bool tell_ = false;
  bool whole_ = false;
  std::unique_ptr<ShardFileWriter> writer_;
};

}  // namespace bigbird
