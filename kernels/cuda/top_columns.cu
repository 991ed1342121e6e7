// The largest logits of every row with their log-softmax, in one pass over the row: a block for each.
//
// Every warp keeps the best that it has met in registers, in order. A number that is not before the last of
// them is done with at once; the others are put into their place one by one, which comes up seldom: of n
// numbers in any order about k log(n / k) times for k places. At the end the first warp takes what the others
// have. The order of numbers is strict (larger first, then the lower column), so that the result depends on
// no order of threads.
#include "kernels/cuda/launchers.h"

#include <stdexcept>
#include <string>

#include "kernels/cuda/row_softmax.cuh"

namespace bigbird::kernels::cuda {

namespace {

// The best of a warp: that of rank r is with lane r % 32, in slot r / 32. Places that nothing has come to are
// behind every number.
template <int slots>
struct WarpTop {
  float value[slots];
  std::int32_t column[slots];
  float last_value = -INFINITY;  // of the last rank, in every lane
  std::int32_t last_column = RowSoftmax::nowhere;

  BIGBIRD_DEVICE WarpTop() {
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      value[s] = -INFINITY;
      column[s] = RowSoftmax::nowhere;
    }
  }

  BIGBIRD_DEVICE static bool before(float a, std::int32_t of_a, float b, std::int32_t of_b) {
    return a > b || (a == b && of_a < of_b);
  }
  // Whether there is a place for it.
  BIGBIRD_DEVICE bool wants(float x, std::int32_t of_x) const {
    return before(x, of_x, last_value, last_column);
  }

  // One number of every lane that has one. All lanes together.
  BIGBIRD_DEVICE void take(Thread& thread, bool any, float x, std::int32_t of_x) {
    unsigned waiting = thread.ballot(any && wants(x, of_x));
    while (waiting != 0) {
      const int from = lowest_bit(waiting);
      insert(thread, thread.shuffle(x, from), thread.shuffle(of_x, from));
      waiting &= waiting - 1;
      waiting &= thread.ballot(any && wants(x, of_x));  // others may have lost their place
    }
  }

 private:
  BIGBIRD_DEVICE void insert(Thread& thread, float x, std::int32_t of_x) {
    const int lane = thread.lane();
#pragma unroll
    for (int s = slots - 1; s >= 0; --s) {
      // What stands one rank before.
      float value_before = thread.shuffle(value[s], (lane + 31) % 32);
      std::int32_t column_before = thread.shuffle(column[s], (lane + 31) % 32);
      if (s > 0) {
        const float value_carried = thread.shuffle(value[s > 0 ? s - 1 : 0], 31);
        const std::int32_t column_carried = thread.shuffle(column[s > 0 ? s - 1 : 0], 31);
        if (lane == 0) {
          value_before = value_carried;
          column_before = column_carried;
        }
      }
      const bool stays = before(value[s], column[s], x, of_x);
      const bool here = (s == 0 && lane == 0) || before(value_before, column_before, x, of_x);
      value[s] = stays ? value[s] : (here ? x : value_before);
      column[s] = stays ? column[s] : (here ? of_x : column_before);
    }
    last_value = thread.shuffle(value[slots - 1], 31);
    last_column = thread.shuffle(column[slots - 1], 31);
  }
};

// Vectors of N elements lie at 16-byte boundaries, so that a row may begin and end within one.
template <class T, int N, int slots>
struct TopLogSoftmax {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 2;
  static constexpr int warps = threads / 32;
  static constexpr int places = 32 * slots;
  static constexpr int values_at = static_cast<int>(RowSoftmax::shared_bytes(warps));
  static constexpr int columns_at = values_at + warps * places * 4;
  static constexpr std::size_t shared_bytes = columns_at + warps * places * 4;
  const T* logits;
  TopColumns top;
  int columns;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index row = thread.block();
    const T* const x = logits + row * columns;
    const int shift = static_cast<int>(row * columns % N);

    RowSoftmax softmax;
    WarpTop<slots> best;
    for (int first = -shift; first < columns; first += threads * N) {
      const int begin = first + thread.index() * N;
      float values[N];
      if (begin >= 0 && begin + N <= columns) {
        load_floats(x + begin, values);
        softmax.take(values, begin);
      } else {
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const bool inside = begin + i >= 0 && begin + i < columns;
          float one[1] = {inside ? to_float(x[begin + i]) : -INFINITY};
          if (inside) softmax.take(one, begin + i);
          values[i] = one[0];
        }
      }
      const auto inside = [&](int i) { return begin + i >= 0 && begin + i < columns; };
      bool any = false;
#pragma unroll
      for (int i = 0; i < N; ++i) any = any || (inside(i) && best.wants(values[i], begin + i));
      if (thread.ballot(any) == 0) continue;
#pragma unroll
      for (int i = 0; i < N; ++i) best.take(thread, inside(i), values[i], begin + i);
    }

    const auto all_values = thread.shared<float>(values_at, warps * places);
    const auto all_columns = thread.shared<std::int32_t>(columns_at, warps * places);
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      const int place = thread.warp() * places + s * 32 + thread.lane();
      all_values[place] = best.value[s];
      all_columns[place] = best.column[s];
    }
    softmax.join_block<warps>(thread);  // with its barrier
    if (thread.warp() > 0) return;
    for (int place = places + thread.lane(); place < warps * places; place += 32) {
      const float value = all_values[place];
      const std::int32_t column = all_columns[place];
      best.take(thread, column != RowSoftmax::nowhere, value, column);
    }

    const float log_sum = logf(softmax.sum);
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      const int rank = s * 32 + thread.lane();
      if (rank >= top.count) continue;
      // Of a row without enough numbers the places that are left are column 0; the sum is no number either.
      const bool met = best.column[s] != RowSoftmax::nowhere;
      top.log_probabilities[row * top.count + rank] = best.value[s] - softmax.maximum - log_sum;
      top.columns[row * top.count + rank] = met ? best.column[s] : 0;
    }
  }
};

template <int slots>
void launch_top(const ConstMatrix& logits, const TopColumns& top, Stream stream) {
  with_type(logits.data.type(), [&](auto type) {
    using T = decltype(type);
    with_access<T>(aligned_to_vectors(logits.data.data()), [&](auto n) {
      using Kernel = TopLogSoftmax<T, n(), slots>;
      launch(Kernel{logits.data.as<T>(), top, static_cast<int>(logits.columns)},
             {.blocks = logits.rows, .shared_bytes = Kernel::shared_bytes}, stream);
    });
  });
}

}  // namespace

void top_log_softmax(const ConstMatrix& logits, const TopColumns& top, Stream stream) {
  if (top.count < 1 || top.count > most_top_columns || top.count > logits.columns)
    throw std::logic_error("top_log_softmax of " + std::to_string(top.count) + " columns");
  if (top.count <= 32) return launch_top<1>(logits, top, stream);
  launch_top<most_top_columns / 32>(logits, top, stream);
}

}  // namespace bigbird::kernels::cuda
