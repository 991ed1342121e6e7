// Attention over labelled lists of rows and its way back, on the device beside the CPU; the problems are in
// tests/kernels/row_attention.h.
#include "tests/kernels/row_attention.h"

#include "tests/cuda/backend_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class RowsOnDevice : public BackendTest {
 protected:
  // out, log_sum_exp of the rows with a list, gradients of q, k and v, and of the table.
  static std::vector<Floats> attend(Side& side, const LabelledRows& p) {
    const Index c = p.width(), tokens = p.rows;
    const Values qkv = side.values(exact_numbers(3 * tokens * c, 71)), out = side.unset(tokens * c),
                 dqkv = side.unset(3 * tokens * c), dout = side.values(exact_numbers(tokens * c, 72));
    const Floats ones(p.table_size(), 1.0f);
    float* const sums = side.floats(Floats(static_cast<std::size_t>(p.heads * tokens), std::nanf("")));
    float* const dtable = side.floats(ones);
    const bool labelled = !p.labels.empty();
    const RowAttention batch{
        .queries = tokens,
        .heads = p.heads,
        .head_size = p.head_size,
        .scale = p.scale(),
        .rows = side.integers(p.listed),
        .offsets = side.integers(p.offsets),
        .labels = labelled ? side.integers(p.labels) : nullptr,
        .label_weight = side.floats(exact_numbers(static_cast<Index>(p.table_size()), 73)),
        .label_count = LabelledRows::label_count,
        .labels_by_head = p.by_head};
    const QueryKeyValue inputs{{qkv, 3 * c}, {qkv + c, 3 * c}, {qkv + 2 * c, 3 * c}};
    side.backend().attend_rows(batch, inputs, {out, c}, sums);
    side.backend().attend_rows_backward(
        batch,
        {tokens, side.integers(p.queries), side.integers(p.key_offsets),
         labelled ? side.integers(p.key_labels) : nullptr},
        inputs, {out, c}, sums, {dout, c},
        {{dqkv, 3 * c},
         {dqkv + c, 3 * c},
         {dqkv + 2 * c, 3 * c},
         labelled ? dtable : nullptr,
         side.floats(Floats(static_cast<std::size_t>(p.heads * tokens), std::nanf(""))),
         side.floats(Floats(static_cast<std::size_t>(row_label_parts) * p.table_size(), std::nanf("")))});
    std::vector<Floats> result{side.read(out, tokens * c), side.read(sums, p.heads * tokens),
                               side.read(dqkv, 3 * tokens * c),
                               side.read(dtable, static_cast<Index>(p.table_size()))};
    for (std::size_t i = 1; i <= static_cast<std::size_t>(p.heads); ++i) {
      float& none = result[1][i * static_cast<std::size_t>(tokens) - 1];
      EXPECT_EQ(none, INFINITY);
      none = 0.0f;
    }
    return result;
  }
};

TEST_P(RowsOnDevice, ForwardAndBackEqualTheProcessor) {
  for (const auto& [head_size, labelled, by_head] :
       {std::tuple{Index{32}, true, false}, std::tuple{Index{20}, true, true},
        std::tuple{Index{64}, false, false}, std::tuple{Index{128}, true, false},
        std::tuple{Index{65}, true, false}}) {
    SCOPED_TRACE(head_size);
    const LabelledRows p(head_size > 32 ? 1 : 2, head_size, 40, labelled, by_head);
    agree([&](Side& side) { return attend(side, p); });
  }
}

TEST_P(RowsOnDevice, BiasesOfLabelsAreThoseOfTheProcessor) {
  for (const Index head_size : {32, 20}) {
    SCOPED_TRACE(head_size);
    const LabelledRows p(2, head_size, 40, true, head_size == 20);
    agree([&](Side& side) {
      const Index c = p.width(), tokens = p.rows;
      const Values qkv = side.values(exact_numbers(3 * tokens * c, 71)), out = side.unset(tokens * c);
      side.backend().attend_rows(
          {.queries = tokens,
           .heads = p.heads,
           .head_size = p.head_size,
           .scale = p.scale(),
           .rows = side.integers(p.listed),
           .offsets = side.integers(p.offsets),
           .labels = side.integers(p.labels),
           .label_weight = side.floats(exact_numbers(static_cast<Index>(p.table_size()), 73)),
           .label_count = LabelledRows::label_count,
           .labels_by_head = p.by_head,
           .label_bias = side.floats(p.biases())},
          {{qkv, 3 * c}, {qkv + c, 3 * c}, {qkv + 2 * c, 3 * c}}, {out, c}, nullptr);
      return std::vector<Floats>{side.read(out, tokens * c)};
    });
  }
}

// More queries than parts, and a list longer than what a block takes at once.
TEST_P(RowsOnDevice, TheSameBytesEveryTime) {
  const LabelledRows p(1, 16, 290, true, false);
  const std::vector<Floats> first = on_device([&](Side& side) { return attend(side, p); });
  EXPECT_EQ(on_device([&](Side& side) { return attend(side, p); }), first);
  agree([&](Side& side) { return attend(side, p); });
}

BIGBIRD_BACKEND_TESTS(RowsOnDevice);

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
