// Text documents packed into samples. The paper joins short documents and splits long ones without saying how
// (appendix E.1); this is RoBERTa's FULL-SENTENCES with documents for sentences (Liu et al. 2019, section
// 4.2): attention crosses the border of two documents.
//
//   budget  tokens of a sample without its special pieces
//   short   a document of at most `budget` tokens joins the sample that is open, behind a separator, if both
//           fit; else that sample is closed and the document opens the next one
//   long    a longer document opens a sample and is cut into stretches of at most `budget` tokens, each as
//           long as it can be and ending where a word begins (inside of a word only where that word is longer
//           than the budget); its last stretch leaves its sample open
//   apart   without `join` every stretch is a sample of its own
//
// With `sentences`, for BigBird-ETC, whose global tokens are sentences (docs/specification.md 4.2): DNA and
// text alike are cut between sentences, as many to a stretch as fit, and at most so many in a sample. A
// sentence that is longer than the budget opens a stretch and is cut as a long document is, each part of it a
// sentence.
//
// Every token of the shards is in exactly one sample of an epoch; documents without tokens are left out.
// Epochs pack the documents in orders of their own, a function of (seed, epoch), and visit the samples in
// another order, so that the stretches of a book do not follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/data/token_shards.h"

namespace bigbird {

struct JoinedDocumentsOptions {
  std::int64_t budget = 4094;  // at least 1
  bool join = true;
  std::uint64_t seed = 1;
  std::int32_t separator = 0;
  std::int64_t sentences = 0;  // most of a sample; 0: nobody asks for them
};

// Where a sentence, or the part of a cut one, stands in a sample.
struct SentenceSpan {
  std::int32_t begin = 0;  // tokens [begin, end) of the sample, one at least
  std::int32_t end = 0;
  std::int32_t document = 0;  // of the sample's: 0, 1, ...

  std::int32_t size() const { return end - begin; }
  bool operator==(const SentenceSpan&) const = default;
};

// Safe from many threads. Refers to the shards, which must outlive it. Memory: 12 bytes a document and 8 a
// stretch (with `sentences` 16 and 24), 16 bytes a sample of the epochs in hand (two at most).
class JoinedDocuments {
 public:
  // starts_word: per id (word_starts() of mlm_masking.h); empty: cuts may fall anywhere. Reads tokens only
  // where long documents, or with `sentences` long sentences, are cut.
  JoinedDocuments(const TokenShards& shards, const std::vector<bool>& starts_word,
                  const JoinedDocumentsOptions& options);

  // Samples of the documents in the order of the shards.
  std::uint64_t size() const { return in_order_.size(); }
  // Samples of an epoch: each packs anew, so that this differs a little from epoch to epoch.
  std::uint64_t epoch_size(std::uint64_t epoch) const;

  // Appends a sample's tokens with separators between documents, no special pieces around them. In the order
  // of the shards, sample < size(); and of draw g = 0, 1, ... in the order of the epochs, which is without
  // end. spans, empty at first, gets the sentences in their order, by places in `ids`; only with `sentences`.
  void append_sample(std::uint64_t sample, std::vector<std::int32_t>& ids,
                     std::vector<SentenceSpan>* spans = nullptr) const;
  void append_draw(std::uint64_t draw, std::vector<std::int32_t>& ids,
                   std::vector<SentenceSpan>* spans = nullptr) const;

 private:
  // The stretch that a sample begins with: its document's place in the order, and its number in the document.
  struct Begin {
    std::uint64_t place = 0;
    std::uint64_t stretch = 0;
    bool operator==(const Begin&) const = default;
  };
  using Packing = std::vector<Begin>;
  // Where a stretch begins: at a token of a sentence of the shards.
  struct SentenceCut {
    std::uint64_t sentence = 0;
    std::uint64_t offset = 0;
  };

  void cut_document(std::uint64_t document, const std::vector<bool>& starts_word);
  void cut_between_sentences(std::uint64_t document, const std::vector<bool>& starts_word);
  // Tokens of the next stretch of what `tokens` has from `begin` on, which is more than the budget.
  std::uint64_t cut_inside(const TokenView& tokens, std::uint64_t begin,
                           const std::vector<bool>& starts_word) const;
  std::uint64_t cuts_of(std::uint64_t document) const {
    return first_cut_[document + 1] - first_cut_[document];
  }
  template <typename Order>
  Packing pack(const Order& order) const;
  template <typename Order>
  void append(const Packing& packing, std::uint64_t sample, const Order& order,
              std::vector<std::int32_t>& ids, std::vector<SentenceSpan>* spans) const;
  void append_stretch(std::uint64_t document, std::uint64_t stretch, std::vector<std::int32_t>& ids) const;
  void append_spans(std::uint64_t document, std::uint64_t stretch, std::int32_t begin, std::int32_t end,
                    std::vector<SentenceSpan>& spans) const;
  // Of an epoch; made when it is first asked for.
  std::shared_ptr<const Packing> packing_of(std::uint64_t epoch) const;
  std::uint64_t first_draw_of(std::uint64_t epoch) const;

  const TokenShards& shards_;
  JoinedDocumentsOptions options_;
  std::vector<std::uint64_t> first_cut_;     // per document, and one past the last: in cuts_
  std::vector<std::uint64_t> cuts_;          // tokens of the document before the cut
  std::vector<std::uint32_t> last_stretch_;  // per document: tokens of its last stretch, 0 without tokens
  // With `sentences` only: per cut where the stretch behind it begins, and per document how many sentences
  // its last stretch has.
  std::vector<SentenceCut> sentence_cuts_;
  std::vector<std::uint32_t> last_sentences_;
  Packing in_order_;

  mutable std::mutex mutex_;  // of what follows
  mutable std::map<std::uint64_t, std::shared_ptr<const Packing>> epochs_;
  mutable std::vector<std::uint64_t> first_draws_{0};  // of epochs 0, 1, ... as far as they are known
};

}  // namespace bigbird
