// The way back of attention over rows that lists name (rows.cu). Scores are made anew. A block for each query
// and head walks over its list, a block for each row of keys and head over the queries that see it; warps
// take entries in turn, and what they have is added up in their order. What labels get is summed up by parts
// of the queries, each by one block, in which every cell of the table has one thread.
#include <math.h>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/tiles.cuh"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

// What all kernels here read. A lane of a warp has the columns lane, lane + 32, .. of a head, `columns` of
// them, zeros behind its end.
template <class Element, int columns>
struct RowLists {
  const Element *q, *k, *v, *out, *dout;
  Index q_stride, k_stride, v_stride, out_stride, dout_stride;
  const std::int32_t *rows, *offsets, *labels;
  const float* label_weight;
  Index label_stride, label_head;
  const float* log_sum_exp;  // [heads, queries]
  float* products;           // [heads, queries]
  Index queries;
  int heads, head_size;
  float scale;

  template <class T>
  BIGBIRD_DEVICE void load_row(Thread& thread, const T* row, float (&values)[columns]) const {
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      const int column = thread.lane() + 32 * i;
      values[i] = column < head_size ? to_float(row[column]) : 0.0f;
    }
  }
  BIGBIRD_DEVICE static float dot(Thread& thread, const float (&a)[columns], const float (&b)[columns]) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < columns; ++i) sum = fmaf(a[i], b[i], sum);
    return warp_sum(thread, sum);
  }
  BIGBIRD_DEVICE static float to_float(float value) {
    return value;
  }
  BIGBIRD_DEVICE static float to_float(bf16 value) {
    return kernels::to_float(value);
  }

  // A key with the term of its label.
  BIGBIRD_DEVICE void load_key(Thread& thread, Index row, int head, const std::int32_t* label,
                               float (&key)[columns]) const {
    load_row(thread, k + row * k_stride + head * head_size, key);
    if (label == nullptr) return;
    float term[columns];
    load_row(thread, label_weight + *label * label_stride + head * label_head, term);
#pragma unroll
    for (int i = 0; i < columns; ++i) key[i] += term[i];
  }
  BIGBIRD_DEVICE float probability(float score, int head, Index query) const {
    return exp2_fast((score * scale - log_sum_exp[head * queries + query]) * log2_e);
  }
};

// Adds up what the warps of a block have of a row, in their order, and writes it. All threads call it.
template <int warps, int columns, class Element>
BIGBIRD_DEVICE void store_sum(Thread& thread, const float (&own)[columns], int head_size, Element* to) {
  constexpr int width = 32 * columns;
  const auto shared = thread.shared<float>(0, warps * width);
  thread.barrier();  // what was there before has been read
#pragma unroll
  for (int i = 0; i < columns; ++i) shared[thread.warp() * width + thread.lane() + 32 * i] = own[i];
  thread.barrier();
  for (int column = thread.index(); column < head_size; column += 32 * warps) {
    float sum = 0.0f;
    for (int warp = 0; warp < warps; ++warp) sum += shared[warp * width + column];
    to[column] = to_element<Element>(sum);
  }
}

template <class Element, int columns>
struct RowsQueries {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 4;
  static constexpr int warps = threads / 32;
  static constexpr std::size_t shared_bytes = warps * 32 * columns * sizeof(float);

  RowLists<Element, columns> lists;
  Element* dq;
  Index dq_stride;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const RowLists<Element, columns>& of = lists;
    const int query = thread.block() / of.heads, head = thread.block() % of.heads;
    const int first = of.offsets[query], end = of.offsets[query + 1];
    float q[columns], result[columns], dout[columns], sum[columns] = {};
    of.load_row(thread, of.q + query * of.q_stride + head * of.head_size, q);
    of.load_row(thread, of.out + query * of.out_stride + head * of.head_size, result);
    of.load_row(thread, of.dout + query * of.dout_stride + head * of.head_size, dout);
    const float product = of.dot(thread, result, dout);
    if (thread.index() == 0) of.products[head * of.queries + query] = product;
    for (int entry = first + thread.warp(); entry < end; entry += warps) {
      const Index row = of.rows[entry];
      float key[columns], value[columns];
      of.load_key(thread, row, head, of.labels == nullptr ? nullptr : of.labels + entry, key);
      of.load_row(thread, of.v + row * of.v_stride + head * of.head_size, value);
      const float p = of.probability(of.dot(thread, q, key), head, query);
      const float dscore = p * (of.dot(thread, dout, value) - product) * of.scale;
#pragma unroll
      for (int i = 0; i < columns; ++i) sum[i] = fmaf(dscore, key[i], sum[i]);
    }
    store_sum<warps>(thread, sum, of.head_size, dq + query * dq_stride + head * of.head_size);
  }
};

