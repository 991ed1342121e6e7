// Outputs of numbers that are made in parts (parts.h), for files that cannot be put together from pieces:
// tracks, HDF5, calls that look at their neighbours. The output of a shard holds the bytes of its chunks
// (shard_file.h); of a whole run the caller writes the files. OUT.run.json lies beside either (side_file.h).
//
//   ChunkedNumbers run("out.h5", header, "in.bed", work);  // header: kind, identity, output
//   if (run.is_whole()) return;
//   const auto sink = run.is_shard() ? nullptr : make_sink();
//   run.parts().run(steps);  // which write to the sink
//   run.close({"out.h5"}, [&] { if (sink) sink->close(); });
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/parts/parts.h"
#include "lib/parts/shard_file.h"

namespace bigbird {

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
