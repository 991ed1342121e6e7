// Adafactor: means of squares over rows and over columns, how far the update would go, and the update.
#include "kernels/cuda/launchers.h"

#include <algorithm>

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr int row_warps = 8;       // of a block over rows: a warp has one row, or a part of one
constexpr Index part_size = 4096;  // columns of a part, so that a long vector keeps many warps busy
constexpr int column_warps = 16;   // of a block over columns: 32 of them, warps take rows in turn

BIGBIRD_HOST_DEVICE Index parts_of_row(const AdafactorTensor& tensor) {
  return (tensor.columns + part_size - 1) / part_size;
}

// The tensor that a block works on, by the member that says where it begins. A tensor without blocks begins
// where the next one does.
template <Index AdafactorPlace::*begin>
BIGBIRD_DEVICE const AdafactorPlace& place_of(const AdafactorPlace* places, Index count, Index block) {
  Index low = 0, high = count;
  while (low < high) {
    const Index middle = (low + high) / 2;
    if (places[middle].*begin <= block) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return places[low - 1];
}

// Whether rows can be read four elements at a time, where the arrays can.
BIGBIRD_DEVICE bool rows_by_vectors(const AdafactorTensor& tensor) {
  return tensor.offset % 4 == 0 && tensor.columns % 4 == 0;
}

// What a mean becomes.
struct AdafactorBlend {
  double beta2;
  BIGBIRD_DEVICE float operator()(float before, double mean) const {
    return static_cast<float>(beta2 * static_cast<double>(before) +
                              (1.0 - beta2) * (mean + adafactor_least_square));
  }
};

struct AdafactorRows {
  static constexpr int threads = 32 * row_warps;
  static constexpr int blocks_per_sm = 4;
  const float* g;
  float* state;
  const AdafactorPlace* places;
  Index count;
  bool vectors;
  float scale;
  AdafactorBlend blend;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const AdafactorPlace& place = place_of<&AdafactorPlace::row_block>(places, count, thread.block());
    const AdafactorTensor& tensor = place.tensor;
    const Index row = (thread.block() - place.row_block) * row_warps + thread.warp();
    if (row >= tensor.rows) return;
    const float* const from = g + tensor.offset + row * tensor.columns;
    const bool four = vectors && rows_by_vectors(tensor);
    double sum = four ? squares<4>(from, tensor.columns, thread.lane())
                      : squares<1>(from, tensor.columns, thread.lane());
    sum = warp_sum(thread, sum);
    if (thread.lane() != 0) return;
    float& mean = state[tensor.row_means + row];
    mean = blend(mean, sum / static_cast<double>(tensor.columns));
  }

  template <int N>
  BIGBIRD_DEVICE double squares(const float* from, Index columns, int lane) const {
    double sum = 0.0;
#pragma unroll 4
    for (Index column = Index{lane} * N; column < columns; column += 32 * N) {
      float values[N];
      load_floats(from + column, values);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const double value = static_cast<double>(values[i] * scale);
        sum += value * value;
      }
    }
    return sum;
  }
};

struct AdafactorColumns {
  static constexpr int threads = 32 * column_warps;
  static constexpr int blocks_per_sm = 2;
  static constexpr std::size_t shared_bytes = threads * sizeof(double);
  const float* g;
  float* state;
  const AdafactorPlace* places;
  Index count;
  float scale;
  AdafactorBlend blend;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const AdafactorPlace& place = place_of<&AdafactorPlace::column_block>(places, count, thread.block());
    const AdafactorTensor& tensor = place.tensor;
    const Index column = (thread.block() - place.column_block) * 32 + thread.lane();
    const bool there = column < tensor.columns;
    double sum = 0.0;
    if (there) {
      const float* const from = g + tensor.offset + column;
#pragma unroll 8
      for (Index row = thread.warp(); row < tensor.rows; row += column_warps) {
        const double value = static_cast<double>(from[row * tensor.columns] * scale);
        sum += value * value;
      }
    }
    const auto sums = thread.shared<double>(0, threads);
    sums[thread.index()] = sum;
    thread.barrier();
    if (thread.warp() != 0 || !there) return;
    double total = 0.0;
    for (int warp = 0; warp < column_warps; ++warp) total += sums[warp * 32 + thread.lane()];
    float& mean = state[tensor.column_means + column];
    mean = blend(mean, total / static_cast<double>(tensor.rows));
  }
};