template <class Element, int columns>
struct RowsKeys {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 4;
  static constexpr int warps = threads / 32;
  static constexpr std::size_t shared_bytes = warps * 32 * columns * sizeof(float);

  RowLists<Element, columns> lists;
  const std::int32_t *by_queries, *by_offsets, *by_labels;  // RowsByKey
  Element *dk, *dv;
  Index dk_stride, dv_stride;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const RowLists<Element, columns>& of = lists;
    const int row = thread.block() / of.heads, head = thread.block() % of.heads;
    const int first = by_offsets[row], end = by_offsets[row + 1];
    float k[columns], v[columns], of_key[columns] = {}, of_value[columns] = {};
    of.load_row(thread, of.k + row * of.k_stride + head * of.head_size, k);
    of.load_row(thread, of.v + row * of.v_stride + head * of.head_size, v);
    for (int entry = first + thread.warp(); entry < end; entry += warps) {
      const Index query = by_queries[entry];
      float q[columns], dout[columns], key[columns];
      of.load_row(thread, of.q + query * of.q_stride + head * of.head_size, q);
      of.load_row(thread, of.dout + query * of.dout_stride + head * of.head_size, dout);
#pragma unroll
      for (int i = 0; i < columns; ++i) key[i] = k[i];
      if (by_labels != nullptr) {
        float term[columns];
        of.load_row(thread, of.label_weight + by_labels[entry] * of.label_stride + head * of.label_head,
                    term);
#pragma unroll
        for (int i = 0; i < columns; ++i) key[i] += term[i];
      }
      const float p = of.probability(of.dot(thread, q, key), head, query);
      const float dscore = p * (of.dot(thread, dout, v) - of.products[head * of.queries + query]) * of.scale;
#pragma unroll
      for (int i = 0; i < columns; ++i) {
        of_key[i] = fmaf(dscore, q[i], of_key[i]);
        of_value[i] = fmaf(p, dout[i], of_value[i]);
      }
    }
    store_sum<warps>(thread, of_key, of.head_size, dk + row * dk_stride + head * of.head_size);
    store_sum<warps>(thread, of_value, of.head_size, dv + row * dv_stride + head * of.head_size);
  }
};

// grid: the parts of the queries
template <class Element, int columns>
struct RowsLabels {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 2;
  static constexpr int warps = threads / 32;
  static constexpr int width = 32 * columns;
  static constexpr int groups = threads / width;  // of threads, which take labels in turn
  static constexpr int chunk = 256;               // entries whose gradients are there at once
  static constexpr std::size_t shared_bytes = chunk * sizeof(float);

  RowLists<Element, columns> lists;
  float* parts;  // [row_label_parts, table]
  Index table;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const RowLists<Element, columns>& of = lists;
    const auto dscores = thread.shared<float>(0, chunk);
    float* const own = parts + thread.block() * table;
    const int column = thread.index() % width, group = thread.index() / width;
    const int head_columns = of.label_head == 0 ? of.head_size : static_cast<int>(of.label_stride);
    // Each cell is cleared by the thread that adds to it.
    for (Index label = group; label * of.label_stride < table; label += groups) {
      for (int first = 0; first < head_columns; first += of.head_size) {
        if (column < of.head_size) own[label * of.label_stride + first + column] = 0.0f;
      }
    }
    const Index begin = of.queries * thread.block() / row_label_parts;
    const Index end = of.queries * (thread.block() + 1) / row_label_parts;
    for (Index query = begin; query < end; ++query) {
      const int first = of.offsets[query], last = of.offsets[query + 1];
      for (int head = 0; head < of.heads; ++head) {
        float q[columns], dout[columns];
        of.load_row(thread, of.q + query * of.q_stride + head * of.head_size, q);
        of.load_row(thread, of.dout + query * of.dout_stride + head * of.head_size, dout);
        const float product = of.products[head * of.queries + query];
        const float mine = column < of.head_size
                               ? kernels::to_float(of.q[query * of.q_stride + head * of.head_size + column])
                               : 0.0f;
        for (int from = first; from < last; from += chunk) {
          const int count = last - from < chunk ? last - from : chunk;
          for (int i = thread.warp(); i < count; i += warps) {
            const Index row = of.rows[from + i];
            float key[columns], value[columns];
            of.load_key(thread, row, head, of.labels + from + i, key);
            of.load_row(thread, of.v + row * of.v_stride + head * of.head_size, value);
            const float p = of.probability(of.dot(thread, q, key), head, query);
            const float dscore = p * (of.dot(thread, dout, value) - product) * of.scale;
            if (thread.lane() == 0) dscores[i] = dscore;
          }
          thread.barrier();
          for (int i = 0; i < count && column < of.head_size; ++i) {
            const int label = of.labels[from + i];
            if (label % groups != group) continue;
            float* const cell = own + label * of.label_stride + head * of.label_head + column;
            const float dscore = dscores[i];
            *cell = fmaf(dscore, mine, *cell);
          }
          thread.barrier();
        }
      }
    }
  }
};

