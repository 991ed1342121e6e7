// Training a DNA vocabulary: a seeded sample of sentences, a trainer, a tokenizer folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/data/sentence_source.h"
#include "lib/io/files/provenance.h"
#include "lib/tokenization/bpe_trainer.h"

namespace bigbird {

struct VocabularyOptions {
  SourceOptions source;
  std::string output;                   // tokenizer folder
  bool overwrite = false;               // replace a folder that exists
  std::string trainer = "exact";        // or "apart", "sentencepiece"
  std::uint32_t vocab_size = 32000;     // with the special pieces and the letters
  std::uint32_t max_piece_length = 64;  // 0: no limit
  std::uint64_t sample_bases = 20'000'000;
  std::uint64_t seed = 1;
  std::optional<Provenance> provenance;
};

struct VocabularySummary {
  std::string trainer;
  std::uint64_t vocab_size = 0;
  std::uint64_t sample_sentences = 0;
  std::uint64_t sample_bases = 0;
  std::uint64_t sample_tokens = 0;
  std::uint64_t non_n_bases = 0;   // bases of the sample other than N
  std::uint64_t non_n_tokens = 0;  // tokens of the sample without any N
  std::uint64_t non_n_token_bases = 0;
  std::uint64_t n_pieces = 0;  // learnt pieces with an N
  std::string longest_piece;
  std::string longest_piece_without_n;

  double bases_per_token() const;
  double bases_per_token_without_n() const;
};

// The sentences whose turn comes first in a seeded permutation of all, as many as reach sample_bases, in the
// order of the source. Reads the source twice. Error{bad_input}: no sentences, or none with a base but N.
BpeSample sample_sentences(const SourceOptions& source, std::uint64_t sample_bases, std::uint64_t seed);

// Writes spiece.model, spiece.vocab, tokenizer_config.json and report.json; the folder appears whole or not
// at all. Error{usage}: a vocabulary smaller than its 10 fixed pieces.
VocabularySummary train_vocabulary(const VocabularyOptions& options);

}  // namespace bigbird