// A block for each tensor: the mean of the means of its rows.
struct AdafactorMeanOfRows {
  static constexpr int threads = 512;
  static constexpr int blocks_per_sm = 2;
  static constexpr std::size_t shared_bytes = threads / 32 * sizeof(double);
  const float* state;
  const AdafactorPlace* places;
  double* means;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const AdafactorTensor& tensor = places[thread.block()].tensor;
    if (tensor.row_means < 0) return;
    double sum = 0.0;
#pragma unroll 4
    for (Index row = thread.index(); row < tensor.rows; row += threads)
      sum += static_cast<double>(state[tensor.row_means + row]);
    const double total = block_sum<threads>(thread, sum);
    if (thread.index() == 0) means[thread.block()] = total / static_cast<double>(tensor.rows);
  }
};

// The update of the parts of rows, before it is known how far it goes: what both kernels over parts do.
struct AdafactorParts {
  const float* g;
  const float* state;
  const AdafactorPlace* places;
  Index count;
  const double* means;
  float scale;

  // One part of a row.
  struct Part {
    Index tensor;         // its number
    Index at;             // in parameters and gradients
    const float* column;  // means of its columns
    Index columns;        // 0: this warp has none
    float row;            // what the row multiplies the gradient by
    bool four;            // may be read by vectors, where the arrays can
  };
  BIGBIRD_DEVICE Part part(Thread& thread) const {
    const AdafactorPlace& place = place_of<&AdafactorPlace::part_block>(places, count, thread.block());
    const AdafactorTensor& tensor = place.tensor;
    const Index number = (thread.block() - place.part_block) * row_warps + thread.warp();
    const Index parts = parts_of_row(tensor);
    const Index row = number / parts, first = number % parts * part_size;
    Part part{&place - places, 0, nullptr, 0, scale, rows_by_vectors(tensor)};
    if (row >= tensor.rows) return part;
    part.at = tensor.offset + row * tensor.columns + first;
    part.column = state + tensor.column_means + first;
    part.columns = tensor.columns - first < part_size ? tensor.columns - first : part_size;
    if (tensor.row_means >= 0) {
      part.row =
          static_cast<float>(static_cast<double>(scale) *
                             sqrt(means[part.tensor] / static_cast<double>(state[tensor.row_means + row])));
    }
    return part;
  }

  // g * row comes first: where a row or a column had no gradient at all, its factor is 1e15, and a zero stays
  // zero.
  template <int N>
  BIGBIRD_DEVICE void update(const Part& part, Index column, float (&values)[N]) const {
    load_floats(g + part.at + column, values);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = values[i] * part.row * (1.0f / sqrtf(part.column[column + i]));
  }
};

struct AdafactorSquares {
  static constexpr int threads = 32 * row_warps;
  static constexpr int blocks_per_sm = 4;
  static constexpr std::size_t shared_bytes = 2 * row_warps * sizeof(double);
  AdafactorParts parts;
  const float* p;
  bool vectors;
  double* sums;  // of each block: of the update, of the parameters

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const AdafactorParts::Part part = parts.part(thread);
    double update = 0.0, parameter = 0.0;
    if (vectors && part.four) {
      add<4>(part, thread.lane(), update, parameter);
    } else {
      add<1>(part, thread.lane(), update, parameter);
    }
    update = block_sum<threads>(thread, update);
    parameter = block_sum<threads>(thread, parameter, row_warps * static_cast<int>(sizeof(double)));
    if (thread.index() != 0) return;
    sums[Index{2} * thread.block()] = update;
    sums[Index{2} * thread.block() + 1] = parameter;
  }

  template <int N>
  BIGBIRD_DEVICE void add(const AdafactorParts::Part& part, int lane, double& update,
                          double& parameter) const {
#pragma unroll 2
    for (Index column = Index{lane} * N; column < part.columns; column += 32 * N) {
      float values[N], weights[N];
      parts.update(part, column, values);
      load_floats(p + part.at + column, weights);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        update += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        parameter += static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
      }
    }
  }
};

