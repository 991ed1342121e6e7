// The forward pass of attention over blocks in floats, for which attention_forward.h has the steps.
#include "kernels/cpu/levels/attention_forward.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

struct FloatProducts {
  const AttentionHead& head;
  const Index width;
  float* const q;  // [depth][width]
  float* const scratch;

  FloatProducts(const AttentionHead& of, Index first_query, Index queries, float* room)
      : head(of), width(round_up_to_lanes(queries)), q(room), scratch(room + head.head_size * width) {
    transpose(head.q + first_query * head.q_stride, head.q_stride, queries, head.head_size,
              head.scale * log2_e, q, width, width);
  }
  static bool makes_probabilities() { return false; }
  void scores(Index block, Index keys, float* to) const {
    multiply({keys, width, head.head_size, head.k + block * head.block_size * head.k_stride, head.k_stride, 1,
              q, width, to, width, false});
  }
  void add_values(Index block, Index keys, const float* probabilities, const float*, float*,
                  float* sums) const {
    multiply({head.head_size, width, keys, head.v + block * head.block_size * head.v_stride, 1, head.v_stride,
              probabilities, width, sums, width, true});
  }
};

}  // namespace

Index attention_forward_scratch(Index block_size, Index head_size) {
  const Index width = round_up_to_lanes(block_size);
  return width * (2 * head_size + blocks_per_chunk(block_size) * block_size + 3) +
         block_size * round_up_to_lanes(head_size);
}

void attention_forward_block(const AttentionHead& head, Index query_block, float* out, Index out_stride,
                             float* log_sum_exp, float* scratch) {
  attention_forward<FloatProducts>(head, query_block, out, out_stride, log_sum_exp, scratch);
}

Index label_room(Index block_size, Index head_size, Index labels) {
  constexpr Index widest = 32;  // what queries are rounded up to, of all kinds of attention: AMX's groups
  const Index width = (block_size + widest - 1) / widest * widest;
  return width * (2 * (labels + width) + head_size) + block_size * head_size;  // labels behind are slanted
}

float merge_row(const float* first, float first_sum, const float* second, float second_sum, float* out,
                Index head_size) {
  const float nothing = __builtin_inff();
  float of_first = first_sum == nothing ? 0.0f : 1.0f, of_second = second_sum == nothing ? 0.0f : 1.0f;
  float sum = first_sum == nothing ? second_sum : first_sum;
  if (first_sum != nothing && second_sum != nothing) {
    const float largest = first_sum < second_sum ? second_sum : first_sum;
    const float a = __builtin_expf(first_sum - largest), b = __builtin_expf(second_sum - largest);
    of_first = a / (a + b);
    of_second = b / (a + b);
    sum = largest + __builtin_logf(a + b);
  }
  for_each_vector(head_size, [&](Index d, auto part) {
    part.put(out + d, part.get(first + d) * splat(of_first) + part.get(second + d) * splat(of_second));
  });
  return sum;
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
