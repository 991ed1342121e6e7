// A warm start across vocabularies: the rows of a model's word table (and the biases of its masked-token
// head) taken over for the pieces of another vocabulary, piece by piece, by what they stand for. RoBERTa and
// BigBird hold GPT-2's pieces under other numbers, so that rows taken by number would be garbage.
//
// Pieces are one when they stand for the same bytes: U+0120 of a byte-level vocabulary and U+2581 of a
// SentencePiece vocabulary are the blank, byte-level pieces are written in stand-ins for bytes, and so are
// those of the published spiece.model (told by its holding every stand-in).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model_folder/checkpoint.h"

namespace bigbird {

class Tokenizer;

// Of every piece of the new vocabulary the row of the old one, or -1: random.
struct VocabularyTransfer {
  std::vector<std::int64_t> rows;
  std::int64_t by_string = 0;
  std::int64_t special = 0;  // by what they are for: padding, unknown, [CLS] and <s>, [SEP] and </s>, mask
  std::int64_t random = 0;

  // "50,257 of 50,358 pieces mapped by string, 5 special, 96 random"
  std::string summary() const;
};

// True when the ids of both mean the same pieces.
bool same_vocabulary(const Tokenizer& a, const Tokenizer& b);

// The five special pieces go by their use; other special pieces and all ordinary ones by their string, never
// to one of the five.
VocabularyTransfer match_vocabularies(const Tokenizer& source, const Tokenizer& target);

// `config` with the size and the special ids of a vocabulary, and its digest.
ModelConfig with_vocabulary(const ModelConfig& config, const Tokenizer& target);

// Parameters for ParameterLayout(config): those of `source` where `config` is its own but for the vocabulary
// and the positions. Rows of the word table and biases of the masked-token head by `transfer`, random ones as
// initial_parameters(seed) has them; more positions than the source has are its rows from the first, again
// and again. Error{bad_input} naming the tensor: any other difference, a row beyond the source's table.
std::vector<float> transferred_parameters(const LoadedModel& source, const ModelConfig& config,
                                          const VocabularyTransfer& transfer, std::uint64_t seed);

}  // namespace bigbird
