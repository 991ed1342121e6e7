// See furthest_vector.h.
#include "lib/theory/furthest_vector.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

double squared_distance(const VectorSet& vectors, std::int64_t i, const std::vector<double>& other) {
  double sum = 0;
  for (std::int64_t k = 0; k < vectors.width; ++k) {
    const double difference =
        vectors.values[static_cast<std::size_t>(i * vectors.width + k)] - other[static_cast<std::size_t>(k)];
    sum += difference * difference;
  }
  return sum;
}

// The second half of row i after the layer: sum of all vectors by their weights. Hardmax weighs the first of
// the greatest scores alone.
std::vector<double> second_half(const VectorSet& vectors, std::int64_t i, double beta) {
  std::vector<double> scores;
  for (std::int64_t j = 0; j < vectors.count; ++j) scores.push_back(-vectors.product(i, j));
  const auto greatest = std::max_element(scores.begin(), scores.end());
  std::vector<double> weights(scores.size(), 0.0);
  if (beta > 0) {
    for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(beta * (scores[j] - *greatest));
  } else {
    weights[static_cast<std::size_t>(greatest - scores.begin())] = 1;
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> half(static_cast<std::size_t>(vectors.width), 0.0);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (std::size_t k = 0; k < half.size(); ++k)
      half[k] += weights[j] / sum * vectors.values[j * half.size() + k];
  }
  return half;
}

}  // namespace

double VectorSet::product(std::int64_t i, std::int64_t j) const {
  const auto one = values.begin() + i * width, other = values.begin() + j * width;
  return std::inner_product(one, one + width, other, 0.0);
}

VectorSet unit_vectors(std::int64_t count, std::int64_t width, std::uint64_t seed, std::uint64_t draw) {
  CounterRng random(seed, Purpose::theory_vectors, draw);
  VectorSet set{count, width, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<double> vector;
    for (std::int64_t k = 0; k < width; ++k) vector.push_back(random.normal());
    const double length = std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
    for (const double value : vector) set.values.push_back(value / length);
  }
  return set;
}

VectorSet binary_vectors(std::int64_t count, std::int64_t width, double ones, std::uint64_t seed,
                         std::uint64_t draw) {
  CounterRng random(seed, Purpose::theory_vectors, draw);
  VectorSet set{count, width, {}};
  for (std::int64_t i = 0; i < count * width; ++i) set.values.push_back(random.uniform() < ones ? 1 : 0);
  return set;
}

std::int64_t vector_width(std::int64_t count) {
  std::int64_t bits = 0;
  while ((std::int64_t{1} << bits) < count) ++bits;
  return bits * bits;
}

std::vector<std::int64_t> furthest_vectors(const VectorSet& vectors) {
  std::vector<std::int64_t> furthest;
  for (std::int64_t i = 0; i < vectors.count; ++i) {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < vectors.count; ++j) {
      if (vectors.product(i, j) < vectors.product(i, best)) best = j;
    }
    furthest.push_back(best);
  }
  return furthest;
}

FullLayer full_layer(const VectorSet& vectors, double beta) {
  const std::vector<std::int64_t> furthest = furthest_vectors(vectors);
  FullLayer layer;
  const auto rows = static_cast<double>(vectors.count);
  for (std::int64_t i = 0; i < vectors.count; ++i) {
    const std::vector<double> half = second_half(vectors, i, beta);
    const std::int64_t wanted = furthest[static_cast<std::size_t>(i)];
    const double distance = squared_distance(vectors, wanted, half);
    bool nearest = true;
    for (std::int64_t j = 0; j < vectors.count; ++j)
      nearest = nearest && squared_distance(vectors, j, half) >= distance;
    layer.exact += distance == 0 ? 1 : 0;
    layer.nearest += nearest ? 1 : 0;
    layer.rms += distance;
  }
  layer.exact /= rows;
  layer.nearest /= rows;
  layer.rms = std::sqrt(layer.rms / rows);
  return layer;
}

bool finds_orthogonal_pair(const VectorSet& vectors) {
  for (std::int64_t i = 0; i < vectors.count; ++i) {
    const std::vector<double> half = second_half(vectors, i, 0);
    if (std::inner_product(half.begin(), half.end(), vectors.values.begin() + i * vectors.width, 0.0) == 0)
      return true;
  }
  return false;
}

std::int64_t SparseLayers::first_exact() const {
  const auto first = std::find(right.begin(), right.end(), 1.0);
  return first == right.end() ? 0 : first - right.begin() + 1;
}

SparseLayers sparse_layers(const VectorSet& vectors, std::int64_t window, std::int64_t layers) {
  const auto n = static_cast<std::size_t>(vectors.count), w = static_cast<std::size_t>(window);
  std::vector<std::vector<double>> products(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      products[i][j] = vectors.product(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
  }
  // Rows hold vectors; which one each of them is says it all.
  std::vector<std::size_t> carriers(n), best(n), furthest(n);
  for (std::size_t i = 0; i < n; ++i)  // the first of equal ones
    furthest[i] = static_cast<std::size_t>(std::min_element(products[i].begin(), products[i].end()) -
                                           products[i].begin());
  std::iota(carriers.begin(), carriers.end(), std::size_t{0});
  best = carriers;
  SparseLayers run{{}, vectors.count * (window + 1)};
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::vector<std::size_t> handed_on(n);
    std::size_t right = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t back = 1; back <= w; ++back) {
        const std::size_t seen = carriers[(i + n * back - back) % n];
        const double now = products[i][seen], before = products[i][best[i]];
        if (now < before || (now == before && seen < best[i])) best[i] = seen;
      }
      handed_on[i] = carriers[(i + n * w - w) % n];
      if (best[i] == furthest[i]) ++right;
    }
    carriers = std::move(handed_on);
    run.right.push_back(static_cast<double>(right) / static_cast<double>(n));
  }
  return run;
}

std::int64_t layers_needed(std::int64_t count, std::int64_t window) {
  return (count - 1 + window - 1) / window;
}

}  // namespace bigbird
