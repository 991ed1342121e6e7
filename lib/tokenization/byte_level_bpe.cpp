// Words, bytes and merges; see byte_level_bpe.h.
#include "lib/tokenization/byte_level_bpe.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <unordered_map>
#include <utility>

#include "lib/core/unicode.h"

namespace bigbird {
namespace {

enum class WordClass { space, letter, number, other };

// \s of the tokenizers package; Python's white space has U+001C-001F as well.
bool is_regex_space(char32_t c) {
  return is_white_space(c) && !(c >= 0x1c && c <= 0x1f);
}

WordClass word_class(char32_t c) {
  if (is_regex_space(c)) return WordClass::space;
  if (is_letter(c)) return WordClass::letter;
  return is_number(c) ? WordClass::number : WordClass::other;
}

// Classes of ASCII, looked up for most of most texts.
const std::array<WordClass, 128>& ascii_classes() {
  static const std::array<WordClass, 128> classes = [] {
    std::array<WordClass, 128> result{};
    for (char32_t c = 0; c < result.size(); ++c) result[c] = word_class(c);
    return result;
  }();
  return classes;
}

// The class of the character at `at`, and where it ends.
WordClass class_at(std::string_view text, std::size_t at, std::size_t& end) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) {
    end = at + 1;
    return ascii_classes()[byte];
  }
  const CodePoint c = code_point_at(text, at);
  end = c.end;
  return word_class(c.value);
}

// Length of 's 't 're 've 'm 'll 'd at `at`; 0 for anything else.
std::size_t contraction(std::string_view text, std::size_t at) {
  if (text[at] != '\'') return 0;
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.substr(at, ending.size()) == ending) return ending.size();
  }
  return 0;
}

// The most symbols that merges put into one piece; 0 for merges that lead in a circle.
std::size_t longest_of(const std::vector<BpeMerge>& merges) {
  std::unordered_map<std::uint32_t, std::size_t> lengths;  // of pieces longer than a symbol
  const auto length = [&](std::uint32_t piece) {
    const auto found = lengths.find(piece);
    return found == lengths.end() ? std::size_t{1} : found->second;
  };
  constexpr int most_rounds = 64;  // one is enough where parts come before the whole
  std::size_t longest = 1;
  for (int round = 0; round < most_rounds; ++round) {
    bool changed = false;
    for (const BpeMerge& merge : merges) {
      const std::size_t both = length(merge.left) + length(merge.right);
      if (both <= length(merge.piece)) continue;
      lengths[merge.piece] = both;
      longest = std::max(longest, both);
      changed = true;
    }
    if (!changed) return longest;
  }
  return 0;
}

std::size_t hash_of_pair(std::uint64_t pair, unsigned shift) {
  return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15ull) >> shift);
}

}  // namespace

const std::array<std::string, 256>& byte_level_characters() {
  static const std::array<std::string, 256> characters = [] {
    std::array<std::string, 256> result;
    char32_t next = 0x100;
    for (std::size_t byte = 0; byte < result.size(); ++byte) {
      const bool itself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      append_utf8(result[byte], itself ? static_cast<char32_t>(byte) : next++);
    }
    return result;
  }();
  return characters;
}

std::size_t byte_level_word_end(std::string_view text, std::size_t begin) {
  if (const std::size_t length = contraction(text, begin); length != 0) return begin + length;
  std::size_t at = begin;
  WordClass kind = class_at(text, begin, at);
  if (kind == WordClass::space && text[begin] == ' ' && at < text.size()) {
    std::size_t after = at;
    const WordClass following = class_at(text, at, after);
    if (following != WordClass::space) {  // the blank goes with the word behind it
      kind = following;
      at = after;
    }
  }
  std::size_t last = begin;  // where the last character of the run begins
  while (at < text.size()) {
    std::size_t after = at;
    if (class_at(text, at, after) != kind) break;
    last = at;
    at = after;
  }
  // White space before a word leaves its last character to that word.
  if (kind == WordClass::space && at < text.size() && last > begin) return last;
  return at;
}

