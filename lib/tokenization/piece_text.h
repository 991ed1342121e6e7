// From ids back to text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace bigbird {

class Tokenizer;

// The text of pieces of a SentencePiece vocabulary: signs of word starts become blanks, the first of the text
// is dropped. Special pieces are left out, as transformers' skip_special_tokens does, but for the line mark
// "<n>" of Pegasus. Error{bad_input} for an id that is no piece.
std::string text_of_pieces(const Tokenizer& tokenizer, std::span<const std::int32_t> ids);

}  // namespace bigbird
