// attend_rows against reference/attention.h; the problems are in row_attention.h.
#include "tests/kernels/row_attention.h"

#include <tuple>

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
                          {out.data(), width}, nullptr);
      return std::vector<Floats>{out.take()};
    });
    EXPECT_LT(relative_error(got[0], p.expected(q, kv)), forward_tolerance);
  }
}

// Forward and back: out, log_sum_exp of the queries with a list, the gradients of q, k and v [rows, 3C], and
// those of the table, which had ones.
std::vector<Floats> attend_labelled(Backend& backend, const LabelledRows& p, ConstValues qkv,
                                    const Floats& table, ConstValues out_place, Values out, Values dqkv,
                                    ConstValues dout) {
  const Index width = p.width();
  Guarded sums(static_cast<std::size_t>(p.heads * p.rows)), dtable(p.table_size(), 1.0f);
  Floats products(static_cast<std::size_t>(p.heads * p.rows)),
      parts(static_cast<std::size_t>(row_label_parts) * p.table_size());
  const RowAttention batch{.queries = p.rows,
                           .heads = p.heads,
                           .head_size = p.head_size,
                           .scale = p.scale(),
                           .rows = p.listed.data(),
                           .offsets = p.offsets.data(),
                           .labels = p.labels.empty() ? nullptr : p.labels.data(),
                           .label_weight = table.data(),
                           .label_count = LabelledRows::label_count,
                           .labels_by_head = p.by_head};
  const QueryKeyValue inputs{{qkv, 3 * width}, {qkv + width, 3 * width}, {qkv + 2 * width, 3 * width}};
  backend.attend_rows(batch, inputs, {out, width}, sums.data());
  backend.attend_rows_backward(
      batch,
      {p.rows, p.queries.data(), p.key_offsets.data(), p.labels.empty() ? nullptr : p.key_labels.data()},
      inputs, {out_place, width}, sums.data(), {dout, width},
      {{dqkv, 3 * width},
       {dqkv + width, 3 * width},
       {dqkv + 2 * width, 3 * width},
       p.labels.empty() ? nullptr : dtable.data(),
       products.data(),
       parts.data()});
  return {sums.take(), dtable.take()};
}

Floats without_ones(Floats values) {
  for (float& value : values) value -= 1.0f;
  return values;
}

class LabelledRowsKernel : public KernelTest {};

TEST_P(LabelledRowsKernel, ForwardAndBackEqualThePairsOfTheReference) {
  for (const auto& [head_size, labelled, by_head] :
       {std::tuple{Index{16}, true, false}, std::tuple{Index{5}, true, true},
        std::tuple{Index{64}, true, false}, std::tuple{Index{33}, false, false}}) {
    SCOPED_TRACE(head_size);
    const LabelledRows p(3, head_size, 90, labelled, by_head);
    const auto size = static_cast<std::size_t>(p.rows * p.width());
    const Floats qkv = random_floats(3 * size, 61, 1.5f), dout = random_floats(size, 62),
                 table = random_floats(p.table_size(), 63);
    const auto got = run([&](Backend& backend) {
      Guarded out(size), dqkv(3 * size);
      std::vector<Floats> result =
          attend_labelled(backend, p, qkv.data(), table, out.data(), out.data(), dqkv.data(), dout.data());
      result.push_back(out.take());
      result.push_back(dqkv.take());
      return result;
    });
    const LabelledRows::Result expected = p.expected(qkv, table, dout);
    EXPECT_LT(relative_error(got[2], expected.out), 2e-6);
    EXPECT_LT(relative_error(got[3], expected.dqkv), 1e-5);
    if (labelled) {
      EXPECT_LT(relative_error(without_ones(got[1]), expected.dlabels), 1e-5);
    }
    for (std::size_t i = 0; i < got[0].size(); ++i) {
      if ((i + 1) % 90 == 0) {  // no list
        EXPECT_EQ(got[0][i], INFINITY);
      } else {
        EXPECT_NEAR(static_cast<double>(got[0][i]), expected.log_sum_exp[i], 1e-5) << i;
      }
    }
    for (std::size_t d = 0; d < static_cast<std::size_t>(p.width()); ++d)
      EXPECT_EQ(got[2][size - 1 - d], 0.0f);
  }
}

