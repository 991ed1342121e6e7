// See piece_text.h.
#include "lib/tokenization/piece_text.h"
#include "lib/tokenization/tokenizer.h"

#include <string_view>

namespace bigbird {

std::string text_of_pieces(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  constexpr std::string_view line_mark = "<n>";
  const std::string_view word_start = tokenizer.word_start();
  std::string text;
  for (const std::int32_t id : ids) {
    if (static_cast<std::size_t>(id) >= tokenizer.vocab_size()) continue;  // a row that stands for no piece
    const std::string_view piece = tokenizer.piece(static_cast<std::uint32_t>(id));
    if (tokenizer.is_special(static_cast<std::uint32_t>(id)) && piece != line_mark) continue;
    for (std::size_t i = 0; i < piece.size();) {
      const bool begins = piece.compare(i, word_start.size(), word_start) == 0;
      text += begins ? ' ' : piece[i];
      i += begins ? word_start.size() : 1;
    }
  }
  return text.starts_with(' ') ? text.substr(1) : text;
}

}  // namespace bigbird
