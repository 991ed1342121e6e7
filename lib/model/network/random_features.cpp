// See random_features.h.
#include "lib/model/network/random_features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "lib/core/rng.h"
#include "lib/model/network/layout.h"

namespace bigbird {
namespace {

using Square = std::vector<double>;  // [D, D], row-major

// Row by row, each made orthogonal to those before it, twice over, so that rounding leaves nothing of them.
Square orthogonal_rows(CounterRng& rng, std::size_t size) {
  Square q(size * size);
  for (std::size_t row = 0; row < size; ++row) {
    double* const x = q.data() + row * size;
    double length = 0.0;
    for (std::size_t d = 0; d < size; ++d) x[d] = rng.normal();
    for (int round = 0; round < 2; ++round) {
      for (std::size_t before = 0; before < row; ++before) {
        const double* const other = q.data() + before * size;
        double product = 0.0;
        for (std::size_t d = 0; d < size; ++d) product += x[d] * other[d];
        for (std::size_t d = 0; d < size; ++d) x[d] -= product * other[d];
      }
      length = 0.0;
      for (std::size_t d = 0; d < size; ++d) length += x[d] * x[d];
      for (std::size_t d = 0; d < size; ++d) x[d] /= std::sqrt(length);
    }
  }
  return q;
}

Square identity(std::size_t size) {
  Square q(size * size, 0.0);
  for (std::size_t d = 0; d < size; ++d) q[d * size + d] = 1.0;
  return q;
}

Square rotations(CounterRng& rng, std::size_t size) {
  Square q = identity(size);
  if (size < 2) return q;
  const auto count = size * static_cast<std::size_t>(std::ceil(std::log(static_cast<double>(size))));
  for (std::size_t turn = 0; turn < count; ++turn) {
    const double angle = std::numbers::pi * rng.uniform();
    const std::size_t first = static_cast<std::size_t>(rng.below(size));
    const std::size_t other = (first + 1 + static_cast<std::size_t>(rng.below(size - 1))) % size;
    const double cosine = std::cos(angle), sine = std::sin(angle);
    for (std::size_t d = 0; d < size; ++d) {
      double& a = q[first * size + d];
      double& b = q[other * size + d];
      const double turned = cosine * a + sine * b;
      b = cosine * b - sine * a;
      a = turned;
    }
  }
  return q;
}

// Three times signs of the columns, then H / sqrt(D) of them.
Square hadamard_products(CounterRng& rng, std::size_t size) {
  Square q = identity(size);
  const double scale = 1.0 / std::sqrt(static_cast<double>(size));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t row = 0; row < size; ++row) {
      const double sign = rng.below(2) == 0 ? scale : -scale;
      for (std::size_t d = 0; d < size; ++d) q[row * size + d] *= sign;
    }
    for (std::size_t half = 1; half < size; half *= 2) {
      for (std::size_t row = 0; row < size; ++row) {
        if ((row & half) != 0) continue;
        for (std::size_t d = 0; d < size; ++d) {
          double& a = q[row * size + d];
          double& b = q[(row + half) * size + d];
          const double sum = a + b;
          b = a - b;
          a = sum;
        }
      }
    }
  }
  return q;
}

Square block_of(FeatureProjection projection, CounterRng& rng, std::size_t size) {
  if (projection == FeatureProjection::givens) return rotations(rng, size);
  if (projection == FeatureProjection::hadamard) return hadamard_products(rng, size);
  return orthogonal_rows(rng, size);
}

}  // namespace

bool draws_features(const ModelConfig& config) {
  return config.attention == AttentionPattern::performer &&
         feature_projection(config) != FeatureProjection::none;
}

std::vector<float> drawn_features(const ModelConfig& config, std::int64_t layer, std::uint64_t seed,
                                  std::uint64_t number) {
  constexpr int draw_bits = 40;  // layers stand above them
  const auto size = static_cast<std::size_t>(config.head_size());
  const auto rows = static_cast<std::size_t>(projected_features(config));
  const FeatureProjection projection = feature_projection(config);
  CounterRng rng(seed, Purpose::random_features, (static_cast<std::uint64_t>(layer) << draw_bits) + number);
  std::vector<float> features;
  features.reserve(rows * size);
  if (projection == FeatureProjection::iid) {
    for (std::size_t i = 0; i < rows * size; ++i) features.push_back(static_cast<float>(rng.normal()));
    return features;
  }
  for (std::size_t first = 0; first < rows; first += size) {
    const Square block = block_of(projection, rng, size);
    for (std::size_t row = 0; row < std::min(size, rows - first); ++row) {
      double square = 0.0;
      for (std::size_t d = 0; d < size; ++d) {
        const double x = rng.normal();
        square += x * x;
      }
      for (std::size_t d = 0; d < size; ++d)
        features.push_back(static_cast<float>(std::sqrt(square) * block[row * size + d]));
    }
  }
  return features;
}

void redraw_features(kernels::Backend& backend, const ModelConfig& config, const ParameterLayout& layout,
                     float* parameters, std::uint64_t updates, std::uint64_t seed) {
  if (!draws_features(config)) return;
  const auto every = static_cast<std::uint64_t>(config.attention_options.performer.redraw);
  if (every == 0 || updates == 0 || updates % every != 0) return;
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.init != Init::features) continue;
    const std::vector<float> rows = drawn_features(config, spec.depth - 1, seed, updates / every);
    backend.upload(parameters + spec.offset, rows.data(), rows.size() * sizeof(float));
  }
}

}  // namespace bigbird
