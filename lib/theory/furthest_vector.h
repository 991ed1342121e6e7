// Task 1 of the paper (section 3.4, appendix C): of n unit vectors, find for each the one furthest from it.
// One full layer does it; sparse layers that hand vectors on need about n / w of them for a window of w. That
// no other sparse layers do it faster rests on a conjecture, which no program checks.
#pragma once

#include <cstdint>
#include <vector>

namespace bigbird {

// [count, width], row-major.
struct VectorSet {
  std::int64_t count = 0, width = 0;
  std::vector<double> values;
  double product(std::int64_t i, std::int64_t j) const;
};
// Random unit vectors, and vectors of 0 and 1 (each 1 with this probability): functions of seed and draw.
VectorSet unit_vectors(std::int64_t count, std::int64_t width, std::uint64_t seed, std::uint64_t draw);
VectorSet binary_vectors(std::int64_t count, std::int64_t width, double ones, std::uint64_t seed,
                         std::uint64_t draw);
// The width that the paper's proposition takes: ceil(log2 n)^2.
std::int64_t vector_width(std::int64_t count);

// The answer by looking at all pairs: of each vector the number of the one with the least inner product, the
// first of several.
std::vector<std::int64_t> furthest_vectors(const VectorSet& vectors);

// One full layer over rows [u; 0] with Q = -u, K = u, V = [0; u] makes rows [u; u*]. beta: the scores' factor
// under softmax; 0: hardmax.
struct FullLayer {
  double exact = 0;    // fraction of rows whose u* is the furthest vector, number for number
  double nearest = 0;  // fraction whose u* lies nearest to it of all vectors
  double rms = 0;      // root of the mean squared distance from it
};
FullLayer full_layer(const VectorSet& vectors, double beta);
// Whether the full layer finds two orthogonal vectors: some row's u and u* have the product 0.
bool finds_orthogonal_pair(const VectorSet& vectors);

// Sparse layers: a token has a store, with its vector and the best so far, and a carrier, with a vector that
// travels, first its own. In a layer store i sees itself and the carriers i-1 .. i-w (around the end), takes
// the best by hardmax, and a second head takes the old best away; carrier i takes over what carrier i-w has.
struct SparseLayers {
  std::vector<double> right;          // [layer]: fraction of tokens that hold their furthest vector after it
  std::int64_t products_a_layer = 0;  // inner products: n (w + 1)
  std::int64_t first_exact() const;   // layers after which all are right; 0: never
};
SparseLayers sparse_layers(const VectorSet& vectors, std::int64_t window, std::int64_t layers);
// ceil((n - 1) / w): then every carrier has passed by every store.
std::int64_t layers_needed(std::int64_t count, std::int64_t window);

}  // namespace bigbird
