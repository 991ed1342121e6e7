// Pretraining samples out of token shards, each a function of its number alone: a run stopped anywhere goes
// on from a counter, and any number of threads or machines draws the same samples.
//
// Pieces. Every document is cut, once, into pieces: whole sentences are packed greedily until the next one
// would take the piece past the budget (length - 3 tokens with pairs, length - 2 without). A sentence longer
// than the budget is cut into stretches of the budget, and its rest opens the next piece; so every token of
// the shards lies in exactly one piece, save pieces of a single token, which are left out when pairs are
// wanted.
//
// With pairs (next-sentence prediction, docs/specification.md 4.2): a piece is split at a random inner
// sentence boundary into A and B (at a random token when it has none). For half of the samples B stays (label
// 0: B follows A); for the others B is a run of consecutive sentences from another random document, begun at
// a random sentence and cut to at most the length of the B it replaces (label 1). The sample is [CLS] A [SEP]
// B [SEP] with types 0 up to the first [SEP] and 1 after it. Without pairs: [CLS] tokens [SEP], all of type
// 0.
//
// Text (TokenShards::is_text) without pairs has joined documents for pieces (joined_documents.h): a sample is
// [CLS] documents with a [SEP] between two [SEP], all of type 0. With pairs it is cut as above.
//
// With sentences (BigBird-ETC, which has a global token for each) DNA and text alike have joined documents
// for pieces, cut between sentences, and every document of a sample begins with a [CLS] of its own: [CLS] A
// [CLS] B, all of type 1. DNA always joins. PretrainSample::sentences tells where they are.
//
// To predict next tokens there is no [SEP] behind a sample, and a token more: [CLS] tokens, of which all but
// the last are read and all but the first predicted.
//
// An epoch visits every piece once. Draw number g is piece permutation_e(g mod N) of epoch e = g / N; the
// split, the label and the random B are drawn for g, so every epoch pairs anew. Joined documents are packed
// anew for every epoch, so that N differs a little between epochs; draws go on from one to the next all the
// same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/rng.h"
#include "lib/data/joined_documents.h"
#include "lib/data/token_shards.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

struct PretrainSamplerOptions {
  std::int64_t length = 4096;  // most tokens of a sample, special ones included
  bool pairs = true;           // A and B, for next-sentence prediction
  std::uint64_t seed = 1;
  std::int64_t sentences = 0;  // most of a sample, where they are asked for; 0: they are not. Not with pairs
  bool next = false;           // `length` tokens that are read, and one more. Not with pairs or sentences
};

struct PretrainSample {
  std::vector<std::int32_t> ids;    // special tokens included
  std::vector<std::int32_t> types;  // 0 or 1, one per id
  std::int32_t next_label = 0;      // 0: B follows A, 1: B is from another document; 0 without pairs
  // Where they are asked for; all ids but the [CLS] of each document are in one of them.
  std::vector<SentenceSpan> sentences;
};

// Immutable: safe from many threads. Refers to the shards, which must outlive it.
class PretrainSampler {
 public:
  // Error{bad_input} when the shards hold no piece, or pairs are wanted from fewer than two documents;
  // Error{usage} for a length without room for two tokens.
  PretrainSampler(const TokenShards& shards, const SpecialIds& special,
                  const PretrainSamplerOptions& options);
  // The same; of text without pairs, and with sentences, joined documents. Error{bad_input} for text shards
  // and a vocabulary that does not mark where words begin.
  PretrainSampler(const TokenShards& shards, const Tokenizer& tokenizer,
                  const PretrainSamplerOptions& options);

  // Pieces in the order of the shards, which is samples of an epoch (of joined documents: about as many).
  std::uint64_t size() const { return joined_ != nullptr ? joined_->size() : pieces_.size(); }
  const PretrainSamplerOptions& options() const { return options_; }
  // Most ordinary (not special) tokens of a sample.
  std::int64_t budget() const { return budget_; }
  const SpecialIds& special() const { return special_; }

  // The sample of draw g in training order, g = 0, 1, ... without end.
  PretrainSample training_sample(std::uint64_t draw) const;
  // The sample of a piece in the order of the shards, for evaluation; draw keys its random choices.
  PretrainSample sample(std::uint64_t piece, std::uint64_t draw) const;

 private:
  struct Piece {
    std::uint64_t sentence = 0;  // begins in this sentence,
    std::uint32_t offset = 0;    // at this token of it,
    std::uint32_t tokens = 0;    // and goes on through the following sentences
  };
  // A document that has pieces: [first_piece, first_piece of the next).
  struct UsableDocument {
    std::uint64_t document = 0;
    std::uint64_t first_piece = 0;
  };

  void check_budget() const;
  void require_pieces(bool found) const;
  void cut_documents();
  void cut_document(std::uint64_t document);
  void join_documents(const Tokenizer& tokenizer);
  template <typename Append>
  PretrainSample joined_sample(const Append& append) const;
  std::size_t document_of(std::uint64_t piece) const;
  void append_tokens(std::uint64_t sentence, std::size_t offset, std::size_t tokens,
                     std::vector<std::int32_t>& ids) const;
  std::size_t split_point(const Piece& piece, CounterRng& rng) const;
  void append_random_run(std::size_t own_document, std::size_t tokens, CounterRng& rng,
                         std::vector<std::int32_t>& ids) const;

  const TokenShards& shards_;
  SpecialIds special_;
  PretrainSamplerOptions options_;
  std::int64_t budget_ = 0;
  std::vector<Piece> pieces_;
  std::vector<UsableDocument> documents_;
  std::unique_ptr<const JoinedDocuments> joined_;  // instead of the two, where documents are joined
};

}  // namespace bigbird
