// HIBERT (Zhang et al. 2019) in double precision, forward and backward, without dropout: an encoder of
// sentences, whose last tokens stand for them, an encoder of documents over these, and a decoder that writes
// sentences, each given the vector of its own in every layer, or labels of sentences. All layers are post-LN,
// positions are sinusoids. docs/specification.md 2.14 has the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/encoder.h"
#include "reference/tensor.h"

namespace bigbird::reference {

struct HierarchyConfig {
  EncoderConfig encoder;  // of sentences; heads, width and activation are those of all three stacks
  std::size_t document_layers = 0;
  std::size_t decoder_layers = 0;
};

struct HierarchyInput {
  std::vector<std::vector<std::size_t>> sentences;  // ids, their end among them, document after document
  std::vector<std::size_t> sentence_counts;         // per document
  // Of sentences that are written, their numbers, what the decoder reads, and what is to stand behind each of
  // its tokens.
  std::vector<std::size_t> written;
  std::vector<std::vector<std::size_t>> read;
  std::vector<std::vector<std::int64_t>> next;
  std::vector<std::int64_t> labels;  // per sentence, 0, 1 or ignored_label; instead of what is written
};

struct HierarchyResult {
  Matrix token_states;     // (tokens, width) of the first encoder
  Matrix sentence_states;  // (sentences, width) of the second
  Matrix logits;           // (tokens that are read, vocabulary), or (sentences, 2)
  double loss = 0.0;       // mean over what has a label
  Parameters gradients;
};
HierarchyResult hierarchy(const HierarchyConfig& config, const Parameters& parameters,
                          const HierarchyInput& input, bool with_gradients = true);

// Row p, column 2i is sin(p / 10000^(2i / width)), column 2i + 1 the cosine.
Matrix sinusoid_table(std::size_t positions, std::size_t width);

}  // namespace bigbird::reference