struct RowsLabelSums {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;

  const float* parts;
  float* to;
  Index table;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index cell = Index{thread.block()} * threads + thread.index();
    if (cell >= table) return;
    float sum = to[cell];
    for (Index part = 0; part < row_label_parts; ++part) sum += parts[part * table + cell];
    to[cell] = sum;
  }
};

template <class Element, int columns>
void backward(const RowAttention& batch, const RowsByKey& by_key, const QueryKeyValue& inputs, ConstRows out,
              const float* log_sum_exp, ConstRows dout, const RowAttentionGradients& gradients,
              Stream stream) {
  RowLists<Element, columns> lists{};
  lists.q = inputs.q.data.as<Element>();
  lists.k = inputs.k.data.as<Element>();
  lists.v = inputs.v.data.as<Element>();
  lists.out = out.data.as<Element>();
  lists.dout = dout.data.as<Element>();
  lists.q_stride = inputs.q.stride;
  lists.k_stride = inputs.k.stride;
  lists.v_stride = inputs.v.stride;
  lists.out_stride = out.stride;
  lists.dout_stride = dout.stride;
  lists.rows = batch.rows;
  lists.offsets = batch.offsets;
  lists.labels = batch.labels;
  lists.label_weight = batch.label_weight;
  lists.label_stride = batch.label_stride();
  lists.label_head = batch.labels_by_head ? batch.head_size : 0;
  lists.log_sum_exp = log_sum_exp;
  lists.products = gradients.products;
  lists.queries = batch.queries;
  lists.heads = static_cast<int>(batch.heads);
  lists.head_size = static_cast<int>(batch.head_size);
  lists.scale = batch.scale;

  using Queries = RowsQueries<Element, columns>;
  using Keys = RowsKeys<Element, columns>;
  using Labels = RowsLabels<Element, columns>;
  launch(Queries{lists, gradients.q.data.as<Element>(), gradients.q.stride},
         {.blocks = batch.queries * batch.heads, .shared_bytes = Queries::shared_bytes}, stream);
  launch(Keys{lists, by_key.queries, by_key.offsets, by_key.labels, gradients.k.data.as<Element>(),
              gradients.v.data.as<Element>(), gradients.k.stride, gradients.v.stride},
         {.blocks = by_key.rows * batch.heads, .shared_bytes = Keys::shared_bytes}, stream);
  if (batch.labels == nullptr) return;
  const Index table = batch.label_count * batch.label_stride();
  launch(Labels{lists, gradients.label_parts, table},
         {.blocks = row_label_parts, .shared_bytes = Labels::shared_bytes}, stream);
  launch(RowsLabelSums{gradients.label_parts, gradients.label_weight, table},
         {.blocks = blocks_for(table, RowsLabelSums::threads)}, stream);
}

}  // namespace

void attend_rows_backward(const RowAttention& batch, const RowsByKey& by_key, const QueryKeyValue& inputs,
                          ConstRows out, const float* log_sum_exp, ConstRows dout,
                          const RowAttentionGradients& gradients, Stream stream) {
  const Index width = batch.head_size <= 32 ? 32 : batch.head_size <= 64 ? 64 : 128;
  for_head_size(width, [&](auto head_size) {
    with_type(inputs.q.data.type(), [&](auto type) {
      backward<decltype(type), head_size() / 32>(batch, by_key, inputs, out, log_sum_exp, dout, gradients,
                                                 stream);
    });
  });
}

}  // namespace bigbird::kernels::cuda
