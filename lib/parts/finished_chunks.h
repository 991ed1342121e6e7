// Work on a long input, cut into numbered chunks: a shard takes every N-th of them, so that N machines share
// an input whose length nobody knows, and finished ones are kept on disk until the output is whole, so that a
// run that was stopped goes on where it stood. Parts::run() (parts.h) is the loop above both.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/io/files/lease.h"

namespace bigbird {

// One of `count` runs that share an input: it takes the chunks whose number, divided by `count`, leaves
// index - 1.
struct Shard {
  std::uint64_t index = 1;
  std::uint64_t count = 1;

  bool takes(std::uint64_t chunk) const { return chunk % count == index - 1; }
  bool is_whole_run() const { return count == 1; }
};

// "2/10" is the second of ten. Error{usage} for anything else than I/N with 1 <= I <= N <= 100,000.
Shard parse_shard(std::string_view text);

// What to do with the finished chunks of an earlier run.
enum class Restart {
  refuse,     // Error{usage} that says how to go on
  resume,     // take them; Error{bad_input} where they are of another run
  automatic,  // take them where they are of this run, else remove them; wait for a process that holds them
  force       // remove them
};
// resume or automatic: an output that is whole and of this run is not made again.
bool goes_on(Restart restart);

// Whether the finished chunks of a run that writes to `output` can be kept: a pipe, a device and stdout ("-")
// are written as they come, and nothing of such a run can be taken up again. Error{usage} for Restart::resume
// there.
bool chunks_can_be_kept(const std::string& output, Restart restart);

// The folder of a run's finished chunks: "run.json" is what the run was, "chunk-00000012" what came out for
// chunk 12. Every file appears whole or not at all, and so does the folder, with its run.json: it is made by
// the first save(), and gone in one step. One without run.json that holds nothing but parts was left by a
// process that was killed by an earlier version; it counts as none, and is removed. Beside it,
// FOLDER.lease says which process works on it (lease.h), from the constructor to the end of the object's
// life.
class FinishedChunks {
 public:
  // Keeps nothing: for outputs that cannot be resumed.
  FinishedChunks() = default;
  // `identity`: everything that the chunks depend on, as text. With Restart::resume the identity that lies in
  // the folder must be the same: Error{bad_input}.
  // Error{runtime}: another process works on it (Restart::automatic waits for that one).
  FinishedChunks(const std::string& folder, const std::string& identity, Restart restart);

  // Whether save() keeps anything.
  bool keeps() const { return !folder_.empty(); }
  // What was saved for a chunk, when the run is a resumed one and has it; nothing, with a warning, when the
  // file is damaged: it is made again. `input_digest`: 64 letters that stand for the chunk's input.
  // Error{bad_input} when it was made from another input; with Restart::automatic nothing then.
  std::optional<std::string> load(std::uint64_t chunk, std::string_view input_digest) const;
  // What lies on the disk when the machine itself stops is what was saved up to the last sync, which comes by
  // time (once a second at most, for a tenth of the time at most) and not by chunk. A killed process loses
  // nothing of it. Error{runtime} where another process took over, as Lease::check().
  void save(std::uint64_t chunk, std::string_view input_digest, std::string_view bytes);
  // Runs what puts the outputs of the finished chunks in their places. Where that is an Error{bad_input}, as
  // of an input of which nothing can be scored, the same chunks would end in it again: they are removed.
  void use_for(const std::function<void()>& put_in_place) const;
  // Where a chunk lies, to name it in an error.
  std::string path(std::uint64_t chunk) const;
  // The output is whole, or nothing can come of the parts: nothing is kept any longer.
  void remove() const;

 private:
  std::string identity_path() const { return folder_ + "/run.json"; }
  bool is_of_no_run() const;
  void sync_in_time();

  std::string folder_;  // empty: keeps nothing
  std::string identity_;
  std::optional<Lease> lease_;
  bool resumed_ = false;
  bool strict_ = true;  // a chunk that does not fit is an error
  bool made_ = false;
  std::chrono::steady_clock::time_point next_sync_{};
};

}  // namespace bigbird
