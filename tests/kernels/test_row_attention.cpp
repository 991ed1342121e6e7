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

BIGBIRD_KERNEL_TESTS(RowAttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
