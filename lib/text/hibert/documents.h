// lib/text/hibert holds HIBERT: documents of sentences, the choice of sentences to mask, labels by ROUGE,
// training, and extracts.
//
// A document as a model of sentences reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/text/summary_pairs.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"

namespace bigbird {

class Tokenizer;

// The sentences of a text, none of them blank: its lines, where it has several (a list of sentences is read
// as lines), else stretches of the line. Such a one ends behind . ! or ?, with the quotation marks and
// brackets that follow, before white space, unless a small letter comes next.
std::vector<std::string> sentences_of(std::string_view text);

struct DocumentSentences {
  std::vector<std::vector<std::int32_t>> ids;  // each with its end
  std::vector<std::size_t> numbers;  // of each among sentences_of(): one without a piece is left out
  std::size_t cut = 0;               // sentences that lost pieces; their ends stay
};
// At most `length` tokens of each, its end (config.eos_token_id) included.
DocumentSentences encode_sentences(const Tokenizer& tokenizer, const ModelConfig& config,
                                   const std::vector<std::string>& sentences);

// Documents of a file, encoded; no more sentences of one than the model takes.
struct SentenceDocuments {
  std::vector<std::vector<std::vector<std::int32_t>>> documents;  // [document][sentence][token]
  // Where they are asked for (SummaryParts::both): 1 for each sentence of the extract that is nearest to the
  // summary (extract_labels.h).
  std::vector<std::vector<std::int32_t>> labels;
  std::size_t most_sentences = 0;
  std::size_t most_tokens = 0;  // of a document, each sentence in whole blocks
  std::size_t longest = 0;      // tokens of a sentence
  std::size_t sentences = 0;    // of all
  std::size_t read = 0;         // documents of the file, of which long ones are several here
};

// What is beyond the sentences that a model takes: documents of their own (pretraining), or left out.
enum class LongDocuments { split, cut };
// What was cut and passed over is said. Error{bad_input}: as SummaryPairs; a document without a sentence
// (`skip_bad` counts it and passes over); no documents.
SentenceDocuments read_sentence_documents(const std::string& path, const SummaryPairOptions& options,
                                          const Tokenizer& tokenizer, const ModelConfig& config,
                                          LongDocuments long_ones);
// Number and digest of what was read.
std::string identity_of(const SentenceDocuments& documents);

// Appends the sentences as one document.
void append_document(Batch& batch, const ModelConfig& config,
                     const std::vector<std::vector<std::int32_t>>& sentences);

// The most tokens of a sentence, its end included, as a run asks for them; 0: as they are. Error{usage} for
// fewer than 2, or more than the model has positions for.
void set_sentence_length(ModelConfig& config, std::int64_t length);

// Error{bad_input} naming the folder for a model that is no HIBERT.
void require_hibert(const ModelConfig& config, const std::string& folder);

}  // namespace bigbird
