// What queries saw of two groups of keys as one softmax (merge_attention, operations.inc). Eight threads for
// each row of a head, which read its sums before one of them writes: the result may stand where a part stood.
#include <cmath>
#include <cstdint>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/tiles.cuh"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

template <class ElementType, int chunk>
struct MergeAttention {
  using Element = ElementType;
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  static constexpr int lanes = 8;
  static constexpr int pairs = threads / lanes;  // of a row and a head

  const Element *first, *second;
  Index first_stride, second_stride;
  const float *first_sums, *second_sums;  // log_sum_exp, [heads, rows]
  Element* out;
  Index out_stride;
  float* sums;  // may be null
  Index rows;
  int heads, head_size;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index at = Index{thread.block()} * pairs + thread.index() / lanes;
    const bool inside = at < rows * heads;
    const Index row = inside ? at / heads : 0, head = inside ? at % heads : 0;
    const Index statistic = head * rows + row;
    const float one = inside ? seen(first_sums[statistic]) : -INFINITY;
    const float two = inside ? seen(second_sums[statistic]) : -INFINITY;
    const float largest = fmaxf(one, two);
    const bool none = one == -INFINITY && two == -INFINITY;  // NaN goes through
    const float of_one = none ? 0.0f : exp2_fast((one - largest) * log2_e);
    const float of_two = none ? 0.0f : exp2_fast((two - largest) * log2_e);
    const float total = of_one + of_two;
    const float one_weight = of_one == 0.0f ? 0.0f : of_one / total;
    const float two_weight = of_two == 0.0f ? 0.0f : of_two / total;
    for (int i = thread.index() % lanes * chunk; inside && i < head_size; i += lanes * chunk) {
      const Index column = head * head_size + i;
      float values[chunk], others[chunk];
      load_floats(first + row * first_stride + column, values);
      load_floats(second + row * second_stride + column, others);
#pragma unroll
      for (int j = 0; j < chunk; ++j) {
        values[j] = (one_weight == 0.0f ? 0.0f : one_weight * values[j]) +
                    (two_weight == 0.0f ? 0.0f : two_weight * others[j]);
      }
      Pack<Element, chunk> pack;
#pragma unroll
      for (int j = 0; j < chunk; ++j) pack[j] = to_element<Element>(values[j]);
      store(out + row * out_stride + column, pack);
    }
    if (sums == nullptr) return;
    thread.warp_barrier();  // all lanes of the row have read what is written now
    if (inside && thread.index() % lanes == 0) {
      sums[statistic] = none ? INFINITY : fmaf(log2_fast(total), 1.0f / log2_e, largest);
    }
  }

 private:
  // Without a key: minus infinity.
  BIGBIRD_DEVICE static float seen(float log_sum_exp) {
    return log_sum_exp == INFINITY ? -INFINITY : log_sum_exp;
  }
};

template <class Element, int chunk>
void merge(const AttentionPart& first, const AttentionPart& second, Rows out, float* log_sum_exp, Index rows,
           Index heads, Index head_size, Stream stream) {
  using Kernel = MergeAttention<Element, chunk>;
  launch(Kernel{first.out.data.as<Element>(), second.out.data.as<Element>(), first.out.stride,
                second.out.stride, first.log_sum_exp, second.log_sum_exp, out.data.as<Element>(), out.stride,
                log_sum_exp, rows, static_cast<int>(heads), static_cast<int>(head_size)},
         {.blocks = blocks_for(rows * heads, Kernel::pairs)}, stream);
}

bool in_fours(ConstRows rows, Index head_size) {
  const auto bytes = 4 * size_of(rows.data.type());
  return head_size % 4 == 0 && rows.stride % 4 == 0 &&
         reinterpret_cast<std::uintptr_t>(rows.data.data()) % bytes == 0;
}

}  // namespace

void merge_attention(const AttentionPart& first, const AttentionPart& second, Rows out, float* log_sum_exp,
                     Index rows, Index heads, Index head_size, Stream stream) {
  const bool fours =
      in_fours(first.out, head_size) && in_fours(second.out, head_size) && in_fours(out, head_size);
  with_type(out.data.type(), [&](auto type) {
    using Element = decltype(type);
    const auto run = fours ? merge<Element, 4> : merge<Element, 1>;
    run(first, second, out, log_sum_exp, rows, heads, head_size, stream);
  });
}

}  // namespace bigbird::kernels::cuda
