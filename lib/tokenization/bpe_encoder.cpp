// BPE encoding; see bpe_encoder.h for the rule and the reasoning.
#include "lib/tokenization/bpe_encoder.h"

#include <algorithm>
#include <bit>
#include <queue>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// Multiplicative hashing: the top bits are the good ones.
std::uint64_t hash_of(std::uint64_t key) {
  return key * 0x9E3779B97F4A7C15ull;
}

// The filter has 4 bits for every slot of the table, and so 8 or more for every pair in it.
constexpr unsigned filter_shift = 2;
constexpr std::size_t filter_bits_per_slot = std::size_t{1} << filter_shift;

}  // namespace

BpeEncoder::BpeEncoder(const std::vector<std::string>& pieces) {
  find_letters(pieces);
  if (letter_pieces_.size() > max_letters) throw_bad_input("a BPE vocabulary over more than 5 letters");
  build_trie(pieces);
  build_pair_table(pairs_by_concatenation(pieces));
  build_merge_trees(pieces);
  build_prefixes(pieces);
}

BpeEncoder::BpeEncoder(const std::vector<std::string>& pieces, const std::vector<BpeMerge>& merges) {
  find_letters(pieces);
  std::vector<PairSlot> pairs;
  std::vector<std::uint8_t> made(pieces.size());
  std::uint32_t best = 0;
  for (const BpeMerge& merge : merges) {
    // The walk from left to right compares ranks by comparing pieces.
    if (made[merge.piece] != 0 || merge.piece < best) regular_ = false;
    made[merge.piece] = 1;
    best = merge.piece;
    const auto rank = static_cast<std::uint32_t>(pairs.size());
    pairs.push_back({(std::uint64_t{merge.left} << 32) | merge.right, merge.piece, rank});
  }
  build_pair_table(pairs);
  if (letter_pieces_.size() > max_letters) regular_ = false;
  if (!regular_) return;
  build_trie(pieces);
  build_merge_trees(pieces);
  build_prefixes(pieces);
}

void BpeEncoder::find_letters(const std::vector<std::string>& pieces) {
  letter_of_byte_.fill(no_letter);
  lengths_.reserve(pieces.size());
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    const std::string& piece = pieces[number];
    lengths_.push_back(static_cast<std::uint32_t>(piece.size()));
    if (piece.size() != 1) continue;
    if (letter_pieces_.size() + 1 == no_letter)
      throw_bad_input("a BPE vocabulary over more than 254 letters");
    letter_of_byte_[static_cast<unsigned char>(piece[0])] = static_cast<std::uint8_t>(letter_pieces_.size());
    letter_pieces_.push_back(static_cast<std::uint32_t>(number));
  }
}

void BpeEncoder::build_trie(const std::vector<std::string>& pieces) {
  const auto add_node = [&] {
    trie_.emplace_back();
    trie_.back().next.fill(none);
    return static_cast<std::uint32_t>(trie_.size() - 1);
  };
  add_node();
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    std::uint32_t node = 0;
    for (const char byte : pieces[number]) {
      const std::uint8_t letter = letter_of_byte_[static_cast<unsigned char>(byte)];
      if (letter == no_letter)
        throw_bad_input("piece '" + pieces[number] + "' holds a letter that is not a piece");
      if (trie_[node].next[letter] == none) {
        const std::uint32_t added = add_node();
        trie_[node].next[letter] = added;
      }
      node = trie_[node].next[letter];
    }
    trie_[node].piece = static_cast<std::uint32_t>(number);
  }
}

