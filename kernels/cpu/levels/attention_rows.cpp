// One query over rows of keys and values that lie anywhere: a decoder's step over its cache.
#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

void softmax_statistics(const float* x, Index count, float* largest, Index* index, float* sum);
void exp_scaled(const float* x, float shift, float scale, float* y, Index count);

void attend_rows(const RowsOfHead& head, const float* q, const std::int32_t* rows, Index count, float* out,
                 float* scratch) {
  for (Index i = 0; i < count; ++i) {
    const float* const key = head.k + rows[i] * head.k_stride;
    Floats sum = {};
    for_each_vector(head.head_size, [&](Index j, auto part) { sum += part.get(q + j) * part.get(key + j); });
    scratch[i] = sum_of_lanes(sum) * head.scale;
  }
  float largest = 0.0f, sum = 0.0f;
  Index index = 0;
  softmax_statistics(scratch, count, &largest, &index, &sum);
  exp_scaled(scratch, largest, 1.0f / sum, scratch, count);
  for_each_vector(head.head_size, [&](Index j, auto part) {
    Floats value = {};
    for (Index i = 0; i < count; ++i)
      value += splat(scratch[i]) * part.get(head.v + rows[i] * head.v_stride + j);
    part.put(out + j, value);
  });
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
