// Longest match from the right; see longest_match.h.
#include "reference/longest_match.h"

#include <set>

namespace bigbird::reference {

std::vector<MatchedPiece> longest_match_from_the_right(const std::u32string& text,
                                                       const std::vector<std::u32string>& pieces) {
  const std::set<std::u32string> known(pieces.begin(), pieces.end());
  std::vector<MatchedPiece> result;
  for (std::size_t at = 0; at < text.size();) {
    while (at < text.size() && text[at] == U' ') ++at;
    std::size_t end = at;
    while (end < text.size() && text[end] != U' ') ++end;
    if (at == end) break;
    const std::u32string word = U'\u2581' + text.substr(at, end - at);
    const std::size_t sign = at == 0 ? 0 : at - 1;  // where the word sign begins in the text
    const auto place = [&](std::size_t i) { return i == 0 ? sign : at + i - 1; };
    std::vector<MatchedPiece> backwards;
    for (std::size_t right = word.size(); right > 0;) {
      std::size_t left = 0;
      while (left < right && !known.contains(word.substr(left, right - left))) ++left;
      const bool found = left < right;
      if (!found) left = right - 1;
      if (!found && !backwards.empty() && !backwards.back().known) {
        backwards.back().piece = word.substr(left, right - left) + backwards.back().piece;
        backwards.back().begin = place(left);
      } else {
        backwards.push_back({word.substr(left, right - left), place(left), place(right - 1) + 1, found});
      }
      right = left;
    }
    result.insert(result.end(), backwards.rbegin(), backwards.rend());
    at = end;
  }
  return result;
}

}  // namespace bigbird::reference
