// Attention of single queries over rows that lists name, with the online softmax in powers of two: a block
// for each query and head reads its rows once, and the rows of its labels. As many threads as a row has
// pieces of 16 bytes share a row, and groups of them take the rows of the list in turn; what the groups have
// is put together in a fixed order.
#include "kernels/cuda/attention/attention.h"

#include <math.h>

#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/tiles.cuh"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

// What is summed up over some rows, in `count` columns.
template <int count>
struct RowSums {
  float maximum = -INFINITY;  // of the scores, in powers of two
  float total = 0.0f;         // of 2^(score - maximum)
  float sums[count] = {};     // of that times the values

  BIGBIRD_DEVICE void join(float other_maximum, float other_total, const float (&other)[count]) {
    const float largest = fmaxf(maximum, other_maximum);
    if (largest == -INFINITY) {  // of no rows, or of scores that are none
      total += other_total;
      return;
    }
    const float own = exp2_fast(maximum - largest), others = exp2_fast(other_maximum - largest);
    total = total * own + other_total * others;
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = sums[i] * own + other[i] * others;
    maximum = largest;
  }
};

// Heads have `width` columns, or fewer where not `whole`: then those behind them are zeros.
template <class Element, int width, bool whole>
struct AttendRows {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 4;
  static constexpr int warps = threads / 32;
  static constexpr int chunk = vector_elements<Element>;
  static constexpr int lanes = width / chunk;  // that share a row
  static constexpr int groups = threads / lanes;
  static constexpr int at_once = 4;  // rows of a group that are on their way together
  static constexpr std::size_t shared_bytes = warps * (2 + width) * sizeof(float);

  const Element *q, *k, *v;
  Index q_stride, k_stride, v_stride;
  Element* out;
  Index out_stride;
  const std::int32_t* rows;
  const std::int32_t* offsets;
  const std::int32_t* labels;  // null: no term of theirs
  const float* label_weight;
  Index label_stride, label_head;  // from label to label, and from head to head
  const float* label_bias;         // [labels, heads]; null: zeros
  float* log_sum_exp;              // may be null
  Index queries;
  int heads;
  int head_size;
  float scale;  // of powers of two

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int query = thread.block() / heads, head = thread.block() % heads;
    const int column = thread.index() % lanes * chunk;  // of the head
    const int first = offsets[query], count = offsets[query + 1] - first;
    float own[chunk];
    load_columns(q + query * q_stride + head * head_size, column, own);
#pragma unroll
    for (int i = 0; i < chunk; ++i) own[i] *= scale;

    RowSums<chunk> sums;
    for (int begin = 0; begin < count; begin += groups * at_once)
      add_rows(thread, own, first, begin + thread.index() / lanes, count, head, column, sums);
#pragma unroll
    for (int mask = lanes; mask < 32; mask *= 2) {
      float other[chunk];
#pragma unroll
      for (int i = 0; i < chunk; ++i) other[i] = thread.shuffle_xor(sums.sums[i], mask);
      sums.join(thread.shuffle_xor(sums.maximum, mask), thread.shuffle_xor(sums.total, mask), other);
    }

