// The cheapest answers to a question of a sequence: its fraction of G and C, and how often each word of six
// bases stands in it. They stand beside the evaluations of promoter and chromatin models.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bigbird {

inline constexpr std::size_t kmer_length = 6;
inline constexpr std::size_t kmer_words = std::size_t{1} << (2 * kmer_length);

// G and C among the A, C, G and T of an upper-case sequence; 0 where it has none of them.
double share_of_gc(std::string_view sequence);

struct KmerValue {
  std::uint16_t feature = 0;
  float value = 0;
};

// The words of a sequence as features: log(1 + count) of each word that is in it. Words with another letter
// than A, C, G and T do not count. Not safe from several threads at once: each needs its own.
class KmerFeatures {
 public:
  // On one strand each of the 4,096 words is a feature, in the order of their letters. With both strands
  // added a word and its reverse complement are one, of 2,080: a sequence and its reverse complement have
  // the same features.
  explicit KmerFeatures(bool both_strands);

  std::size_t count() const { return count_; }
  // Ascending by feature; `values` is overwritten.
  void of(std::string_view sequence, std::vector<KmerValue>& values);

 private:
  std::size_t count_ = 0;
  std::array<std::uint16_t, kmer_words> feature_of_word_{};
  std::vector<std::uint32_t> counts_;  // by feature; 0 between two calls
};

// Rows of features, most of which are 0.
struct SparseRows {
  std::size_t features = 0;
  std::vector<std::size_t> starts = {0};  // of each row in `values`, and the end
  std::vector<KmerValue> values = {};

  std::size_t rows() const { return starts.size() - 1; }
  void add(const std::vector<KmerValue>& row);
};

}  // namespace bigbird
