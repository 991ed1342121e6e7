// The largest logits of every row with their log-softmax: pieces of a row that stay in the cache are read for
// the sum of exponentials, then for what belongs among the best so far.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

namespace {

constexpr Index piece_columns = 4096;

// The best so far of a row, in place of the result: values [count] descending, of equal ones the lower column
// first. Columns come in ascending order.
struct BestSoFar {
  float* values;
  std::int32_t* columns;
  Index count;
  Index held = 0;

  void take(const float* x, Index first, Index size) {
    Index i = 0;
    for (; held < count && i < size; ++i) insert(x[i], first + i);
    for (; i < size; ++i) {
      if (x[i] > values[count - 1]) insert(x[i], first + i);
    }
  }

 private:
  void insert(float x, Index column) {
    Index place = held < count ? held++ : count - 1;
    for (; place > 0 && x > values[place - 1]; --place) {
      values[place] = values[place - 1];
      columns[place] = columns[place - 1];
    }
    values[place] = x;
    columns[place] = static_cast<std::int32_t>(column);
  }
};

}  // namespace

void CpuBackend::top_log_softmax(const ConstMatrix& logits, const TopColumns& top) {
  assert(top.count >= 1 && top.count <= most_top_columns && top.count <= logits.columns);
  parallel_pieces(logits.rows, rows_per_task(logits.columns), [&](Index first_row, Index rows) {
    for (Index row = first_row; row < first_row + rows; ++row) {
      const float* const x = floats(logits.data) + row * logits.columns;
      float* const values = top.log_probabilities + row * top.count;
      BestSoFar best{values, top.columns + row * top.count, top.count};
      double largest = -INFINITY, sum = 0.0;  // of exp(x - largest), over the pieces before
      for (Index first = 0; first < logits.columns; first += piece_columns) {
        const Index size = std::min(piece_columns, logits.columns - first);
        float of_piece = 0.0f, piece_sum = 0.0f;
        Index place = 0;
        level_.softmax_statistics(x + first, size, &of_piece, &place, &piece_sum);
        // Minus itself, -infinity is no number, but the piece may hold nothing else.
        if (of_piece == -INFINITY &&
            std::none_of(x + first, x + first + size, [](float value) { return std::isnan(value); })) {
          piece_sum = 0.0f;
        }
        const double joined = std::max(largest, static_cast<double>(of_piece));
        const double shift = joined == -HUGE_VAL ? 0.0 : joined;
        sum = sum * std::exp(largest - shift) +
              static_cast<double>(piece_sum) * std::exp(static_cast<double>(of_piece) - shift);
        largest = joined;
        best.take(x + first, first, size);
      }
      const double log_sum = largest + std::log(sum);
      for (Index i = 0; i < top.count; ++i)
        values[i] = static_cast<float>(static_cast<double>(values[i]) - log_sum);
    }
  });
}

}  // namespace bigbird::kernels
