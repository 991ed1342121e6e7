// Which sentences of a document are masked, and documents as pretraining has them: a function of (seed, draw)
// alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/text/hibert/documents.h"

namespace bigbird {

// What stands in the place of a sentence that is to be written: the mask piece for each of its pieces but the
// end (80 %), the sentence itself (10 %), or a sentence of another document (10 %).
enum class SentenceChange { masked, kept, replaced };

struct ChosenSentence {
  std::size_t sentence = 0;
  SentenceChange change = SentenceChange::masked;
  std::size_t document = 0, other = 0;  // of replaced: whose sentence takes the place
};

// min(max(1, 15 % rounded down), 5).
std::size_t sentences_to_choose(std::size_t sentences);

// Of document `document` of those with so many sentences, ascending, without replacement. A replacement is a
// sentence of any other document; where there is none the sentence is masked.
std::vector<ChosenSentence> choose_sentences(std::uint64_t seed, std::uint64_t draw, std::size_t document,
                                             const std::vector<std::size_t>& sentence_counts);

// The sentence counts of documents, as choose_sentences() takes them.
std::vector<std::size_t> sentence_counts(const SentenceDocuments& documents);

// Appends the document with its chosen sentences changed, and what is to be written.
void append_masked_document(Batch& batch, const ModelConfig& config, const SentenceDocuments& documents,
                            std::size_t document, const std::vector<ChosenSentence>& chosen,
                            std::int32_t mask_id);

}  // namespace bigbird
