// Where sentences to tokenize come from: documents (BED12), windows (BED) or records of a FASTA, or lines of
// text. A source plans documents one after another, cheaply; a loader fetches their letters, one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/genome/fasta.h"

namespace bigbird {

// Exactly one of: fasta alone (records), fasta + documents, fasta + windows, text.
struct SourceOptions {
  std::string fasta;
  std::string documents;  // BED12: a document per line, a sentence per block
  std::string windows;    // BED3 or more: a document of one sentence per line
  std::string text;       // a sentence per line, a blank line between documents; "-" is the standard input
  bool dna = true;        // text holds DNA, read as base_letters.h says, other bytes are an Error; where
                          // false, a FASTA and a text whose first line is DNA are an Error
};

struct PlannedSentence {
  std::int64_t begin = 0;  // 0-based half-open on the contig; for text 0 and the length
  std::int64_t end = 0;
  std::int64_t length() const { return end - begin; }
};

// One document, planned. Sentences are in reading order: on the reverse strand from the last block to the
// first, each to be reverse-complemented.
struct PlannedDocument {
  std::string name;
  std::string contig_name;
  std::size_t contig = 0;
  bool reverse = false;
  std::vector<PlannedSentence> sentences;
  std::vector<std::string> texts;  // the sentences of a text source, read already
  std::int64_t bases() const;
};

class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  // False at the end. Errors name file and line: unknown contigs, intervals beyond their contig.
  virtual bool next(PlannedDocument& document) = 0;
  // The genome; null for text.
  virtual const Fasta* genome() const = 0;
  // IUPAC letters replaced by N so far.
  virtual std::uint64_t iupac_replaced() const = 0;
};

// Error{usage} when the options name no source or more than one.
std::unique_ptr<DocumentSource> open_source(const SourceOptions& options);

// Fetches sentences. One per thread; the source must outlive it.
class SentenceLoader {
 public:
  explicit SentenceLoader(const DocumentSource& source);
  // The sentences of the document, upper-cased, on its strand.
  std::vector<std::string> load(const PlannedDocument& document);

 private:
  std::optional<Fasta> genome_;
};

// The next documents of the source, until they hold max_bases or more or the source ends: the unit of
// parallel work, which bounds memory whatever the size of the input.
std::vector<PlannedDocument> next_batch(DocumentSource& source, std::int64_t max_bases);

}  // namespace bigbird
