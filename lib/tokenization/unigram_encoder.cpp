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
    longest_ = std::max(longest_, text.size());
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

std::size_t UnigramEncoder::follow(std::string_view letters, std::size_t origin, std::size_t begin,
                                   std::size_t stop, std::vector<Best>& ends) const {
  const auto offer = [&](std::size_t end, double score, std::uint32_t id) {
    const double sum = ends[begin].score + score;
    Best& best = ends[end];
    if (best.begin == unreached || sum > best.score) best = {origin + begin, sum, id};
  };
  while (begin < stop) {
    const std::size_t length = character_length(letters, begin);
    bool single = false;
    std::uint32_t node = 0;
    for (std::size_t at = begin; at < letters.size(); ++at) {
      node = next(node, static_cast<unsigned char>(letters[at]));
      if (node == none) break;
      if (values_[node].id == none) continue;
      offer(at + 1, values_[node].score, values_[node].id);
      single = single || at + 1 - begin == length;
    }
    if (!single) offer(begin + length, unknown_score_, unknown_);
    begin += length;
  }
  return begin;
}

void UnigramEncoder::trace(const std::vector<Best>& ends, std::size_t origin, std::size_t end,
                           std::vector<FoundPiece>& found) const {
  const std::size_t first = found.size();
  while (end > origin) {
    const Best& best = ends[end - origin];
    if (best.id == unknown_ && found.size() > first && found.back().id == unknown_) {
      found.back().begin = best.begin;
    } else {
      found.push_back({best.id, best.begin, end});
    }
    end = best.begin;
  }
  std::reverse(found.begin() + static_cast<std::ptrdiff_t>(first), found.end());
}

void UnigramEncoder::encode(std::string_view word, std::vector<FoundPiece>& found) const {
  std::vector<Best> ends(word.size() + 1);
  follow(word, 0, 0, word.size(), ends);
  trace(ends, 0, word.size(), found);
}

void UnigramEncoder::Growing::follow(std::size_t stop) {
  ends_.resize(letters_.size() + 1);
  begin_ = encoder_.follow(letters_, origin_, begin_, stop, ends_);
}

void UnigramEncoder::Growing::append(std::string_view letters, std::vector<FoundPiece>& found) {
  letters_ += letters;
  if (letters_.size() >= enough_) settle(found);
}

void UnigramEncoder::Growing::settle(std::vector<FoundPiece>& found) {
  // A piece that begins earlier ends within the letters that are there, whatever comes.
  if (letters_.size() > encoder_.longest_) follow(letters_.size() - encoder_.longest_);
  // The way to the end goes through a place less than the longest piece before begin_: where all of these come
  // from is looked up from the right, until one place is left.
  std::vector<std::uint8_t> open(begin_ + 1);
  std::size_t count = 0;
  for (std::size_t at = begin_ - std::min(begin_, encoder_.longest_ - 1); at <= begin_; ++at) {
    if (at > 0 && ends_[at].begin == unreached) continue;  // inside a character
    open[at] = 1;
    ++count;
  }
  std::size_t certain = begin_;
  for (; count > 1; --certain) {
    if (open[certain] == 0) continue;
    std::uint8_t& from = open[ends_[certain].begin - origin_];
    if (from != 0) --count;
    from = 1;
  }
  while (open[certain] == 0) --certain;
  if (certain == 0) {
    enough_ = 2 * letters_.size();
    return;
  }
  encoder_.trace(ends_, origin_, origin_ + certain, found);
  letters_.erase(0, certain);
  ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(certain));
  origin_ += certain;
  begin_ -= certain;
  enough_ = std::max(part_, 2 * letters_.size());
}

void UnigramEncoder::Growing::finish(std::vector<FoundPiece>& found) {
  follow(letters_.size());
  encoder_.trace(ends_, origin_, origin_ + letters_.size(), found);
  letters_.clear();
  ends_.clear();
  origin_ = begin_ = 0;
  enough_ = part_;
}

}  // namespace bigbird
