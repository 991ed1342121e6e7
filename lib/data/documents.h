// Pretraining documents: runs of consecutive sentences laid over a chromosome (BigBird paper, appendix F.1).
// Pure functions of (seed, chromosome name, pass): no files here; lib/data/chunk.h reads and writes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/io/genome/interval_set.h"

namespace bigbird {

// One document. Positions are 0-based on the forward strand; sentences are adjacent, in genomic order, none
// is empty.
struct Document {
  std::int64_t begin = 0;
  std::vector<std::int32_t> sentence_lengths;

  std::int64_t bases() const;
  std::int64_t end() const { return begin + bases(); }
};

// The recipe of appendix F.1; every range includes both its ends.
struct DocumentRecipe {
  int passes = 10;
  std::int64_t max_start = 5000;
  std::int64_t min_sentences = 50;
  std::int64_t max_sentences = 100;
  std::int64_t min_sentence_length = 500;
  std::int64_t max_sentence_length = 1000;
};

// Throws Error{usage} for empty or negative ranges.
void check_recipe(const DocumentRecipe& recipe);

// The documents of one pass over one chromosome, in genomic order. Start q is uniform in 0..max_start; while
// q lies inside the chromosome a document of s sentences follows, and q moves to its end. The last document
// and its last sentence are truncated at the chromosome's end; a document left with fewer bases than the
// shortest sentence is dropped. `canonical_name` ("1", "X"; not "chr1") keys the draw, so that neither the
// naming of the genome, nor the order or the choice of chromosomes changes the documents of a chromosome.
std::vector<Document> draw_documents(std::string_view canonical_name, std::int64_t length, int pass,
                                     std::uint64_t seed, const DocumentRecipe& recipe);

// What is left out of the drawn documents. A sentence that touches an excluded base or whose fraction of N is
// above max_n_sentence is dropped, and its document is cut there into the documents before and after; then
// documents whose fraction of N is above max_n_document are dropped. Fractions are in [0, 1].
struct DocumentFilter {
  IntervalSet excluded;
  IntervalSet n_bases;
  double max_n_sentence = 1.0;
  double max_n_document = 1.0;

  bool keeps_everything() const {
    return excluded.empty() && (n_bases.empty() || (max_n_sentence >= 1.0 && max_n_document >= 1.0));
  }
};

// Counts of what a filter took away.
struct FilterCounts {
  std::int64_t sentences_excluded = 0;
  std::int64_t sentences_with_n = 0;
  std::int64_t documents_with_n = 0;
};

std::vector<Document> filter_documents(const std::vector<Document>& documents, const DocumentFilter& filter,
                                       FilterCounts& counts);

}  // namespace bigbird
