// Random numbers as a function of (seed, purpose, index): no state is carried between uses, so any thread,
// rank or resumed run draws the same numbers. Built on Philox (kernels/philox.h). Distributions are our own:
// std:: ones differ by library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bigbird {

// What the numbers are for. Values are part of the file formats' reproducibility: never renumber, only
// append.
enum class Purpose : std::uint32_t {
  chunk_documents = 1,
  bpe_sample = 2,
  pretrain_order = 3,
  pretrain_pairs = 4,
  mlm_masking = 5,
  dropout = 6,
  parameter_init = 7,
  promoter_negatives = 8,
  promoter_split = 9,
  finetune_order = 10,
  simulate_genome = 11,
  simulate_annotation = 12,
  simulate_variants = 13,
  attention_pattern = 14,
  finetune_strand = 15,
  finetune_sample = 16,
  null_windows = 17,
  fresh_negatives = 18,
  calibration_fold = 19,
  calibration_sample = 20,
  auroc_bootstrap = 21,
  summary_sampling = 22,
  layer_drop = 23,
  masked_sentences = 24,
  spearman_bootstrap = 25,
  finetune_shift = 26,
  theory_edges = 27,
  theory_graphs = 28,
  theory_vectors = 29,
  stream_order = 30,
  stream_choice = 31,
  text_sampling = 32,
  random_features = 33,
  hash_rotations = 34,
  sentence_choice = 35,
  test = 1000,
};

// A short stream of numbers for one (seed, purpose, index).
class CounterRng {
 public:
  CounterRng(std::uint64_t seed, Purpose purpose, std::uint64_t index);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  // Uniform in [0, bound), without bias (rejection). bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform integer in [low, high], both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high);
  // Uniform in [0, 1) with 53 bits.
  double uniform();
  // Standard normal (Box-Muller; two uniforms a draw, no cached second value).
  double normal();

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t position_ = 0;
  std::uint32_t buffer_[4] = {0, 0, 0, 0};
  int used_ = 4;
};

// Fisher-Yates, from the end down.
template <typename T>
void shuffle(std::vector<T>& values, CounterRng& rng) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(rng.below(i))]);
  }
}

// Moves `count` of the values, drawn without replacement, to the front; count <= values.size().
template <typename T>
void draw_to_front(std::vector<T>& values, std::size_t count, CounterRng& rng) {
  for (std::size_t i = 0; i < count; ++i)
    std::swap(values[i], values[i + static_cast<std::size_t>(rng.below(values.size() - i))]);
}

// A bijection of [0, size) that needs no table: a keyed Feistel network with cycle walking. Used to visit
// samples in random order from any position, so that a resumed run needs only a counter.
class RandomPermutation {
 public:
  RandomPermutation(std::uint64_t seed, Purpose purpose, std::uint64_t index, std::uint64_t size);
  std::uint64_t operator()(std::uint64_t position) const;
  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t key_;
  std::uint64_t size_;
  int half_bits_;
};

}  // namespace bigbird
