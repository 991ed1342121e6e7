// See kmers.h.
#include "lib/genomics/kmers.h"

#include <cmath>

namespace bigbird {
namespace {

constexpr std::uint8_t no_letter = 4;

constexpr std::array<std::uint8_t, 256> letter_codes() {
  std::array<std::uint8_t, 256> codes{};
  for (std::uint8_t& code : codes) code = no_letter;
  codes['A'] = 0;
  codes['C'] = 1;
  codes['G'] = 2;
  codes['T'] = 3;
  return codes;
}
constexpr auto code_of_letter = letter_codes();

std::size_t reverse_complement_word(std::size_t word) {
  std::size_t reversed = 0;
  for (std::size_t i = 0; i < kmer_length; ++i) {
    reversed = reversed << 2 | (3 - (word & 3));
    word >>= 2;
  }
  return reversed;
}

}  // namespace

double share_of_gc(std::string_view sequence) {
  std::array<std::size_t, no_letter + 1> counts{};
  for (const char letter : sequence) ++counts[code_of_letter[static_cast<unsigned char>(letter)]];
  const std::size_t strong = counts[1] + counts[2], all = strong + counts[0] + counts[3];
  return all == 0 ? 0.0 : static_cast<double>(strong) / static_cast<double>(all);
}

KmerFeatures::KmerFeatures(bool both_strands) {
  std::uint16_t next = 0;
  for (std::size_t word = 0; word < kmer_words; ++word) {
    const std::size_t other = both_strands ? reverse_complement_word(word) : word;
    feature_of_word_[word] = other < word ? feature_of_word_[other] : next++;
  }
  count_ = next;
  counts_.resize(count_);
}

void KmerFeatures::of(std::string_view sequence, std::vector<KmerValue>& values) {
  std::size_t word = 0, letters = 0;
  for (const char letter : sequence) {
    const std::uint8_t code = code_of_letter[static_cast<unsigned char>(letter)];
    letters = code == no_letter ? 0 : letters + 1;
    word = (word << 2 | (code & 3)) & (kmer_words - 1);
    if (letters >= kmer_length) ++counts_[feature_of_word_[word]];
  }
  values.clear();
  for (std::size_t feature = 0; feature < count_; ++feature) {
    if (counts_[feature] == 0) continue;
    values.push_back({static_cast<std::uint16_t>(feature), std::log1p(static_cast<float>(counts_[feature]))});
    counts_[feature] = 0;
  }
}

void SparseRows::add(const std::vector<KmerValue>& row) {
  values.insert(values.end(), row.begin(), row.end());
  starts.push_back(values.size());
}

}  // namespace bigbird
