// The definitions of tokenization.h written out with strings, a map and a set, recounting everything at every
// step.
#include "reference/tokenization.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace bigbird::reference {
namespace {

using Symbols = std::vector<std::string>;
using Pair = std::pair<std::string, std::string>;

Symbols letters_of(const std::string& sentence) {
  Symbols symbols;
  for (const char letter : sentence) symbols.emplace_back(1, letter);
  return symbols;
}

// Where `pair` occurs, scanned from left to right, an occurrence starting only where the one before it has
// ended.
std::vector<std::size_t> occurrences(const Symbols& symbols, const Pair& pair) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i + 1 < symbols.size();) {
    const bool here = symbols[i] == pair.first && symbols[i + 1] == pair.second;
    if (here) found.push_back(i);
    i += here ? 2 : 1;
  }
  return found;
}

std::map<Pair, std::int64_t> count_adjacent(const std::vector<Symbols>& sentences) {
  std::map<Pair, std::int64_t> counts;
  for (const Symbols& symbols : sentences) {
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) ++counts[{symbols[i], symbols[i + 1]}];
  }
  return counts;
}

std::map<Pair, std::int64_t> count_apart(const std::vector<Symbols>& sentences) {
  std::map<Pair, std::int64_t> counts;
  for (const Symbols& symbols : sentences) {
    std::set<Pair> present;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) present.emplace(symbols[i], symbols[i + 1]);
    for (const Pair& pair : present) {
      counts[pair] += static_cast<std::int64_t>(occurrences(symbols, pair).size());
    }
  }
  return counts;
}

Symbols merged(const Symbols& symbols, const Pair& pair) {
  Symbols result;
  std::size_t next = 0;
  for (const std::size_t start : occurrences(symbols, pair)) {
    for (; next < start; ++next) result.push_back(symbols[next]);
    result.push_back(pair.first + pair.second);
    next = start + 2;
  }
  for (; next < symbols.size(); ++next) result.push_back(symbols[next]);
  return result;
}

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

// Merges the adjacent pair of lowest rank(left, right), the leftmost of several, until every pair has
// `never`.
template <typename Rank>
Symbols merge_all(const std::string& sentence, const Rank& rank) {
  Symbols symbols = letters_of(sentence);
  for (;;) {
    std::size_t best_rank = never;
    std::size_t best_position = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const std::size_t found = rank(symbols[i], symbols[i + 1]);
      if (found < best_rank) {
        best_rank = found;
        best_position = i;
      }
    }
    if (best_rank == never) return symbols;
    symbols[best_position] += symbols[best_position + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best_position) + 1);
  }
}

}  // namespace

std::vector<BpePiece> train_bpe(const std::vector<std::string>& sentences, std::int64_t number_of_pieces,
                                std::int64_t max_piece_length, BpePairs pairs) {
  std::vector<Symbols> corpus;
  for (const std::string& sentence : sentences) {
    if (sentence.find_first_not_of(bpe_alphabet) != std::string::npos) {
      throw std::invalid_argument("a sentence holds a character other than A, C, G, T, N");
    }
    corpus.push_back(letters_of(sentence));
  }
  std::map<std::string, std::size_t> age{{"A", 0}, {"C", 1}, {"G", 2}, {"N", 3}, {"T", 4}};
  const auto before = [&](const BpePiece& a, const BpePiece& b) {
    if (a.count != b.count) return a.count > b.count;
    if (pairs == BpePairs::adjacent) {
      return std::make_pair(age.at(a.left), age.at(a.right)) <
             std::make_pair(age.at(b.left), age.at(b.right));
    }
    return std::make_tuple(a.piece.size(), a.piece, a.left.size()) <
           std::make_tuple(b.piece.size(), b.piece, b.left.size());
  };
  std::vector<BpePiece> learnt;
  while (static_cast<std::int64_t>(learnt.size()) < number_of_pieces) {
    std::vector<BpePiece> candidates;
    const auto counts = pairs == BpePairs::adjacent ? count_adjacent(corpus) : count_apart(corpus);
    for (const auto& [pair, count] : counts) {
      const std::string piece = pair.first + pair.second;
      if (static_cast<std::int64_t>(piece.size()) > max_piece_length) continue;
      candidates.push_back({piece, pair.first, pair.second, count});
    }
    const auto best = std::min_element(candidates.begin(), candidates.end(), before);
    if (best == candidates.end() || best->count < 2) break;
    for (Symbols& symbols : corpus) symbols = merged(symbols, {best->left, best->right});
    age.emplace(best->piece, age.size());
    learnt.push_back(*best);
  }
  return learnt;
}

std::vector<std::string> encode_bpe(const std::string& sentence, const std::vector<std::string>& pieces) {
  std::map<std::string, std::size_t> rank;
  for (std::size_t i = 0; i < pieces.size(); ++i) rank.emplace(pieces[i], i);
  return merge_all(sentence, [&](const std::string& left, const std::string& right) {
    const auto found = rank.find(left + right);
    return found == rank.end() ? never : found->second;
  });
}

std::vector<std::string> encode_bpe_merges(const std::string& sentence, const std::vector<Pair>& merges) {
  std::map<Pair, std::size_t> rank;
  for (std::size_t i = 0; i < merges.size(); ++i) rank.emplace(merges[i], i);
  return merge_all(sentence, [&](const std::string& left, const std::string& right) {
    const auto found = rank.find({left, right});
    return found == rank.end() ? never : found->second;
  });
}

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
