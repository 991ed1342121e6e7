// What a thread keeps of a head whose attention goes by features (feature_attention.cpp): sizes, and pieces
// of its scratch.
#pragma once

#include <algorithm>

#include "kernels/cpu/head_scratch.h"
#include "kernels/feature_batch.h"

namespace bigbird::kernels {

constexpr Index most_rows = 256;  // of a chunk, whose pairs take the square

// Sizes of a head, and its scratch in floats, whole cache lines each.
struct FeatureSizes {
  Index chunk, size, projected, features, values;  // values: D + 1

  explicit FeatureSizes(const FeatureBatch& batch)
      : FeatureSizes(batch.chunk, batch.head_size, batch.projected, batch.features()) {}
  FeatureSizes(Index rows, Index head_size, Index of_projection, Index of_features)
      : chunk(std::min(rows, most_rows)),
        size(head_size),
        projected(of_projection),
        features(of_features),
        values(head_size + 1) {}

  Index rows() const { return padded(chunk * size); }
  Index value_rows() const { return padded(chunk * values); }
  Index projections() const { return padded(chunk * projected); }
  Index feature_rows() const { return padded(chunk * features); }
  Index pairs() const { return padded(chunk * chunk); }
  Index sums() const { return padded(values * features); }
  // Mapped rows: x', W x', features, |x'|^2 / 2 and `most` of each row.
  Index mapped() const { return rows() + projections() + feature_rows() + 2 * padded(chunk); }
  Index of_head(Index longest) const {
    return 2 * mapped() + 3 * rows() + 4 * value_rows() + projections() + 2 * feature_rows() + 2 * pairs() +
           2 * sums() + 2 * padded(values) + padded(chunk) + 2 * padded(longest);
  }
};

// Rows of a chunk on their way to features. Exponents of relu and elu are 0.
struct MappedRows {
  float* x = nullptr;     // [n, D] x'
  float* u = nullptr;     // [n, M] W x', or x'
  float* phi = nullptr;   // [n, F] without what epsilon adds
  float* half = nullptr;  // [n] |x'|^2 / 2
  float* most = nullptr;  // [n]

  MappedRows(ScratchPieces& memory, const FeatureSizes& s)
      : x(memory.take(s.chunk * s.size)),
        u(memory.take(s.chunk * s.projected)),
        phi(memory.take(s.chunk * s.features)),
        half(memory.take(s.chunk)),
        most(memory.take(s.chunk)) {}
};

}  // namespace bigbird::kernels