    const auto statistics = thread.shared<float>(0, 2 * warps);
    const auto of_warps = thread.shared<float>(2 * warps * 4, warps * width);
    if (thread.lane() == 0) {
      statistics[thread.warp()] = sums.maximum;
      statistics[warps + thread.warp()] = sums.total;
    }
    if (thread.lane() < lanes) {
#pragma unroll
      for (int i = 0; i < chunk; ++i) of_warps[thread.warp() * width + column + i] = sums.sums[i];
    }
    thread.barrier();
    if (thread.index() >= lanes) return;
    for (int warp = 1; warp < warps; ++warp) {
      float other[chunk];
#pragma unroll
      for (int i = 0; i < chunk; ++i) other[i] = of_warps[warp * width + column + i];
      sums.join(statistics[warp], statistics[warps + warp], other);
    }
    if (thread.index() == 0 && log_sum_exp != nullptr) {
      log_sum_exp[head * queries + query] =
          count == 0 ? INFINITY : (sums.maximum + log2_fast(sums.total)) / log2_e;
    }
#pragma unroll
    for (int i = 0; i < chunk; ++i) sums.sums[i] = count == 0 ? 0.0f : sums.sums[i] / sums.total;
    Element* const to = out + query * out_stride + head * head_size + column;
    if constexpr (whole) {
      store_floats(to, sums.sums);
    } else {
#pragma unroll
      for (int i = 0; i < chunk; ++i) {
        if (column + i < head_size) to[i] = to_element<Element>(sums.sums[i]);
      }
    }
  }

 private:
  // Those of a head from `column` on.
  BIGBIRD_DEVICE void load_columns(const Element* head, int column, float (&values)[chunk]) const {
    if constexpr (whole) {
      load_floats(head + column, values);
    } else {
#pragma unroll
      for (int i = 0; i < chunk; ++i) values[i] = column + i < head_size ? to_float(head[column + i]) : 0.0f;
    }
  }

  // Of the list that begins at `first`: row `at`, and the next of this group.
  BIGBIRD_DEVICE void add_rows(Thread& thread, const float (&own)[chunk], int first, int at, int count,
                               int head, int column, RowSums<chunk>& sums) const {
    const int first_column = head * head_size;
    float scores[at_once];
    float values[at_once][chunk];
#pragma unroll
    for (int a = 0; a < at_once; ++a) {
      // Behind its end the list's first row is read, and counts for nothing.
      const bool inside = at + a * groups < count;
      const int entry = first + (inside ? at + a * groups : 0);
      const Index row = rows[entry];
      float key[chunk];
      load_columns(k + row * k_stride + first_column, column, key);
      if (labels != nullptr) {
        const float* const term = label_weight + labels[entry] * label_stride + head * label_head;
#pragma unroll
        for (int i = 0; i < chunk; ++i) key[i] += whole || column + i < head_size ? term[column + i] : 0.0f;
      }
      load_columns(v + row * v_stride + first_column, column, values[a]);
      float score = 0.0f;
#pragma unroll
      for (int i = 0; i < chunk; ++i) score = fmaf(own[i], key[i], score);
#pragma unroll
      for (int mask = lanes / 2; mask > 0; mask /= 2) score += thread.shuffle_xor(score, mask);
      if (label_bias != nullptr) score = fmaf(scale, label_bias[labels[entry] * heads + head], score);
      scores[a] = inside ? score : -INFINITY;
    }
    float largest = scores[0];
#pragma unroll
    for (int a = 1; a < at_once; ++a) largest = fmaxf(largest, scores[a]);
    const float shift = largest == -INFINITY ? 0.0f : largest;
    float total = 0.0f;
    float part[chunk] = {};
#pragma unroll
    for (int a = 0; a < at_once; ++a) {
      const float weight = exp2_fast(scores[a] - shift);
      total += weight;
#pragma unroll
      for (int i = 0; i < chunk; ++i) part[i] = fmaf(weight, values[a][i], part[i]);
    }
    sums.join(largest, total, part);
  }
};

template <bool whole>
void attend(const RowAttention& batch, const QueryKeyValue& inputs, Rows out, float* log_sum_exp,
            Stream stream) {
  const Index width = batch.head_size <= 32 ? 32 : batch.head_size <= 64 ? 64 : 128;
  for_head_size(width, [&](auto head_size) {
    with_type(inputs.q.data.type(), [&](auto type) {
      using Element = decltype(type);
      using Kernel = AttendRows<Element, head_size(), whole>;
      Kernel kernel{};
      kernel.q = inputs.q.data.as<Element>();
      kernel.k = inputs.k.data.as<Element>();
      kernel.v = inputs.v.data.as<Element>();
      kernel.q_stride = inputs.q.stride;
      kernel.k_stride = inputs.k.stride;
      kernel.v_stride = inputs.v.stride;
      kernel.out = out.data.as<Element>();
      kernel.out_stride = out.stride;
      kernel.rows = batch.rows;
      kernel.offsets = batch.offsets;
      kernel.labels = batch.labels;
      kernel.label_weight = batch.label_weight;
      kernel.label_stride = batch.label_stride();
      kernel.label_head = batch.labels_by_head ? batch.head_size : 0;
      kernel.label_bias = batch.label_bias;
      kernel.log_sum_exp = log_sum_exp;
      kernel.queries = batch.queries;
      kernel.heads = static_cast<int>(batch.heads);
      kernel.head_size = static_cast<int>(batch.head_size);
      kernel.scale = batch.scale * log2_e;
      launch(kernel, {.blocks = batch.queries * batch.heads, .shared_bytes = Kernel::shared_bytes}, stream);
    });
  });
}

}  // namespace

void attend_rows(const RowAttention& batch, const QueryKeyValue& inputs, Rows out, float* log_sum_exp,
                 Stream stream) {
  const bool whole = batch.head_size == 32 || batch.head_size == 64 || batch.head_size == 128;
  whole ? attend<true>(batch, inputs, out, log_sum_exp, stream)
        : attend<false>(batch, inputs, out, log_sum_exp, stream);
}

}  // namespace bigbird::kernels::cuda
