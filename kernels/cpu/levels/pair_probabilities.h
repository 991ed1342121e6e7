// Probabilities of attention in pairs of keys, as products in bf16 read them; for AVX-512, arm64 and AMX.
#pragma once

#include "kernels/cpu/levels/attention_forward.h"
#include "kernels/cpu/levels/pairs.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

// As scores_to_probabilities(), in pairs of neighbouring rows, for which the rough power is enough; a missing
// last one is zero. line_of(pair, column) is where the pairs of `lanes` columns from there on go.
template <typename LineOf>
BIGBIRD_INLINE void pair_probabilities(const float* scores, Index rows, Index width, const float* maximum,
                                       float* sum, const LineOf& line_of) {
  for_each_columns(width, [&](Index j, auto columns) {
    constexpr unsigned count = columns.count;
    Floats total[count] = {};
    const auto probability = [&](Index row, unsigned i) {
      const Index column = j + i * lanes;
      const Floats value = rough_exp2(load(scores + row * width + column) - load(maximum + column));
      total[i] += value;
      return value;
    };
    for (Index row = 0; row + 1 < rows; row += 2) {
      BIGBIRD_UNROLL
      for (unsigned i = 0; i < count; ++i) {
        const Floats low = probability(row, i);
        store(line_of(row / 2, j + i * lanes), paired(low, probability(row + 1, i)));
      }
    }
    if (rows % 2 != 0) {
      BIGBIRD_UNROLL
      for (unsigned i = 0; i < count; ++i)
        store(line_of(rows / 2, j + i * lanes), paired(probability(rows - 1, i), Floats{}));
    }
    BIGBIRD_UNROLL
    for (unsigned i = 0; i < count; ++i) store(sum + j + i * lanes, load(sum + j + i * lanes) + total[i]);
  });
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