std::vector<BpeEncoder::PairSlot> BpeEncoder::pairs_by_concatenation(
    const std::vector<std::string>& pieces) const {
  const auto find = [&](std::string_view text) {
    std::uint32_t node = 0;
    for (const char byte : text) {
      node = trie_[node].next[letter_of_byte_[static_cast<unsigned char>(byte)]];
      if (node == none) return none;
    }
    return trie_[node].piece;
  };
  std::vector<PairSlot> found;
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    const std::string_view piece = pieces[number];
    std::uint32_t node = 0;
    for (std::size_t split = 1; split < piece.size(); ++split) {
      node = trie_[node].next[letter_of_byte_[static_cast<unsigned char>(piece[split - 1])]];
      const std::uint32_t left = trie_[node].piece;
      if (left == none) continue;
      const std::uint32_t right = find(piece.substr(split));
      if (right == none) continue;
      const auto rank = static_cast<std::uint32_t>(number);
      found.push_back({(std::uint64_t{left} << 32) | right, rank, rank});
    }
  }
  return found;
}

void BpeEncoder::build_pair_table(const std::vector<PairSlot>& pairs) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(pairs.size() * 2, 64));
  pair_shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
  pairs_.assign(size, {});
  filter_.assign(size * filter_bits_per_slot / 64, 0);
  for (const PairSlot& slot : pairs) {
    const std::uint64_t hash = hash_of(slot.key);
    const std::uint64_t bit = hash >> (pair_shift_ - filter_shift);
    filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    std::size_t at = hash >> pair_shift_;
    while (pairs_[at].piece != none) at = (at + 1) & (size - 1);
    pairs_[at] = slot;
  }
}

// Most pairs asked for make no piece, which the filter tells from a table that stays in the cache.
const BpeEncoder::PairSlot* BpeEncoder::find_pair(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t key = (std::uint64_t{left} << 32) | right;
  const std::uint64_t hash = hash_of(key);
  const std::uint64_t bit = hash >> (pair_shift_ - filter_shift);
  if ((filter_[bit / 64] >> (bit % 64) & 1) == 0) return nullptr;
  std::size_t at = hash >> pair_shift_;
  while (pairs_[at].piece != none) {
    if (pairs_[at].key == key) return &pairs_[at];
    at = (at + 1) & (pairs_.size() - 1);
  }
  return nullptr;
}

std::uint32_t BpeEncoder::joined(std::uint32_t left, std::uint32_t right) const {
  const PairSlot* pair = find_pair(left, right);
  return pair == nullptr ? none : pair->piece;
}

void BpeEncoder::build_merge_trees(const std::vector<std::string>& pieces) {
  merges_.resize(pieces.size());
  std::vector<std::uint32_t> numbers;
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    numbers.clear();
    const Merge last = reduce(pieces[number], numbers);
    if (numbers.size() != 1) {  // no text encodes to this piece
      std::uint32_t node = 0;
      for (const char byte : pieces[number]) {
        node = trie_[node].next[letter_of_byte_[static_cast<unsigned char>(byte)]];
      }
      trie_[node].piece = none;
      continue;
    }
    merges_[number] = last;
    for (const std::uint32_t part : {last.left, last.right}) {
      if (part != none && lengths_[part] > 1 && part > number) regular_ = false;
    }
  }
}

void BpeEncoder::build_prefixes(const std::vector<std::string>& pieces) {
  shorter_match_.assign(pieces.size(), none);
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    std::uint32_t node = 0;
    const std::string& piece = pieces[number];
    for (std::size_t i = 0; i + 1 < piece.size(); ++i) {
      node = trie_[node].next[letter_of_byte_[static_cast<unsigned char>(piece[i])]];
      if (trie_[node].piece != none) shorter_match_[number] = trie_[node].piece;
    }
  }
}

