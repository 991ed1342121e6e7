// Outputs of text that are made in parts (parts.h); what goes to the standard output goes there chunk by
// chunk. Beside each output of a shard, OUT.shard.json says what is needed to put them together
// (side_file.h). For verbs whose every output is one file of rows, or JSON with entries in lines of their
// own.
//
//   ChunkedOutputs outputs({{"out.tsv", "tsv", ChunkForm::lines, "#id\tlabel\n"}}, identity, "in.csv", work);
//   if (outputs.are_whole()) return;
//   outputs.run<Text>([&](Text& text) { return texts.next(text); }, add_text, [&](std::vector<Text>& chunk) {
//     for (const Text& text : chunk) outputs.write(0, row(text));
//   }, {"in.csv: there are no texts", "give one at least"});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/parts/parts.h"
#include "lib/parts/side_file.h"

namespace bigbird {

struct ChunkedOutput {
  std::string path;  // "-": stdout
  std::string kind;  // what is in it, "tsv", "nbest"; outputs of one kind are shards of one another
  ChunkForm form = ChunkForm::lines;
  std::string head = {};  // of ChunkForm::lines: written once
};

class ChunkedOutputs {
 public:
  // Finished chunks are kept beside the first output. Errors: as Parts::keep_chunks_beside.
  ChunkedOutputs(std::vector<ChunkedOutput> outputs, const RunIdentity& identity, const std::string& input,
                 const ChunkedWork& work);
  ~ChunkedOutputs();
  ChunkedOutputs(const ChunkedOutputs&) = delete;
  ChunkedOutputs& operator=(const ChunkedOutputs&) = delete;

  // With a Restart that goes on: every output is there already, whole and of this run. Then nothing is to be
  // made; run() is not called.
  bool are_whole() const { return whole_; }

  // Makes the outputs, and puts them in their places; without that nothing is left behind but finished
  // chunks. `next(record)` is false behind the last one; `add_to_digest(sha256, record)` takes all that is
  // made of it; `make(chunk)` writes a chunk. `nothing`: the message and hint of the Error{bad_input} for an
  // input without records; empty: it is none.
  struct Nothing {
    std::string message, hint;
  };
  template <typename Record, typename Next, typename AddToDigest, typename Make>
  void run(const Next& next, const AddToDigest& add_to_digest, const Make& make, const Nothing& nothing) {
    using Records = std::vector<Record>;
    PartSteps<Records, Texts> steps;
    bool more = true;  // a reader is not asked again behind its end
    steps.read = [&](Records& chunk) {
      return more &&
             read_records(chunk, parts_.chunk_size(), [&](Record& record) { return more = next(record); });
    };
    steps.key = [&](const Records& chunk) { return key_of_records(chunk, add_to_digest); };
    steps.begin = [&](Records& chunk, const std::function<void(Texts)>& done) {
      texts_.of.assign(outputs_.size(), "");
      make(chunk);
      done(std::move(texts_));
    };
    steps.write = [&](Records&, const Texts& texts, const ChunkPlace&) { append(texts); };
    parts_.run(steps);
    if (records() == 0 && !nothing.message.empty()) throw_bad_input(nothing.message, nothing.hint);
    close();
  }
  // Text of the chunk at hand for one of the outputs.
  void write(std::size_t output, std::string_view text) { texts_.of[output] += text; }

  // Of all chunks, those of other shards too; those that were finished by the run before.
  std::uint64_t records() const { return parts_.records(); }
  std::uint64_t resumed_records() const { return parts_.resumed_records(); }

 private:
  struct Output;
  // Of a chunk, for each output.
  struct Texts {
    std::vector<std::string> of;
  };
  template <typename Bytes>
  friend void pass(Bytes& bytes, Texts& texts) {
    if constexpr (Bytes::reads) {
      while (!bytes.at_end()) bytes(texts.of.emplace_back());
    } else {
      for (std::string& text : texts.of) bytes(text);
    }
  }

  void append(const Texts& texts);
  void close();
  // What is known of an output before a record is read.
  OutputShard facts_of(const ChunkedOutput& output) const;

  Parts parts_;
  RunIdentity identity_;
  std::string input_;
  FileDigest input_file_;  // not known where nobody will ask
  bool tell_ = false;
  bool whole_ = false;
  std::vector<std::unique_ptr<Output>> outputs_;
  Texts texts_;  // of the chunk at hand
};

}  // namespace bigbird
