// Attention over lists of rows, and its way back. A task is some queries, or some rows of keys, of one head;
// what labels get is summed up by parts of the queries, whose number the sizes alone decide.
#include <algorithm>

#include "kernels/cpu/attention_heads.h"

namespace bigbird::kernels {
namespace {

constexpr Index queries_of_task = 16;

Index longest_list(const std::int32_t* offsets, Index lists) {
  Index most = 0;
  for (Index i = 0; i < lists; ++i) most = std::max<Index>(most, offsets[i + 1] - offsets[i]);
  return most;
}

// Listed rows of one head as floats, one behind the other. Of floats nothing is copied.
struct ListedRows {
  const float* data;
  Index stride;
  bool copied;
};
ListedRows listed(const Level& level, const ConstRows& from, Index column, const std::int32_t* rows,
                  Index count, Index size, float* room) {
  if (from.data.type() == ElementType::fp32) return {floats(from.data) + column, from.stride, false};
  for (Index i = 0; i < count; ++i) take_rows(level, from, rows[i], column, 1, size, room + i * size);
  return {room, size, true};
}
// One row of a head likewise.
const float* one_row(const Level& level, const ConstRows& from, Index row, Index column, Index size,
                     float* room) {
  if (from.data.type() == ElementType::fp32) return floats(from.data) + row * from.stride + column;
  take_rows(level, from, row, column, 1, size, room);
  return room;
}
// Where a row of floats is to be written, and what puts it there where it is of another type.
float* place_of(const Rows& to, Index row, Index column, float* room) {
  return to.data.type() == ElementType::fp32 ? floats(to.data) + row * to.stride + column : room;
}
void put_back(const Level& level, const Rows& to, Index row, Index column, Index size, const float* room) {
  if (to.data.type() != ElementType::fp32) put_rows(level, room, size, to, row, column, 1);
}

RowsOfHead head_of(const RowAttention& batch, Index head) {
  RowsOfHead of;
  of.head_size = batch.head_size;
  of.scale = batch.scale;
  if (batch.labels == nullptr) return of;
  of.label_weight = batch.label_weight + (batch.labels_by_head ? head * batch.head_size : 0);
  of.label_stride = batch.label_stride();
  of.label_bias = batch.label_bias != nullptr ? batch.label_bias + head : nullptr;
  of.bias_stride = batch.heads;
  return of;
}
// With the listed rows of keys and values.
RowsOfHead head_of(const Level& level, const RowAttention& batch, Index head, const QueryKeyValue& inputs,
                   Index first, Index count, float* room, const std::int32_t*& rows) {
  const Index size = batch.head_size, column = head * size;
  rows = batch.rows + first;
  const ListedRows k = listed(level, inputs.k, column, rows, count, size, room);
  const ListedRows v = listed(level, inputs.v, column, rows, count, size, room + count * size);
  RowsOfHead of = head_of(batch, head);
  of.k = k.data;
  of.v = v.data;
  of.k_stride = k.stride;
  of.v_stride = v.stride;
  if (k.copied) rows = nullptr;
  return of;
}

const std::int32_t* from_entry(const std::int32_t* labels, Index entry) {
  return labels != nullptr ? labels + entry : nullptr;
}

}  // namespace

void CpuBackend::attend_rows(const RowAttention& batch, const QueryKeyValue& inputs, Rows out,
                             float* log_sum_exp) {
  const bool narrow = out.data.type() == ElementType::bf16;
  const Index size = batch.head_size, most = longest_list(batch.offsets, batch.queries);
  // The scores; of bf16 numbers the listed rows, the query and what comes out as well, in floats.
  const Index room = most + (narrow ? 2 * (most + 1) * size : 0);
  float* const scratch = scratch_.reserve(room * thread_count());
  // A decoder has few queries with long lists.
  const Index each = batch.queries > queries_of_task * queries_of_task ? queries_of_task : 1;
  const Index groups = pieces(batch.queries, each);
  parallel_for_worker(static_cast<std::size_t>(groups * batch.heads), [&](std::size_t task, int worker) {
    const Index head = static_cast<Index>(task) % batch.heads, column = head * size;
    const Index begin = static_cast<Index>(task) / batch.heads * each;
    float* const own = scratch + room * worker;
    float* const asking = own + room - (narrow ? 2 * size : 0);
    for (Index query = begin; query < std::min(begin + each, batch.queries); ++query) {
      const Index first = batch.offsets[query], count = batch.offsets[query + 1] - first;
      float* const to = place_of(out, query, column, asking + size);
      float sum = __builtin_inff();
      if (count == 0) {
        std::fill(to, to + size, 0.0f);
      } else {
        const std::int32_t* rows = nullptr;
        const RowsOfHead of = head_of(level_, batch, head, inputs, first, count, own + most, rows);
        sum = level_.attend_rows(of, one_row(level_, inputs.q, query, column, size, asking), rows,
                                 from_entry(batch.labels, first), count, to, own);
      }
      put_back(level_, out, query, column, size, to);
      if (log_sum_exp != nullptr) log_sum_exp[head * batch.queries + query] = sum;
    }
  });
}

void CpuBackend::attend_rows_backward(const RowAttention& batch, const RowsByKey& by_key,
                                      const QueryKeyValue& inputs, ConstRows out, const float* log_sum_exp,
                                      ConstRows dout, const RowAttentionGradients& gradients) {
  const bool narrow = inputs.q.data.type() == ElementType::bf16;
  const Index size = batch.head_size, queries = batch.queries;
  const Index most =
      std::max(longest_list(batch.offsets, queries), longest_list(by_key.offsets, by_key.rows));
  // Two numbers for each entry of a list; of bf16 numbers also two matrices of listed rows, what the kernels
  // know of their queries, and four rows.
  const Index room =
      pieces(2 * most + (narrow ? 2 * most * size + 2 * most + 4 * size : 0), line_floats) * line_floats;
  float* const scratch = scratch_.reserve(room * thread_count());
  const Index table = batch.labels != nullptr ? batch.label_count * batch.label_stride() : 0;

  parallel_for_worker(static_cast<std::size_t>(row_label_parts), [&](std::size_t task, int worker) {
    const auto number = static_cast<Index>(task);
    float* const own = scratch + room * worker;
    float* const listed_rows = own + 2 * most;
    float* const single = own + room - (narrow ? 4 * size : 0);
    float* const labels = gradients.label_parts + number * table;
    if (table > 0) std::fill(labels, labels + table, 0.0f);
    for (Index query = queries * number / row_label_parts; query < queries * (number + 1) / row_label_parts;
         ++query) {
      const Index first = batch.offsets[query], count = batch.offsets[query + 1] - first;
      for (Index head = 0; head < batch.heads; ++head) {
        const Index column = head * size;
        float* const to = place_of(gradients.q, query, column, single + 3 * size);
        QueryOfHead of_query;
        of_query.q = one_row(level_, inputs.q, query, column, size, single);
        of_query.dout = one_row(level_, dout, query, column, size, single + size);
        of_query.log_sum_exp = log_sum_exp[head * queries + query];
        const float* const result = one_row(level_, out, query, column, size, single + 2 * size);
        for (Index d = 0; d < size; ++d) of_query.product += result[d] * of_query.dout[d];
        gradients.products[head * queries + query] = of_query.product;
        if (count == 0) {
          std::fill(to, to + size, 0.0f);
        } else {
          const std::int32_t* rows = nullptr;
          const RowsOfHead of = head_of(level_, batch, head, inputs, first, count, listed_rows, rows);
          float* const dlabels = labels + (batch.labels_by_head ? column : 0);
          level_.attend_rows_backward_query(of, of_query, rows, from_entry(batch.labels, first), count, to,
                                            table > 0 ? dlabels : nullptr, own);
        }
        put_back(level_, gradients.q, query, column, size, to);
      }
    }
  });
  if (table > 0) {
    parallel_for(static_cast<std::size_t>(batch.label_count), [&](std::size_t label) {
      const Index begin = static_cast<Index>(label) * batch.label_stride();
      for (Index number = 0; number < row_label_parts; ++number)
        level_.add_scaled(gradients.label_parts + number * table + begin, 1.0f,
                          gradients.label_weight + begin, batch.label_stride());
    });
  }

  const Index groups = pieces(by_key.rows, queries_of_task);
  parallel_for_worker(static_cast<std::size_t>(groups * batch.heads), [&](std::size_t task, int worker) {
    const Index head = static_cast<Index>(task) % batch.heads, column = head * size;
    const Index begin = static_cast<Index>(task) / batch.heads * queries_of_task;
    float* const own = scratch + room * worker;
    float* const listed_rows = own + 2 * most;
    float* const single = own + room - (narrow ? 4 * size : 0);
    RowsOfHead of = head_of(batch, head);
    for (Index key = begin; key < std::min(begin + queries_of_task, by_key.rows); ++key) {
      const Index first = by_key.offsets[key], count = by_key.offsets[key + 1] - first;
      float* const dk = place_of(gradients.k, key, column, single + 2 * size);
      float* const dv = place_of(gradients.v, key, column, single + 3 * size);
      const std::int32_t* which = by_key.queries + first;
      const ListedRows q = listed(level_, inputs.q, column, which, count, size, listed_rows);
      const ListedRows d = listed(level_, dout, column, which, count, size, listed_rows + most * size);
      QueriesOfHead of_queries{q.data,
                               d.data,
                               q.stride,
                               d.stride,
                               log_sum_exp + head * queries,
                               gradients.products + head * queries};
      if (q.copied) {
        float* const sums = listed_rows + 2 * most * size;
        for (Index i = 0; i < count; ++i) {
          sums[i] = of_queries.log_sum_exp[which[i]];
          sums[most + i] = of_queries.product[which[i]];
        }
        of_queries.log_sum_exp = sums;
        of_queries.product = sums + most;
        which = nullptr;
      }
      of.k = one_row(level_, inputs.k, key, column, size, single);
      of.v = one_row(level_, inputs.v, key, column, size, single + size);
      level_.attend_rows_backward_key(of, 0, of_queries, which, from_entry(by_key.labels, first), count, dk,
                                      dv, own);
      put_back(level_, gradients.k, key, column, size, dk);
      put_back(level_, gradients.v, key, column, size, dv);
    }
  });
}

}  // namespace bigbird::kernels
