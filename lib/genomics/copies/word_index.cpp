// Words of a text and where they stand; see word_index.h.
#include "lib/genomics/copies/word_index.h"

#include <algorithm>
#include <numeric>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::uint32_t no_base = 4;

constexpr std::array<std::uint8_t, 256> base_numbers = [] {
  std::array<std::uint8_t, 256> numbers{};
  numbers.fill(no_base);
  numbers['A'] = 0;
  numbers['C'] = 1;
  numbers['G'] = 2;
  numbers['T'] = 3;
  return numbers;
}();

// Twice the pairs of equal triples that a word may have: 1.5 times the 13 that DUST's score divides by.
constexpr int most_doubled_pairs = 3 * (word_length - 3);

constexpr std::size_t buckets_per_task = 4096;

std::uint64_t entry_of(const Word& word, std::size_t begin) {
  return (std::uint64_t{word.value} << 32) | (static_cast<std::uint64_t>(begin) << 1) |
         (word.reverse ? 1u : 0u);
}

// Calls take(word, begin) for every word of the text.
template <typename Take>
void scan_words(std::string_view text, const Take& take) {
  WordScanner scanner;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((i & 0xfffff) == 0) throw_if_cancelled();
    if (scanner.next(text[i])) take(scanner.word(), i + 1 - word_length);
  }
}

}  // namespace

void WordScanner::add_triple(std::uint32_t triple, int sign) {
  std::uint8_t& count = count_[triple];
  if (sign < 0) --count;
  pairs_ += sign * count;
  if (sign > 0) ++count;
}

bool WordScanner::next(char base) {
  const std::uint32_t number = base_numbers[static_cast<unsigned char>(base)];
  if (number == no_base) {
    valid_ = 0;
    count_.fill(0);
    pairs_ = 0;
    return false;
  }
  // The triple that leaves the word is the first three of the bases that were in it.
  if (valid_ == word_length) add_triple(forward_ >> (2 * (word_length - 3)), -1);
  forward_ = (forward_ << 2) | number;
  backward_ = (backward_ >> 2) | ((3 - number) << (2 * (word_length - 1)));
  valid_ = std::min(valid_ + 1, word_length);
  if (valid_ >= 3) add_triple(forward_ & 63u, 1);
  if (valid_ < word_length || forward_ == backward_ || 2 * pairs_ > most_doubled_pairs) return false;
  word_ = {std::min(forward_, backward_), backward_ < forward_};
  return true;
}

WordIndex::WordIndex(std::string_view text) {
  if (text.size() > most_indexed_bases)
    throw Error(ErrorKind::runtime, "a text of more bases than the index takes");
  // A bucket for four bases, so that a word is found within a line or two of the cache.
  int bits = 8;
  while (bits < 24 && (std::size_t{4} << bits) < text.size()) ++bits;
  shift_ = 32 - bits;
  begins_.assign((std::size_t{1} << bits) + 1, 0);
  scan_words(text, [&](const Word& word, std::size_t) { ++begins_[bucket_of(word.value) + 1]; });
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  entries_.resize(begins_.back());
  std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
  scan_words(text, [&](const Word& word, std::size_t begin) {
    entries_[next[bucket_of(word.value)]++] = entry_of(word, begin);
  });
  const std::size_t tasks = (next.size() + buckets_per_task - 1) / buckets_per_task;
  kernels::parallel_for(tasks, [&](std::size_t task) {
    const std::size_t end = std::min((task + 1) * buckets_per_task, next.size());
    for (std::size_t bucket = task * buckets_per_task; bucket < end; ++bucket) {
      std::sort(entries_.begin() + begins_[bucket], entries_.begin() + begins_[bucket + 1]);
    }
  });
}

void WordIndex::find(std::uint32_t word, std::size_t most, std::vector<WordPlace>& places) const {
  const std::size_t bucket = bucket_of(word);
  const auto end = entries_.begin() + begins_[bucket + 1];
  auto entry = std::lower_bound(entries_.begin() + begins_[bucket], end, std::uint64_t{word} << 32);
  for (std::size_t found = 0; found < most && entry != end && (*entry >> 32) == word; ++found, ++entry)
    places.push_back({static_cast<std::uint32_t>(*entry & 0xffffffffu) >> 1, (*entry & 1) != 0});
}

}  // namespace bigbird
