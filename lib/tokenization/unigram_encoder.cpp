// Viterbi's search over a trie of pieces; see unigram_encoder.h.
#include "lib/tokenization/unigram_encoder.h"

#include <algorithm>
#include <bit>

#include "lib/tokenization/text_steps.h"

namespace bigbird {
namespace {

constexpr double unknown_penalty = 10.0;

}  // namespace

UnigramEncoder::UnigramEncoder(const std::vector<UnigramPiece>& pieces, std::uint32_t unknown,
                               double lowest_score)
    : unknown_(unknown), unknown_score_(lowest_score - unknown_penalty) {
  // Sorted, pieces share the path of the one before them, and the number of nodes is known before the table.
  std::vector<const UnigramPiece*> sorted;
  for (const UnigramPiece& piece : pieces) sorted.push_back(&piece);
  std::sort(sorted.begin(), sorted.end(),
            [](const UnigramPiece* a, const UnigramPiece* b) { return a->text < b->text; });
  const auto shared = [&](std::size_t i) {
    if (i == 0) return std::size_t{0};
    const std::string& a = sorted[i - 1]->text;
    const std::string& b = sorted[i]->text;
    std::size_t length = 0;
    while (length < std::min(a.size(), b.size()) && a[length] == b[length]) ++length;
    return length;
  };
  std::size_t nodes = 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) nodes += sorted[i]->text.size() - shared(i);
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(nodes + nodes / 2, 64));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots));
  edges_.assign(slots, {});
  values_.reserve(nodes);
  values_.emplace_back();
  std::vector<std::uint32_t> path{0};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string& text = sorted[i]->text;
    path.resize(shared(i) + 1);
    for (std::size_t at = path.size() - 1; at < text.size(); ++at) {
      const auto added = static_cast<std::uint32_t>(values_.size());
      values_.emplace_back();
      insert_edge(std::uint64_t{path.back()} << 8 | static_cast<unsigned char>(text[at]), added);
      path.push_back(added);
    }
    values_[path.back()] = {sorted[i]->id, sorted[i]->score};
  }
}

void UnigramEncoder::insert_edge(std::uint64_t key, std::uint32_t node) {
  std::size_t at = (key * 0x9E3779B97F4A7C15ull) >> shift_;
  while (edges_[at].node != none) at = (at + 1) & (edges_.size() - 1);
  edges_[at] = {key, node};
}

std::uint32_t UnigramEncoder::next(std::uint32_t node, unsigned char byte) const {
  const std::uint64_t key = std::uint64_t{node} << 8 | byte;
  std::size_t at = (key * 0x9E3779B97F4A7C15ull) >> shift_;
  while (edges_[at].node != none) {
    if (edges_[at].key == key) return edges_[at].node;
    at = (at + 1) & (edges_.size() - 1);
  }
  return none;
}

void UnigramEncoder::encode(std::string_view word, std::vector<FoundPiece>& found) const {
  constexpr std::size_t unreached = ~std::size_t{0};
  struct Best {
    std::size_t begin = unreached;  // of the piece that ends here on the best path
    double score = 0;
    std::uint32_t id = none;
  };
  std::vector<Best> ends(word.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t end, double score, std::uint32_t id) {
    const double sum = ends[begin].score + score;
    Best& best = ends[end];
    if (best.begin == unreached || sum > best.score) best = {begin, sum, id};
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t length = character_length(word, begin);
    bool single = false;
    std::uint32_t node = 0;
    for (std::size_t at = begin; at < word.size(); ++at) {
      node = next(node, static_cast<unsigned char>(word[at]));
      if (node == none) break;
      if (values_[node].id == none) continue;
      offer(begin, at + 1, values_[node].score, values_[node].id);
      single = single || at + 1 - begin == length;
    }
    if (!single) offer(begin, begin + length, unknown_score_, unknown_);
    begin += length;
  }
  const std::size_t first = found.size();
  for (std::size_t end = word.size(); end > 0;) {
    const Best& best = ends[end];
    if (best.id == unknown_ && found.size() > first && found.back().id == unknown_) {
      found.back().begin = best.begin;
    } else {
      found.push_back({best.id, best.begin, end});
    }
    end = best.begin;
  }
  std::reverse(found.begin() + static_cast<std::ptrdiff_t>(first), found.end());
}

}  // namespace bigbird