TEST_P(LabelledRowsKernel, BiasesOfLabelsAreAddedToProducts) {
  for (const auto& [head_size, by_head] : {std::pair{Index{16}, true}, std::pair{Index{5}, false}}) {
    SCOPED_TRACE(head_size);
    const LabelledRows p(3, head_size, 90, true, by_head);
    const Index width = p.width();
    const auto size = static_cast<std::size_t>(p.rows * width);
    const Floats qkv = random_floats(3 * size, 61, 1.5f), table = random_floats(p.table_size(), 63),
                 bias = p.biases();
    const auto got = run([&](Backend& backend) {
      Guarded out(size), sums(static_cast<std::size_t>(p.heads * p.rows));
      backend.attend_rows(
          {.queries = p.rows,
           .heads = p.heads,
           .head_size = p.head_size,
           .scale = p.scale(),
           .rows = p.listed.data(),
           .offsets = p.offsets.data(),
           .labels = p.labels.data(),
           .label_weight = table.data(),
           .label_count = LabelledRows::label_count,
           .labels_by_head = p.by_head,
           .label_bias = bias.data()},
          {{qkv.data(), 3 * width}, {qkv.data() + width, 3 * width}, {qkv.data() + 2 * width, 3 * width}},
          {out.data(), width}, sums.data());
      return std::vector<Floats>{out.take(), sums.take()};
    });
    const LabelledRows::Result expected = p.expected(qkv, table, random_floats(size, 62), bias);
    EXPECT_LT(relative_error(got[0], expected.out), 2e-6);
    for (std::size_t i = 0; i < got[1].size(); ++i) {
      if ((i + 1) % 90 != 0) {
        EXPECT_NEAR(static_cast<double>(got[1][i]), expected.log_sum_exp[i], 1e-5) << i;
      }
    }
  }
}

class RoundedLabelledRowsKernel : public KernelTest {
 protected:
  RoundedLabelledRowsKernel() { precision_ = Precision::bf16; }
};

TEST_P(RoundedLabelledRowsKernel, TakesRowsOfBf16) {
  const LabelledRows p(2, 16, 60, true, false);
  const auto size = static_cast<std::size_t>(p.rows * p.width());
  const std::vector<bf16> qkv = as_bf16(random_floats(3 * size, 61, 1.5f)),
                          dout = as_bf16(random_floats(size, 62));
  const Floats table = random_floats(p.table_size(), 63);
  const auto got = run([&](Backend& backend) {
    std::vector<bf16> out(size), dqkv(3 * size);
    std::vector<Floats> result =
        attend_labelled(backend, p, qkv.data(), table, out.data(), out.data(), dqkv.data(), dout.data());
    result.push_back(as_floats(out));
    result.push_back(as_floats(dqkv));
    return result;
  });
  const LabelledRows::Result expected = p.expected(as_floats(qkv), table, as_floats(dout));
  EXPECT_LT(relative_error(got[2], expected.out), 0.005);
  EXPECT_LT(relative_error(got[3], expected.dqkv), 0.01);
  EXPECT_LT(relative_error(without_ones(got[1]), expected.dlabels), 0.01);
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
        {out.data(), width}, nullptr);
    return std::vector<Floats>{as_floats(out)};
  });
  EXPECT_LT(relative_error(got[0], p.expected(q, kv)), 0.005);
}

BIGBIRD_KERNEL_TESTS(RowAttentionKernel);
BIGBIRD_KERNEL_TESTS(LabelledRowsKernel);
BIGBIRD_KERNEL_TESTS(RoundedLabelledRowsKernel);
BIGBIRD_KERNEL_TESTS(RoundedRowAttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
