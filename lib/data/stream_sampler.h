// Segments of documents side by side, for models that remember (Dai et al. 2019, section 3.2): streams read
// documents from their first token to their last, a segment after the other. Each segment is a function of
// (seed, stream, number), so that a run goes on from a counter and any rank makes what is its own.
//
// A document is read as [CLS] tokens, and its tokens are predicted; of text [SEP] behind the last one too. It
// is cut into segments of `length` tokens, the last one shorter. The next document begins with a segment of
// its own, in which nothing is remembered.
//
// An epoch deals the documents, in a random order, to the streams in turn: stream s has those at places s,
// s + S, ... A stream that is through goes on with its documents of the next epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/data/token_shards.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

struct StreamOptions {
  std::int64_t length = 512;  // tokens of a segment
  std::int64_t streams = 1;   // S
  std::uint64_t seed = 1;
  // One passage in the order of the shards, as an evaluation takes: with fewer documents there are fewer
  // streams. Of the documents a random choice may be taken, so many that their segments are `segments` or
  // just above; 0: all.
  bool once = false;
  std::uint64_t segments = 0;
};

struct StreamSegment {
  std::vector<std::int32_t> ids;     // that are read, 1 to `length`
  std::vector<std::int32_t> labels;  // the token behind each of them
  bool begins = false;               // a document
};

// Where a segment begins: the number of its document in the shards, and of its first id there, [CLS] being 0.
struct StreamPlace {
  std::uint64_t document = 0;
  std::int64_t token = 0;
};

// Safe from many threads. Refers to the shards, which must outlive it. Memory: 8 bytes a document, and 16 a
// document for each of two epochs.
class StreamSampler {
 public:
  // Error{usage} where there are fewer documents than streams, or fewer tokens than a segment for each.
  StreamSampler(const TokenShards& shards, const SpecialIds& special, const StreamOptions& options);

  const StreamOptions& options() const { return options_; }
  // Of all documents that are read, which is those of an epoch.
  std::uint64_t segments() const { return all_segments_; }

  // Segments of a stream of one passage.
  std::uint64_t segments_of_stream(std::int64_t stream) const;
  // Of one passage: where segment `number` of a stream begins.
  StreamPlace place(std::int64_t stream, std::uint64_t number) const;
  // Segment `number` = 0, 1, ... of a stream: of the passage, or, in training order, without end.
  StreamSegment segment(std::int64_t stream, std::uint64_t number) const;

 private:
  // The documents of a stream in one epoch, and the segments before each.
  struct Passage {
    std::vector<std::uint64_t> documents;
    std::vector<std::uint64_t> first_segments{0};  // one more than documents

    std::uint64_t segments() const { return first_segments.back(); }
  };

  std::uint64_t segments_of(std::uint64_t document) const;
  template <typename Order>
  Passage passage(std::int64_t stream, const Order& order) const;
  std::shared_ptr<const Passage> passage_of(std::int64_t stream, std::uint64_t epoch) const;
  static std::size_t document_of(const Passage& passage, std::uint64_t number);
  StreamSegment segment_of(const Passage& passage, std::uint64_t number) const;

  const TokenShards& shards_;
  StreamOptions options_;
  std::int32_t cls_, sep_;
  std::vector<std::uint64_t> documents_;  // that have tokens, ascending
  std::uint64_t all_segments_ = 0;
  std::vector<Passage> once_;  // by stream
  mutable std::mutex mutex_;
  // Segments of a stream before each epoch that was met, and the passages of the last ones.
  mutable std::map<std::int64_t, std::vector<std::uint64_t>> first_numbers_;
  mutable std::map<std::pair<std::int64_t, std::uint64_t>, std::shared_ptr<const Passage>> passages_;
};

}  // namespace bigbird