// A block for each tensor: what its update is multiplied by.
struct AdafactorSteps {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 2;
  static constexpr std::size_t shared_bytes = 2 * (threads / 32) * sizeof(double);
  const AdafactorPlace* places;
  const double* sums;
  double learning_rate;
  double* steps;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const AdafactorPlace& place = places[thread.block()];
    double update = 0.0, parameter = 0.0;
    for (Index block = thread.index(); block < place.part_blocks; block += threads) {
      update += sums[2 * (place.part_block + block)];
      parameter += sums[2 * (place.part_block + block) + 1];
    }
    update = block_sum<threads>(thread, update);
    parameter = block_sum<threads>(thread, parameter, threads / 32 * static_cast<int>(sizeof(double)));
    if (thread.index() != 0) return;
    const double count = static_cast<double>(place.tensor.rows * place.tensor.columns);
    const double size = sqrt(parameter / count), way = sqrt(update / count);
    const double scale = size > adafactor_least_scale ? size : adafactor_least_scale;
    steps[thread.block()] = learning_rate * place.tensor.rate * scale / (way > 1.0 ? way : 1.0);
  }
};

struct AdafactorMove {
  static constexpr int threads = 32 * row_warps;
  static constexpr int blocks_per_sm = 4;
  AdafactorParts parts;
  float* p;
  bf16* copy;  // may be null
  bool vectors;
  const double* steps;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const AdafactorParts::Part part = parts.part(thread);
    const auto step = static_cast<float>(steps[part.tensor]);
    if (vectors && part.four) {
      move<4>(part, thread.lane(), step);
    } else {
      move<1>(part, thread.lane(), step);
    }
  }

  template <int N>
  BIGBIRD_DEVICE void move(const AdafactorParts::Part& part, int lane, float step) const {
#pragma unroll 2
    for (Index column = Index{lane} * N; column < part.columns; column += 32 * N) {
      float values[N], weights[N];
      parts.update(part, column, values);
      load_floats(p + part.at + column, weights);
#pragma unroll
      for (int i = 0; i < N; ++i) weights[i] -= step * values[i];
      store_floats(p + part.at + column, weights);
      if (copy != nullptr) store_floats(copy + part.at + column, weights);
    }
  }
};

}  // namespace

AdafactorPlaces::AdafactorPlaces(std::span<const AdafactorTensor> tensors) {
  for (const AdafactorTensor& tensor : tensors) {
    const Index part_blocks = blocks_for(tensor.rows * parts_of_row(tensor), row_warps);
    places_.push_back({tensor, row_blocks_, column_blocks_, part_blocks_, part_blocks});
    if (tensor.row_means >= 0) row_blocks_ += blocks_for(tensor.rows, row_warps);
    column_blocks_ += blocks_for(tensor.columns, 32);
    part_blocks_ += part_blocks;
  }
}

void adafactor(const AdafactorArrays& arrays, bf16* copy, const AdafactorPlaces& tensors,
               const AdafactorStep& step, Stream stream) {
  const auto* const places = static_cast<const AdafactorPlace*>(arrays.scratch);
  double* const means =
      reinterpret_cast<double*>(static_cast<std::byte*>(arrays.scratch) + tensors.place_bytes());
  double* const steps = means + tensors.count();
  double* const sums = steps + tensors.count();
  const float* const g = arrays.gradients;
  // The copy is written eight bytes at a time.
  const bool vectors =
      aligned_to_vectors(arrays.parameters, g) && reinterpret_cast<std::uintptr_t>(copy) % 8 == 0;
  const AdafactorBlend blend{step.beta2};
  launch(AdafactorRows{g, arrays.state, places, tensors.count(), vectors, step.gradient_scale, blend},
         {.blocks = tensors.row_blocks()}, stream);
  launch(AdafactorColumns{g, arrays.state, places, tensors.count(), step.gradient_scale, blend},
         {.blocks = tensors.column_blocks(), .shared_bytes = AdafactorColumns::shared_bytes}, stream);
  launch(AdafactorMeanOfRows{arrays.state, places, means},
         {.blocks = tensors.count(), .shared_bytes = AdafactorMeanOfRows::shared_bytes}, stream);
  const AdafactorParts parts{g, arrays.state, places, tensors.count(), means, step.gradient_scale};
  launch(AdafactorSquares{parts, arrays.parameters, vectors, sums},
         {.blocks = tensors.part_blocks(), .shared_bytes = AdafactorSquares::shared_bytes}, stream);
  launch(AdafactorSteps{places, sums, step.learning_rate, steps},
         {.blocks = tensors.count(), .shared_bytes = AdafactorSteps::shared_bytes}, stream);
  launch(AdafactorMove{parts, arrays.parameters, copy, vectors, steps}, {.blocks = tensors.part_blocks()},
         stream);
}

}  // namespace bigbird::kernels::cuda