ByteLevelMerger::ByteLevelMerger(const std::vector<std::string>& pieces, const std::vector<BpeMerge>& merges,
                                 std::uint32_t unknown)
    : unknown_(unknown), longest_(longest_of(merges)) {
  bytes_.fill(none);
  const auto& characters = byte_level_characters();
  for (std::uint32_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].empty() || pieces[id].size() > 2) continue;
    const auto found = std::find(characters.begin(), characters.end(), pieces[id]);
    if (found != characters.end()) bytes_[static_cast<std::size_t>(found - characters.begin())] = id;
  }
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(merges.size() * 2, 64));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
  slots_.assign(size, {});
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::uint64_t pair = std::uint64_t{merges[rank].left} << 32 | merges[rank].right;
    std::size_t at = hash_of_pair(pair, shift_);
    while (slots_[at].pair != no_pair) at = (at + 1) & (size - 1);
    slots_[at] = {pair, static_cast<std::uint32_t>(rank), merges[rank].piece};
  }
}

const ByteLevelMerger::Slot* ByteLevelMerger::find(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t pair = std::uint64_t{left} << 32 | right;
  for (std::size_t at = hash_of_pair(pair, shift_); slots_[at].pair != no_pair;
       at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].pair == pair) return &slots_[at];
  }
  return nullptr;
}

void ByteLevelMerger::encode(std::string_view word, std::vector<Symbol>& symbols) const {
  symbols.clear();
  add_bytes(word, symbols);
  merge(symbols);
  for (Symbol& symbol : symbols) {
    if (symbol.id == none) symbol.id = unknown_;
  }
}

void ByteLevelMerger::add_bytes(std::string_view bytes, std::vector<Symbol>& symbols) const {
  for (const char byte : bytes)
    symbols.push_back({bytes_[static_cast<unsigned char>(byte)], symbols.size() + 1});
}

void ByteLevelMerger::merge(std::vector<Symbol>& symbols) const {
  constexpr std::size_t longest_short = 48;
  if (symbols.size() <= longest_short) {
    merge_short(symbols);
  } else {
    merge_long(symbols);
  }
}

// For words: the ranks of all neighbours in a row, and the row searched for every merge.
void ByteLevelMerger::merge_short(std::vector<Symbol>& symbols) const {
  struct Pair {
    std::uint32_t rank = none;
    std::uint32_t piece = none;
  };
  std::array<Pair, 64> pairs;
  std::size_t size = symbols.size();
  const auto look = [&](std::size_t i) {
    const Slot* slot = find(symbols[i].id, symbols[i + 1].id);
    pairs[i] = slot == nullptr ? Pair{} : Pair{slot->rank, slot->piece};
  };
  for (std::size_t i = 0; i + 1 < size; ++i) look(i);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == none) break;
    symbols[best] = {pairs[best].piece, symbols[best + 1].end};
    for (std::size_t i = best + 1; i + 1 < size; ++i) {
      symbols[i] = symbols[i + 1];
      pairs[i] = pairs[i + 1];
    }
    --size;
    if (best > 0) look(best - 1);
    if (best + 1 < size) look(best);
  }
  symbols.resize(size);
}

