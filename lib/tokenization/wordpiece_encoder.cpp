// WordPiece; see wordpiece_encoder.h.
#include "lib/tokenization/wordpiece_encoder.h"

#include <algorithm>

#include "lib/core/unicode.h"

namespace bigbird {

WordPieceEncoder::WordPieceEncoder(const std::vector<std::string>& pieces,
                                   const std::vector<std::uint8_t>& hidden, const std::string& prefix,
                                   std::size_t longest_word, std::uint32_t unknown)
    : longest_word_(longest_word), unknown_(unknown) {
  const auto add = [](Pieces& to, std::string text, std::uint32_t id) {
    if (text.empty()) return;
    to.longest = std::max(to.longest, text.size());
    to.ids[std::move(text)] = id;
  };
  for (std::uint32_t id = 0; id < pieces.size(); ++id) {
    if (hidden[id] != 0) continue;
    add(first_, pieces[id], id);
    if (pieces[id].starts_with(prefix)) add(further_, pieces[id].substr(prefix.size()), id);
  }
}

void WordPieceEncoder::encode(std::string_view word, std::vector<FoundPiece>& found) const {
  const std::size_t before = found.size();
  std::size_t begin = count_code_points(word) > longest_word_ ? word.size() : 0;
  while (begin < word.size()) {
    const Pieces& pieces = begin == 0 ? first_ : further_;
    std::size_t end = begin + std::min(word.size() - begin, pieces.longest);
    auto piece = pieces.ids.end();
    while (end > begin) {
      // A place within a character holds no piece, which is made of whole ones.
      piece = pieces.ids.find(word.substr(begin, end - begin));
      if (piece != pieces.ids.end()) break;
      --end;
    }
    if (piece == pieces.ids.end()) break;
    found.push_back({piece->second, begin, end});
    begin = end;
  }
  if (begin == word.size() && found.size() > before) return;
  found.resize(before);
  found.push_back({unknown_, 0, word.size()});
}

}  // namespace bigbird
