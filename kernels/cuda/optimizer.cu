// The gradient norm and AdamW.
#include "kernels/cuda/launchers.h"

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr Index square_blocks_most = 1024;

// The blocks that sum so many numbers.
BIGBIRD_HOST_DEVICE Index square_blocks(Index count) {
  const Index blocks = (count + 4095) / 4096;
  return blocks < square_blocks_most ? blocks : square_blocks_most;
}

// sums[part, block]: a row of the grid for each part.
template <int N>
struct SquareParts {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  static constexpr std::size_t shared_bytes = threads / 32 * sizeof(double);
  const float* x;
  Index count;
  Index part;
  double* sums;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index first = Index{thread.block_y()} * part;
    const Index end = first + part < count ? first + part : count;
    const Index blocks = square_blocks(end - first);
    if (thread.block() >= blocks) return;  // the last part may be shorter
    const Index step = blocks * threads * N;
    double sum = 0.0;
#pragma unroll 4
    for (Index i = first + (Index{thread.block()} * threads + thread.index()) * N; i < end; i += step) {
      if (i + N <= end) {
        add<N>(i, sum);
      } else {
        for (Index j = i; j < end; ++j) add<1>(j, sum);
      }
    }
    const double total = block_sum<threads>(thread, sum);
    if (thread.index() == 0) sums[thread.block_y() * Index{thread.blocks()} + thread.block()] = total;
  }

  template <int M>
  BIGBIRD_DEVICE void add(Index i, double& sum) const {
    float values[M];
    load_floats(x + i, values);
#pragma unroll
    for (int j = 0; j < M; ++j) sum += static_cast<double>(values[j]) * static_cast<double>(values[j]);
  }
};

// A block for each part.
struct SumSquareParts {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 1;
  static constexpr std::size_t shared_bytes = threads / 32 * sizeof(double);
  const double* sums;  // of the blocks
  Index stride;        // from one part to the next
  Index count;
  Index part;
  double* results;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index left = count - Index{thread.block()} * part;
    const Index blocks = square_blocks(left < part ? left : part);
    double sum = 0.0;
    for (Index i = thread.index(); i < blocks; i += threads) sum += sums[thread.block() * stride + i];
    const double total = block_sum<threads>(thread, sum);
    if (thread.index() == 0) results[thread.block()] = total;
  }
};

// AdamWStep as the kernel wants it: as the CPU kernels round it.
struct AdamWConstants {
  float gradient_scale;
  float beta1, beta2;
  float one_minus_beta1, one_minus_beta2;  // 1 - beta
  float epsilon;
  float step_size;  // learning rate / correction1
  float inverse_correction2;
  float decay;  // of the runs that decay: learning rate * weight decay

  explicit AdamWConstants(const AdamWStep& step)
      : gradient_scale(step.gradient_scale),
        beta1(static_cast<float>(step.beta1)),
        beta2(static_cast<float>(step.beta2)),
        one_minus_beta1(static_cast<float>(1.0 - step.beta1)),
        one_minus_beta2(static_cast<float>(1.0 - step.beta2)),
        epsilon(step.epsilon),
        step_size(step.learning_rate / step.correction1),
        inverse_correction2(1.0f / step.correction2),
        decay(step.learning_rate * step.weight_decay) {}
};

// Each thread has N neighbouring parameters, and looks up the run that they lie in. Parameters in no run
// stay.
template <int N>
struct AdamW {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  float* p;
  const float* g;
  float* m;
  float* v;
  bf16* copy;  // may be null
  const ParameterRun* runs;
  Index run_count;
  Index span;
  AdamWConstants constants;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index begin = (Index{thread.block()} * threads + thread.index()) * N;
    if (begin >= span) return;
    Index run = first_ending_behind(begin);
    if (run < run_count && runs[run].offset <= begin && begin + N <= runs[run].offset + runs[run].count) {
      update<N>(begin, runs[run].decay);
      return;
    }
    for (Index i = begin; i < begin + N; ++i) {
      while (run < run_count && runs[run].offset + runs[run].count <= i) ++run;
      if (run == run_count) return;
      if (runs[run].offset <= i) update<1>(i, runs[run].decay);
    }
  }

  // The first run that ends behind element i.
  BIGBIRD_DEVICE Index first_ending_behind(Index i) const {
    Index low = 0, high = run_count;
    while (low < high) {
      const Index middle = (low + high) / 2;
      if (runs[middle].offset + runs[middle].count <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  template <int M>
  BIGBIRD_DEVICE void update(Index at, bool decays) const {
    const AdamWConstants& c = constants;
    const float decay = decays ? c.decay : 0.0f;
    float parameter[M], gradient[M], first[M], second[M];
    load_floats(p + at, parameter);
    load_floats(g + at, gradient);
    load_floats(m + at, first);
    load_floats(v + at, second);
#pragma unroll
    for (int i = 0; i < M; ++i) {
      const float scaled = gradient[i] * c.gradient_scale;
      first[i] = c.beta1 * first[i] + c.one_minus_beta1 * scaled;
      second[i] = c.beta2 * second[i] + c.one_minus_beta2 * scaled * scaled;
      const float denominator = sqrtf(second[i] * c.inverse_correction2) + c.epsilon;
      parameter[i] -= c.step_size * first[i] / denominator + decay * parameter[i];
    }
    store_floats(p + at, parameter);
    store_floats(m + at, first);
    store_floats(v + at, second);
    if (copy != nullptr) store_floats(copy + at, parameter);
  }
};

}  // namespace

std::size_t sums_of_squares_workspace(Index count, Index part) {
  const Index blocks = square_blocks(std::min(count, part));
  return static_cast<std::size_t>(blocks_for(count, part) * blocks) * sizeof(double);
}

void sums_of_squares(const float* x, Index count, Index part, double* sums, void* workspace, Stream stream) {
  auto* const of_blocks = static_cast<double*>(workspace);
  const Index parts = blocks_for(count, part), blocks = square_blocks(std::min(count, part));
  with_access<float>(aligned_to_vectors(x) && (parts <= 1 || part % 4 == 0), [&](auto n) {
    using Kernel = SquareParts<n()>;
    launch(Kernel{x, count, part, of_blocks},
           {.blocks = blocks, .blocks_y = parts, .shared_bytes = Kernel::shared_bytes}, stream);
  });
  launch(SumSquareParts{of_blocks, blocks, count, part, sums},
         {.blocks = parts, .shared_bytes = SumSquareParts::shared_bytes}, stream);
}

void adamw(const AdamWArrays& arrays, bf16* copy, std::span<const ParameterRun> runs, Index end,
           const AdamWStep& step, Stream stream) {
  const auto& [p, g, m, v] = arrays;
  // The copy is written eight bytes at a time.
  const bool vectors = aligned_to_vectors(p, g, m, v) && reinterpret_cast<std::uintptr_t>(copy) % 8 == 0;
  with_access<float>(vectors, [&](auto n) {
    using Kernel = AdamW<n()>;
    launch(Kernel{arrays.parameters, arrays.gradients, arrays.first, arrays.second, copy, runs.data(),
                  static_cast<Index>(runs.size()), end, AdamWConstants(step)},
           {.blocks = blocks_for(end, Index{Kernel::threads} * n())}, stream);
  });
}

}  // namespace bigbird::kernels::cuda