// For runs of thousands of letters, which are text too: a heap of pairs over a linked list.
void ByteLevelMerger::merge_long(std::vector<Symbol>& symbols) const {
  struct Node {
    std::uint32_t id;
    std::size_t begin;
    std::size_t end;
    std::size_t before;
    std::size_t after;
  };
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t piece;
    std::size_t left;
    std::uint64_t pair;  // tells a stale candidate
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  constexpr std::size_t nothing = ~std::size_t{0};
  std::vector<Node> nodes(symbols.size());
  std::priority_queue<Candidate> heap;
  const auto consider = [&](std::size_t left) {
    if (left == nothing || nodes[left].after == nothing) return;
    const std::uint32_t right = nodes[nodes[left].after].id;
    if (const Slot* slot = find(nodes[left].id, right); slot != nullptr) {
      heap.push({slot->rank, slot->piece, left, slot->pair});
    }
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = {symbols[i].id, i, i + 1, i == 0 ? nothing : i - 1, i + 1 == nodes.size() ? nothing : i + 1};
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) consider(i);
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    Node& left = nodes[top.left];
    if (left.end == left.begin || left.after == nothing) continue;
    Node& right = nodes[left.after];
    if ((std::uint64_t{left.id} << 32 | right.id) != top.pair) continue;
    left.id = top.piece;
    left.end = right.end;
    right.begin = right.end;  // taken
    left.after = right.after;
    if (left.after != nothing) nodes[left.after].before = top.left;
    consider(left.before);
    consider(top.left);
  }
  std::vector<Symbol> merged;
  for (std::size_t i = 0; i != nothing; i = nodes[i].after) {
    merged.push_back({nodes[i].id, symbols[nodes[i].end - 1].end});
  }
  symbols = std::move(merged);
}

// Let the symbols be [0, n), merged by themselves into pieces, and p the begin of one of these. Whatever
// follows, the last border of the word's pieces up to n is some i less than the longest piece before n, and its
// pieces up to i are those of [0, i) alone: no merge went over i. If [p, i) alone begins with the same piece as
// stands behind p in [0, n), then its pieces and those before p, side by side, are the pieces of [0, i): the
// first merge over a border would be one of two neighbours alone as well, and these are neighbours in an
// encoding already. So where that holds for every i, p is a border of the word.
std::size_t ByteLevelMerger::settle(const std::vector<Symbol>& symbols, std::vector<Symbol>& settled) const {
  const std::size_t size = symbols.size();
  settled.clear();
  if (longest_ == 0) return 0;
  const auto merged = [&](std::size_t begin, std::size_t end) {
    std::vector<Symbol> part;
    for (std::size_t i = begin; i < end; ++i) part.push_back({symbols[i].id, i - begin + 1});
    merge(part);
    return part;
  };
  std::vector<Symbol> pieces = merged(0, size);
  for (std::size_t margin = 4 * longest_; longest_ + margin < size; margin *= 4) {
    const std::size_t limit = size - longest_ - margin;
    const auto after = std::upper_bound(pieces.begin(), pieces.end(), limit,
                                        [](std::size_t at, const Symbol& piece) { return at < piece.end; });
    if (after == pieces.begin()) break;
    const std::size_t begin = (after - 1)->end;
    bool certain = true;
    for (std::size_t end = size - longest_ + 1; end < size && certain; ++end) {
      const Symbol first = merged(begin, end).front();
      certain = first.id == after->id && begin + first.end == after->end;
    }
    if (!certain) continue;
    pieces.erase(after, pieces.end());
    settled = std::move(pieces);
    return begin;
  }
  return 0;
}

// settle() takes time for the square of the longest piece.
GrowingWord::GrowingWord(const ByteLevelMerger& merger, std::size_t part)
    : merger_(merger),
      part_(std::max(part, std::min(4 * merger.longest() * merger.longest(), std::size_t{1} << 18))),
      enough_(part_) {}

std::size_t GrowingWord::take(bool ended, std::vector<ByteLevelMerger::Symbol>& pieces) {
  pieces.clear();
  std::size_t count = 0;
  if (ended) {
    pieces = std::move(symbols_);
    count = pieces.size();
    for (std::size_t i = 0; i < count; ++i) pieces[i].end = i + 1;
    merger_.merge(pieces);
    symbols_.clear();
    enough_ = part_;
  } else if (symbols_.size() >= enough_) {
    count = merger_.settle(symbols_, pieces);
    symbols_.erase(symbols_.begin(), symbols_.begin() + static_cast<std::ptrdiff_t>(count));
    enough_ = std::max(part_, 2 * symbols_.size());
  }
  return count;
}

}  // namespace bigbird
