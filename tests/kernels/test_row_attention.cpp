// attend_rows against reference/attention.h; the problems are in row_attention.h.
#include "tests/kernels/row_attention.h"

#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

class RowAttentionKernel : public KernelTest {};

TEST_P(RowAttentionKernel, EqualsAttentionOverTheRowsPickedOut) {
  for (const Index head_size : {5, 16, 63, 64}) {
    SCOPED_TRACE(head_size);
    const RowProblem p(3, head_size, 400, {1, 17, 256, 400});
    const Index width = p.width();
    const Floats q = random_floats(p.query_size(), 51, 2.0f), kv = random_floats(p.cache_size(), 52, 2.0f);
    const auto got = run([&](Backend& backend) {
      Guarded out(q.size());
      backend.attend_rows({p.queries(), p.heads, head_size, p.scale(), p.rows.data(), p.offsets.data()},
                          {{q.data(), width}, {kv.data(), 2 * width}, {kv.data() + width, 2 * width}},
                          {out.data(), width});
      return std::vector<Floats>{out.take()};
    });
    EXPECT_LT(relative_error(got[0], p.expected(q, kv)), forward_tolerance);
  }
}

class RoundedRowAttentionKernel : public KernelTest {
 protected:
  RoundedRowAttentionKernel() { precision_ = Precision::bf16; }
};

// A decoder that writes in bf16 keeps queries, keys and values as bf16 numbers where the processor has them.
TEST_P(RoundedRowAttentionKernel, TakesRowsOfBf16) {
  const RowProblem p(3, 16, 400, {1, 17, 256, 400});
  const Index width = p.width();
  const Floats q = as_floats(as_bf16(random_floats(p.query_size(), 51, 2.0f)));
  const Floats kv = as_floats(as_bf16(random_floats(p.cache_size(), 52, 2.0f)));
  const std::vector<bf16> narrow_q = as_bf16(q), narrow_kv = as_bf16(kv);
  const auto got = run([&](Backend& backend) {
    std::vector<bf16> out(q.size());
    backend.attend_rows(
        {p.queries(), p.heads, p.head_size, p.scale(), p.rows.data(), p.offsets.data()},
        {{narrow_q.data(), width}, {narrow_kv.data(), 2 * width}, {narrow_kv.data() + width, 2 * width}},
        {out.data(), width});
    return std::vector<Floats>{as_floats(out)};
  });
  EXPECT_LT(relative_error(got[0], p.expected(q, kv)), 0.005);
}

BIGBIRD_KERNEL_TESTS(RowAttentionKernel);
BIGBIRD_KERNEL_TESTS(RoundedRowAttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
