// One query over rows of keys and values that lie anywhere, and back: a decoder's step over its cache, and
// the lists of BP-Transformer. On the way back a query walks over its rows, and a row over the queries that
// see it; both make the scores anew.
#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

void softmax_statistics(const float* x, Index count, float* largest, Index* index, float* sum);
void exp_scaled(const float* x, float shift, float scale, float* y, Index count);

namespace {

// The sum of the lanes by halves: as many additions as one by one, and far fewer that wait for each other.
BIGBIRD_INLINE float sum_by_halves(Floats value) {
  float part[lanes];
  store(part, value);
  BIGBIRD_UNROLL
  for (Index half = lanes / 2; half > 0; half /= 2) {
    BIGBIRD_UNROLL
    for (Index i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}

BIGBIRD_INLINE float dot(const float* a, const float* b, Index count) {
  Floats sum = {};
  for_each_vector(count, [&](Index j, auto part) { sum += part.get(a + j) * part.get(b + j); });
  return sum_by_halves(sum);
}
// q.(k + label)
BIGBIRD_INLINE float dot_of_sum(const float* q, const float* k, const float* label, Index count) {
  Floats sum = {};
  for_each_vector(
      count, [&](Index j, auto part) { sum += part.get(q + j) * (part.get(k + j) + part.get(label + j)); });
  return sum_by_halves(sum);
}

BIGBIRD_INLINE float score(const RowsOfHead& head, const float* q, const float* key,
                           const std::int32_t* labels, Index entry) {
  if (labels != nullptr) {
    const float* const label = head.label_weight + labels[entry] * head.label_stride;
    const float product = dot_of_sum(q, key, label, head.head_size);
    if (head.label_bias == nullptr) return product * head.scale;
    return (product + head.label_bias[labels[entry] * head.bias_stride]) * head.scale;
  }
  // A decoder's step, which adds the lanes one by one.
  Floats sum = {};
  for_each_vector(head.head_size, [&](Index j, auto part) { sum += part.get(q + j) * part.get(key + j); });
  return sum_of_lanes(sum) * head.scale;
}

BIGBIRD_INLINE Index row_of(const std::int32_t* rows, Index i) {
  return rows != nullptr ? Index{rows[i]} : i;
}

// probabilities become the gradients of the products that scores were made of; both [count].
BIGBIRD_INLINE void score_gradients(float* probabilities, const float* dprobabilities, float product,
                                    float scale, Index count) {
  for_each_vector(count, [&](Index i, auto part) {
    part.put(probabilities + i,
             part.get(probabilities + i) * (part.get(dprobabilities + i) - splat(product)) * splat(scale));
  });
}

}  // namespace

float attend_rows(const RowsOfHead& head, const float* q, const std::int32_t* rows,
                  const std::int32_t* labels, Index count, float* out, float* scratch) {
  for (Index i = 0; i < count; ++i)
    scratch[i] = score(head, q, head.k + row_of(rows, i) * head.k_stride, labels, i);
  float largest = 0.0f, sum = 0.0f;
  Index index = 0;
  softmax_statistics(scratch, count, &largest, &index, &sum);
  exp_scaled(scratch, largest, 1.0f / sum, scratch, count);
  for_each_vector(head.head_size, [&](Index j, auto part) {
    Floats value = {};
    for (Index i = 0; i < count; ++i)
      value += splat(scratch[i]) * part.get(head.v + row_of(rows, i) * head.v_stride + j);
    part.put(out + j, value);
  });
  return largest + __builtin_logf(sum);
}

void attend_rows_backward_query(const RowsOfHead& head, const QueryOfHead& query, const std::int32_t* rows,
                                const std::int32_t* labels, Index count, float* dq, float* dlabels,
                                float* scratch) {
  float* const dscores = scratch;
  float* const dprobabilities = scratch + count;
  for (Index i = 0; i < count; ++i) {
    const Index row = row_of(rows, i);
    dscores[i] = score(head, query.q, head.k + row * head.k_stride, labels, i);
    dprobabilities[i] = dot(query.dout, head.v + row * head.v_stride, head.head_size);
  }
  exp_scaled(dscores, query.log_sum_exp, 1.0f, dscores, count);
  score_gradients(dscores, dprobabilities, query.product, head.scale, count);
  for_each_vector(head.head_size, [&](Index j, auto part) {
    Floats value = {};
    const Floats q = part.get(query.q + j);
    for (Index i = 0; i < count; ++i) {
      const Floats dscore = splat(dscores[i]);
      Floats key = part.get(head.k + row_of(rows, i) * head.k_stride + j);
      if (labels != nullptr) {
        const Index label = labels[i] * head.label_stride + j;
        key += part.get(head.label_weight + label);
        part.put(dlabels + label, part.get(dlabels + label) + dscore * q);
      }
      value += dscore * key;
    }
    part.put(dq + j, value);
  });
}

void attend_rows_backward_key(const RowsOfHead& head, Index key, const QueriesOfHead& queries,
                              const std::int32_t* which, const std::int32_t* labels, Index count, float* dk,
                              float* dv, float* scratch) {
  const float* const k = head.k + key * head.k_stride;
  const float* const v = head.v + key * head.v_stride;
  float* const probabilities = scratch;
  float* const dscores = scratch + count;
  for (Index i = 0; i < count; ++i) {
    const Index query = row_of(which, i);
    probabilities[i] =
        score(head, queries.q + query * queries.q_stride, k, labels, i) - queries.log_sum_exp[query];
    dscores[i] = dot(queries.dout + query * queries.dout_stride, v, head.head_size) - queries.product[query];
  }
  exp_scaled(probabilities, 0.0f, 1.0f, probabilities, count);
  for_each_vector(count, [&](Index i, auto part) {
    part.put(dscores + i, part.get(probabilities + i) * part.get(dscores + i) * splat(head.scale));
  });
  for_each_vector(head.head_size, [&](Index j, auto part) {
    Floats of_key = {}, of_value = {};
    for (Index i = 0; i < count; ++i) {
      const Index query = row_of(which, i);
      of_key += splat(dscores[i]) * part.get(queries.q + query * queries.q_stride + j);
      of_value += splat(probabilities[i]) * part.get(queries.dout + query * queries.dout_stride + j);
    }
    part.put(dk + j, of_key);
    part.put(dv + j, of_value);
  });
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