// The rule itself on letters only. Appends the pieces and returns the merge done last.
BpeEncoder::Merge BpeEncoder::reduce(std::string_view letters, std::vector<std::uint32_t>& numbers) const {
  struct Symbol {
    std::uint32_t piece;
    std::uint32_t previous;
    std::uint32_t next;
  };
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t piece;
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t length;  // of both symbols: tells a stale candidate
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  if (letters.size() >= none) throw_bad_input("a sequence of more than 4.29 Gb cannot be encoded at once");
  const auto size = static_cast<std::uint32_t>(letters.size());
  std::vector<Symbol> symbols(size);
  std::priority_queue<Candidate> heap;
  const auto consider = [&](std::uint32_t left, std::uint32_t right) {
    if (left == none || right == none) return;
    const PairSlot* pair = find_pair(symbols[left].piece, symbols[right].piece);
    if (pair != nullptr) heap.push({pair->rank, pair->piece, left, right, lengths_[pair->piece]});
  };
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint8_t letter = letter_of_byte_[static_cast<unsigned char>(letters[i])];
    symbols[i] = {letter_pieces_[letter], i == 0 ? none : i - 1, i + 1 == size ? none : i + 1};
  }
  for (std::uint32_t i = 0; i + 1 < size; ++i) consider(i, i + 1);
  Merge last;
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    Symbol& left = symbols[top.left];
    Symbol& right = symbols[top.right];
    if (left.piece == none || right.piece == none ||
        lengths_[left.piece] + lengths_[right.piece] != top.length) {
      continue;
    }
    last = {left.piece, right.piece};
    left.piece = top.piece;
    left.next = right.next;
    right.piece = none;
    if (left.next != none) symbols[left.next].previous = top.left;
    consider(left.previous, top.left);
    consider(top.left, left.next);
  }
  for (std::uint32_t i = 0; i != none && size != 0; i = symbols[i].next) numbers.push_back(symbols[i].piece);
  return last;
}

// Whether the encoding of the two pieces' text is the two pieces: no merge across the border comes before the
// merges that take its two sides away. Undoes the merges on both sides of the border, latest first.
bool BpeEncoder::stay_apart(std::uint32_t left, std::uint32_t right) const {
  // Merges across the border that rank below this come too late: one side has been merged away before.
  std::uint32_t limit = none;
  for (;;) {
    const std::uint32_t across = joined(left, right);
    if (across < limit) return false;
    const bool left_is_letter = merges_[left].right == none;
    const bool right_is_letter = merges_[right].left == none;
    if (left_is_letter && right_is_letter) return true;
    // Of equal ranks the left one merges first, so the right one is undone first; and a merge across the
    // border of the same rank as one on its right would come before that one, as it starts further left.
    if (right_is_letter || (!left_is_letter && left > right)) {
      limit = left;
      left = merges_[left].right;
    } else {
      limit = right + 1;
      right = merges_[right].left;
    }
  }
}

std::uint32_t BpeEncoder::longest_match(std::string_view text, std::size_t position) const {
  std::uint32_t node = 0;
  std::uint32_t found = none;
  for (; position < text.size(); ++position) {
    node = trie_[node].next[letter_of_byte_[static_cast<unsigned char>(text[position])]];
    if (node == none) break;
    if (trie_[node].piece != none) found = trie_[node].piece;
  }
  return found;
}

void BpeEncoder::encode_letters(std::string_view letters, std::vector<std::uint32_t>& numbers) const {
  if (!regular_) {
    reduce(letters, numbers);
    return;
  }
  const std::size_t first = numbers.size();
  std::vector<std::uint8_t> given_up(letters.size() + 1);
  std::size_t position = 0;
  std::uint32_t piece = longest_match(letters, 0);
  while (position < letters.size()) {
    const std::size_t end = position + lengths_[piece];
    if (given_up[end] == 0 && (numbers.size() == first || stay_apart(numbers.back(), piece))) {
      numbers.push_back(piece);
      position = end;
      piece = longest_match(letters, position);
      continue;
    }
    piece = shorter_match_[piece];
    while (piece == none) {  // nothing fits here: go one piece back and take a shorter one there
      given_up[position] = 1;
      const std::uint32_t last = numbers.back();
      numbers.pop_back();
      position -= lengths_[last];
      piece = shorter_match_[last];
    }
  }
}

void BpeEncoder::encode(std::string_view text, std::vector<std::uint32_t>& numbers) const {
  split_at_unknown(text, numbers, [&](std::string_view letters) { encode_letters(letters, numbers); });
}

void BpeEncoder::encode_by_rule(std::string_view text, std::vector<std::uint32_t>& numbers) const {
  split_at_unknown(text, numbers, [&](std::string_view letters) { reduce(letters, numbers); });
}

}  // namespace bigbird
