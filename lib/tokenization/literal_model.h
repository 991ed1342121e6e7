// Types of pieces in the bytes of a SentencePiece model, changed in place. A model that the library loads
// must read the names of special pieces literally: a document that says "[SEP]" or "<t>" gives ordinary
// pieces, whatever the model's type. Control pieces are never matched. What a user had the trainer define
// (--user_defined_symbols) stays as it is: one piece, wherever it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "lib/tokenization/sentencepiece_model.h"

namespace bigbird {

// Calls type_of(id, text, type) for every piece of `bytes`, which parse_sentencepiece_model has read, and
// puts what it returns in the place of the type. A piece that states no type (a normal one) keeps it.
std::string with_piece_types(
    std::string bytes, const std::function<PieceType(std::size_t, std::string_view, PieceType)>& type_of);

// User-defined pieces become control pieces where their names are reserved (is_reserved_text,
// text_vocabulary.h) or their ids are among `special`.
std::string literal_model(const std::string& bytes, std::span<const std::uint32_t> special = {});

}  // namespace bigbird
