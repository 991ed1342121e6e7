// Types of pieces in the bytes of a SentencePiece model, changed in place. A model that the library loads
// must read text literally: a document that says "[SEP]" or "<t>" gives ordinary pieces, whatever the model's
// type and the library's version (a BPE model matches its user-defined pieces in text, a unigram model with
// equal scores does not, and version 0.2 does again). Control pieces are never matched.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "lib/tokenization/sentencepiece_model.h"

namespace bigbird {

// Calls type_of(id, text, type) for every piece of `bytes`, which parse_sentencepiece_model has read, and
// puts what it returns in the place of the type. A piece that states no type (a normal one) keeps it.
std::string with_piece_types(
    std::string bytes, const std::function<PieceType(std::size_t, std::string_view, PieceType)>& type_of);

// User-defined pieces become control pieces.
std::string literal_model(const std::string& bytes);

}  // namespace bigbird
