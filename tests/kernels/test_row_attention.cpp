// attend_rows against reference/attention_cross.h: queries over rows of a cache that lie anywhere and come in
// any order.
#include <algorithm>
#include <numeric>

#include "reference/attention_cross.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

class RowAttentionKernel : public KernelTest {};

TEST_P(RowAttentionKernel, EqualsAttentionOverTheRowsPickedOut) {
  for (const Index head_size : {5, 16, 63, 64}) {
    SCOPED_TRACE(head_size);
    const Index queries = 4, heads = 3, cached = 400, width = heads * head_size;
    std::vector<std::int32_t> all(static_cast<std::size_t>(cached)), rows;
    std::iota(all.begin(), all.end(), 0);
    std::vector<Index> offsets{0};
    std::mt19937 random(9);
    for (const Index count : {Index{1}, Index{17}, Index{256}, Index{400}}) {
      std::shuffle(all.begin(), all.end(), random);
      rows.insert(rows.end(), all.begin(), all.begin() + count);
      offsets.push_back(static_cast<Index>(rows.size()));
    }
    const Floats q = random_floats(static_cast<std::size_t>(queries * width), 51, 2.0f);
    const Floats kv = random_floats(static_cast<std::size_t>(cached * 2 * width), 52, 2.0f);
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_size));
    const auto got = run([&](Backend& backend) {
      Guarded out(q.size());
      backend.attend_rows({queries, heads, head_size, scale, rows.data(), offsets.data()},
                          {{q.data(), width}, {kv.data(), 2 * width}, {kv.data() + width, 2 * width}},
                          {out.data(), width});
      return std::vector<Floats>{out.take()};
    });

    const auto size = static_cast<std::size_t>(head_size);
    reference::Vector expected(q.size());
    for (std::size_t i = 0; i < 4; ++i) {
      const auto first = static_cast<std::size_t>(offsets[i]), end = static_cast<std::size_t>(offsets[i + 1]);
      for (std::size_t head = 0; head < 3; ++head) {
        reference::Matrix query(1, size), key(end - first, size), value(end - first, size);
        for (std::size_t d = 0; d < size; ++d) {
          query(0, d) = static_cast<double>(q[i * static_cast<std::size_t>(width) + head * size + d]);
          for (std::size_t j = first; j < end; ++j) {
            const std::size_t at = static_cast<std::size_t>(rows[j]) * 2 * static_cast<std::size_t>(width);
            key(j - first, d) = static_cast<double>(kv[at + head * size + d]);
            value(j - first, d) =
                static_cast<double>(kv[at + static_cast<std::size_t>(width) + head * size + d]);
          }
        }
        const reference::Matrix out =
            reference::cross_attention_forward({.seen = end - first, .causal = false}, query, key, value);
        std::copy(out.values.begin(), out.values.end(),
                  expected.begin() +
                      static_cast<std::ptrdiff_t>(i * static_cast<std::size_t>(width) + head * size));
      }
    }
    EXPECT_LT(relative_error(got[0], expected), forward_tolerance);
  }
}

BIGBIRD_KERNEL_TESTS(RowAttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
