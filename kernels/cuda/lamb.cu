// LAMB: moments and the squares of every piece, then the move.
#include "kernels/cuda/launchers.h"

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr Index lamb_part = 8192;  // elements of a block

// LambStep as the kernels want it: as the CPU kernels round it.
struct LambConstants {
  float gradient_scale;
  float beta1, beta2;
  float one_minus_beta1, one_minus_beta2;  // 1 - beta
  float epsilon;
  float decay;  // of the pieces that decay

  explicit LambConstants(const LambStep& step)
      : gradient_scale(step.gradient_scale),
        beta1(static_cast<float>(step.beta1)),
        beta2(static_cast<float>(step.beta2)),
        one_minus_beta1(static_cast<float>(1.0 - step.beta1)),
        one_minus_beta2(static_cast<float>(1.0 - step.beta2)),
        epsilon(step.epsilon),
        decay(step.weight_decay) {}
};

BIGBIRD_DEVICE float lamb_update(float p, float m, float v, float epsilon, float decay) {
  return m / (sqrtf(v) + epsilon) + decay * p;
}

// What both kernels over parts of pieces do.
struct LambParts {
  const LambPlace* places;
  Index count;
  bool vectors;  // whether the arrays can be read four elements at a time

  // The piece that a block works on: the last that begins at or before it. One without blocks begins where
  // the next one does.
  BIGBIRD_DEVICE const LambPlace& place_of(Index block) const {
    Index low = 0, high = count;
    while (low < high) {
      const Index middle = (low + high) / 2;
      if (places[middle].part_block <= block) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return places[low - 1];
  }

  // The elements of a block: `whole` of `number` by vectors.
  struct Range {
    Index at, whole, number;
  };
  BIGBIRD_DEVICE Range range(const LambPlace& place, Index block) const {
    const Index first = (block - place.part_block) * lamb_part;
    const Index rest = place.piece.count - first;
    const Index number = rest < lamb_part ? rest : lamb_part;
    const bool four = vectors && place.piece.offset % 4 == 0;
    return {place.piece.offset + first, four ? number / 4 * 4 : 0, number};
  }
};

struct LambMoments {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  static constexpr std::size_t shared_bytes = 2 * (threads / 32) * sizeof(double);
  LambParts parts;
  LambArrays arrays;
  LambConstants constants;
  LambSquares* squares;  // of each block

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const LambPlace& place = parts.place_of(thread.block());
    const float decay = place.piece.decay ? constants.decay : 0.0f;
    double parameter = 0.0, update = 0.0;
    const LambParts::Range range = parts.range(place, thread.block());
#pragma unroll 2
    for (Index i = Index{thread.index()} * 4; i < range.whole; i += threads * 4)
      add<4>(range.at + i, decay, parameter, update);
    for (Index i = range.whole + thread.index(); i < range.number; i += threads)
      add<1>(range.at + i, decay, parameter, update);
    parameter = block_sum<threads>(thread, parameter);
    update = block_sum<threads>(thread, update, threads / 32 * static_cast<int>(sizeof(double)));
    if (thread.index() == 0) squares[thread.block()] = {parameter, update};
  }

  template <int N>
  BIGBIRD_DEVICE void add(Index at, float decay, double& parameter, double& update) const {
    const LambConstants& c = constants;
    float weights[N], gradient[N], first[N], second[N];
    load_floats(arrays.parameters + at, weights);
    load_floats(arrays.gradients + at, gradient);
    load_floats(arrays.first + at, first);
    load_floats(arrays.second + at, second);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float scaled = gradient[i] * c.gradient_scale;
      first[i] = c.beta1 * first[i] + c.one_minus_beta1 * scaled;
      second[i] = c.beta2 * second[i] + c.one_minus_beta2 * scaled * scaled;
      const auto u = static_cast<double>(lamb_update(weights[i], first[i], second[i], c.epsilon, decay));
      parameter += static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
      update += u * u;
    }
    store_floats(arrays.first + at, first);
    store_floats(arrays.second + at, second);
  }
};

// A block for each piece.
struct LambSums {
  static constexpr int threads = 64;
  static constexpr int blocks_per_sm = 8;
  static constexpr std::size_t shared_bytes = 2 * (threads / 32) * sizeof(double);
  const LambPlace* places;
  const LambSquares* parts;
  LambSquares* squares;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const LambPlace& place = places[thread.block()];
    double parameter = 0.0, update = 0.0;
    for (Index i = thread.index(); i < place.part_blocks; i += threads) {
      parameter += parts[place.part_block + i].parameter;
      update += parts[place.part_block + i].update;
    }
    parameter = block_sum<threads>(thread, parameter);
    update = block_sum<threads>(thread, update, threads / 32 * static_cast<int>(sizeof(double)));
    if (thread.index() == 0) squares[thread.block()] = {parameter, update};
  }
};

struct LambMove {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  LambParts parts;
  LambArrays arrays;
  bf16* copy;  // may be null
  LambConstants constants;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const LambPlace& place = parts.place_of(thread.block());
    const float decay = place.piece.decay ? constants.decay : 0.0f;
    const LambParts::Range range = parts.range(place, thread.block());
#pragma unroll 2
    for (Index i = Index{thread.index()} * 4; i < range.whole; i += threads * 4)
      move<4>(range.at + i, decay, place.rate);
    for (Index i = range.whole + thread.index(); i < range.number; i += threads)
      move<1>(range.at + i, decay, place.rate);
  }

  template <int N>
  BIGBIRD_DEVICE void move(Index at, float decay, float rate) const {
    float weights[N], first[N], second[N];
    load_floats(arrays.parameters + at, weights);
    load_floats(arrays.first + at, first);
    load_floats(arrays.second + at, second);
#pragma unroll
    for (int i = 0; i < N; ++i)
      weights[i] -= rate * lamb_update(weights[i], first[i], second[i], constants.epsilon, decay);
    store_floats(arrays.parameters + at, weights);
    if (copy != nullptr) store_floats(copy + at, weights);
  }
};

}  // namespace

LambPlaces::LambPlaces(std::span<const LambPiece> pieces) {
  for (const LambPiece& piece : pieces) {
    places_.push_back({piece, part_blocks_, blocks_for(piece.count, lamb_part)});
    part_blocks_ += places_.back().part_blocks;
  }
}

void LambPlaces::set_rates(const float* rates) {
  for (LambPlace& place : places_) place.rate = *rates++;
}

const LambSquares* lamb_moments(const LambArrays& arrays, const LambPlaces& pieces, const LambStep& step,
                                Stream stream) {
  const auto* const places = static_cast<const LambPlace*>(arrays.scratch);
  auto* const squares =
      reinterpret_cast<LambSquares*>(static_cast<std::byte*>(arrays.scratch) + pieces.place_bytes());
  LambSquares* const parts = squares + pieces.count();
  const bool vectors = aligned_to_vectors(arrays.parameters, arrays.gradients, arrays.first, arrays.second);
  launch(LambMoments{{places, pieces.count(), vectors}, arrays, LambConstants(step), parts},
         {.blocks = pieces.part_blocks(), .shared_bytes = LambMoments::shared_bytes}, stream);
  launch(LambSums{places, parts, squares}, {.blocks = pieces.count(), .shared_bytes = LambSums::shared_bytes},
         stream);
  return squares;
}

void lamb_move(const LambArrays& arrays, bf16* copy, const LambPlaces& pieces, const LambStep& step,
               Stream stream) {
  const auto* const places = static_cast<const LambPlace*>(arrays.scratch);
  // The copy is written eight bytes at a time.
  const bool vectors = aligned_to_vectors(arrays.parameters, arrays.first, arrays.second) &&
                       reinterpret_cast<std::uintptr_t>(copy) % 8 == 0;
  launch(LambMove{{places, pieces.count(), vectors}, arrays, copy, LambConstants(step)},
         {.blocks = pieces.part_blocks()}, stream);
}

}  // namespace bigbird::kernels::cuda
