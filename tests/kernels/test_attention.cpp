// Attention over block plans against the dense oracle of reference/: head sizes 16, 63, 64, 128 and others,
// ragged batches, lengths that are not multiples of the block, all-padding tails, short sequences, repeats in
// the lists.
#include <numeric>

#include "kernels/philox.h"
#include "reference/attention.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

// A plan in both forms: lists for the oracle, offsets for the kernels.
struct Plan {
  reference::AttentionPlan lists;
  std::vector<std::int32_t> row_offsets, key_blocks, column_offsets, query_blocks;
  BlockPlanView view;

  explicit Plan(reference::AttentionPlan plan) : lists(std::move(plan)) {
    const std::size_t blocks = lists[0].size();
    row_offsets.push_back(0);
    column_offsets.push_back(0);
    for (const auto& head : lists) {
      for (const auto& row : head) {
        for (const std::size_t block : row) key_blocks.push_back(static_cast<std::int32_t>(block));
        row_offsets.push_back(static_cast<std::int32_t>(key_blocks.size()));
      }
      for (std::size_t key = 0; key < blocks; ++key) {
        for (std::size_t query = 0; query < blocks; ++query) {
          for (const std::size_t block : head[query]) {
            if (block == key) query_blocks.push_back(static_cast<std::int32_t>(query));
          }
        }
        column_offsets.push_back(static_cast<std::int32_t>(query_blocks.size()));
      }
    }
    view = {0,
            static_cast<Index>(lists.size()),
            static_cast<Index>(blocks),
            row_offsets.data(),
            key_blocks.data(),
            column_offsets.data(),
            query_blocks.data()};
  }
};

// BigBird-ITC with random blocks drawn from all blocks, so that repeats of every kind happen.
reference::AttentionPlan random_itc(std::size_t heads, std::size_t blocks, std::size_t random,
                                    std::uint32_t seed) {
  std::mt19937 generator(seed);
  reference::AttentionPlan rows(heads);
  for (auto& head : rows) {
    head.resize(blocks - 2);
    for (auto& row : head) {
      for (std::size_t i = 0; i < random; ++i) row.push_back(generator() % blocks);
    }
  }
  return reference::itc_plan(blocks, rows);
}

struct Case {
  const char* name;
  Index heads, head_size, block_size;
  std::vector<Index> lengths;  // the plans have ceil(length / block) + tail blocks, at least 4
  Index tail;
};

const Case cases[] = {
    {"one head, size 16, four blocks", 1, 16, 8, {32}, 0},
    {"head size 63, five blocks, ragged end", 2, 63, 16, {75}, 0},
    {"head size 64, block 64, six blocks", 2, 64, 64, {384}, 0},
    {"head size 128, all-padding tail", 1, 128, 16, {50}, 3},
    {"ragged batch of four", 3, 16, 16, {64, 97, 1, 160}, 0},
    {"block that fills no vector, odd head", 2, 5, 3, {20, 13}, 1},
    {"block longer than a chunk", 1, 8, 300, {1100}, 0},
    {"many blocks in one row", 2, 32, 32, {32 * 21 - 5}, 0},
    {"blocks of 32, head size 63, ragged batch, all-padding tail", 2, 63, 32, {100, 33, 64}, 2},
};

struct Problem {
  Case shape;
  std::vector<Plan> plans;
  std::vector<const BlockPlanView*> views;
  std::vector<Index> offsets{0};
  std::vector<Index> query_lengths;  // empty: the lengths
  AttentionBatch batch;

  Problem(const Case& chosen, bool full) : shape(chosen) {
    for (const Index length : shape.lengths) {
      const Index blocks =
          std::max<Index>(4, (length + shape.block_size - 1) / shape.block_size + shape.tail);
      const std::size_t heads = static_cast<std::size_t>(shape.heads);
      plans.emplace_back(full ? reference::full_plan(heads, static_cast<std::size_t>(blocks))
                              : random_itc(heads, static_cast<std::size_t>(blocks), 3,
                                           static_cast<std::uint32_t>(plans.size() + 17)));
      offsets.push_back(offsets.back() + blocks * shape.block_size);
    }
    for (const Plan& plan : plans) views.push_back(&plan.view);
    batch.sequences = static_cast<Index>(shape.lengths.size());
    batch.heads = shape.heads;
    batch.head_size = shape.head_size;
    batch.block_size = shape.block_size;
    batch.token_offsets = offsets.data();
    batch.lengths = shape.lengths.data();
    batch.plans = views.data();
    batch.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size));
  }
  Index tokens() const { return offsets.back(); }
  Index width() const { return shape.heads * shape.head_size; }

  reference::AttentionShape reference_shape(std::size_t s) const {
    return {static_cast<std::size_t>(shape.heads),      plans[s].lists[0].size(),
            static_cast<std::size_t>(shape.block_size), static_cast<std::size_t>(shape.head_size),
            static_cast<std::size_t>(shape.lengths[s]), static_cast<std::size_t>(query_length(s))};
  }
  Index query_length(std::size_t s) const {
    return query_lengths.empty() ? shape.lengths[s] : query_lengths[s];
  }
  // All tokens but the last of every sequence see the keys.
  void let_padding_ask() {
    for (std::size_t s = 0; s < plans.size(); ++s) {
      query_lengths.push_back(std::max(shape.lengths[s], offsets[s + 1] - offsets[s] - 1));
    }
    batch.query_lengths = query_lengths.data();
  }
  // (T, stride) rows at a column -> (H, L, D) of one sequence, and back into (T, C).
  reference::Vector of_sequence(const Floats& rows, Index stride, Index column, std::size_t s) const {
    reference::Vector result;
    for (Index h = 0; h < shape.heads; ++h) {
      for (Index t = offsets[s]; t < offsets[s + 1]; ++t) {
        for (Index d = 0; d < shape.head_size; ++d) {
          result.push_back(static_cast<double>(
              rows[static_cast<std::size_t>(t * stride + column + h * shape.head_size + d)]));
        }
      }
    }
    return result;
  }
  void put_sequence(const reference::Vector& from, reference::Vector& rows, std::size_t s) const {
    std::size_t at = 0;
    for (Index h = 0; h < shape.heads; ++h) {
      for (Index t = offsets[s]; t < offsets[s + 1]; ++t) {
        for (Index d = 0; d < shape.head_size; ++d) {
          rows[static_cast<std::size_t>(t * width() + h * shape.head_size + d)] = from[at++];
        }
      }
    }
  }
};

struct Outputs {
  Floats out, log_sum_exp, dq, dk, dv;
};

// q, k, v lie side by side in (T, 3C), as do their gradients; out and dout have gaps of 3 floats between
// rows.
constexpr Index gap = 3;

// Where factors have 8 bits.
constexpr double bf16_tolerance = 3e-2;

std::vector<Floats> run_attention(Backend& backend, const Problem& p, const Floats& qkv, const Floats& dout) {
  const Index c = p.width();
  const std::size_t tokens = static_cast<std::size_t>(p.tokens());
  Guarded out(tokens * static_cast<std::size_t>(c + gap), 77.0f);
  Guarded log_sum_exp(tokens * static_cast<std::size_t>(p.shape.heads), 0.0f);
  Guarded gradients(tokens * static_cast<std::size_t>(3 * c));
  const QueryKeyValue inputs{{qkv.data(), 3 * c}, {qkv.data() + c, 3 * c}, {qkv.data() + 2 * c, 3 * c}};
  const QueryKeyValueGradients dinputs{
      {gradients.data(), 3 * c}, {gradients.data() + c, 3 * c}, {gradients.data() + 2 * c, 3 * c}};
  backend.attention_forward(p.batch, inputs, {out.data(), c + gap}, log_sum_exp.data());
  Guarded again(tokens * static_cast<std::size_t>(c + gap), 77.0f);
  backend.attention_forward(p.batch, inputs, {again.data(), c + gap}, nullptr);
  EXPECT_EQ(out.take(), again.take()) << "keeping log_sum_exp changed the output";
  backend.attention_backward(p.batch, inputs, Rows{out.data(), c + gap}, log_sum_exp.data(),
                             {dout.data(), c + gap}, dinputs);
  return {out.take(), log_sum_exp.take(), gradients.take()};
}

class AttentionKernel : public KernelTest {
 protected:
  double bound(double of_fp32, double of_bf16) const {
    return precision_ == Precision::bf16 ? of_bf16 : of_fp32;
  }
  void check(const Problem& p) {
    const double gradient_bound = bound(gradient_tolerance, bf16_tolerance);
    const Index c = p.width();
    const std::size_t tokens = static_cast<std::size_t>(p.tokens());
    const Floats qkv = random_floats(tokens * static_cast<std::size_t>(3 * c), 21, 2.0f);
    const Floats dout = random_floats(tokens * static_cast<std::size_t>(c + gap), 22);
    const auto got = run([&](Backend& backend) { return run_attention(backend, p, qkv, dout); });

    reference::Vector out(tokens * static_cast<std::size_t>(c)), dq(out), dk(out), dv(out);
    for (std::size_t s = 0; s < p.plans.size(); ++s) {
      const auto shape = p.reference_shape(s);
      const auto q = p.of_sequence(qkv, 3 * c, 0, s), k = p.of_sequence(qkv, 3 * c, c, s),
                 v = p.of_sequence(qkv, 3 * c, 2 * c, s), d = p.of_sequence(dout, c + gap, 0, s);
      p.put_sequence(reference::attention_dense_forward(shape, p.plans[s].lists, q, k, v), out, s);
      const auto gradients = reference::attention_dense_backward(shape, p.plans[s].lists, q, k, v, d);
      p.put_sequence(gradients.query, dq, s);
      p.put_sequence(gradients.key, dk, s);
      p.put_sequence(gradients.value, dv, s);
    }
    EXPECT_LT(relative_error(columns(got[0], c + gap, 0, c), out), bound(forward_tolerance, bf16_tolerance));
    for (const float value : columns(got[0], c + gap, c, gap))
      ASSERT_EQ(value, 77.0f) << "written between rows";
    EXPECT_LT(relative_error(columns(got[2], 3 * c, 0, c), dq), gradient_bound);
    EXPECT_LT(relative_error(columns(got[2], 3 * c, c, c), dk), gradient_bound);
    EXPECT_LT(relative_error(columns(got[2], 3 * c, 2 * c, c), dv), gradient_bound);
    for (std::size_t s = 0; s < p.plans.size(); ++s) {
      for (Index t = p.offsets[s] + p.shape.lengths[s]; t < p.offsets[s + 1]; ++t) {
        const bool asks = t < p.offsets[s] + p.query_length(s);
        for (Index i = 0; i < c; ++i) {
          if (!asks) {
            ASSERT_EQ(got[0][static_cast<std::size_t>(t * (c + gap) + i)], 0.0f) << "padded row " << t;
          }
          for (const Index part : {Index{0}, c, 2 * c}) {
            if (asks && part == 0) continue;
            ASSERT_EQ(got[2][static_cast<std::size_t>(t * 3 * c + part + i)], 0.0f) << "padded row " << t;
          }
        }
      }
    }
  }

  void check_dropout();

  static Floats columns(const Floats& rows, Index stride, Index first, Index count) {
    Floats result;
    for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(stride)) {
      const auto from = rows.begin() + static_cast<std::ptrdiff_t>(at) + first;
      result.insert(result.end(), from, from + count);
    }
    return result;
  }
};

TEST_P(AttentionKernel, SparsePlansEqualTheDenseOracle) {
  for (const Case& chosen : cases) {
    SCOPED_TRACE(chosen.name);
    check(Problem(chosen, false));
  }
}

TEST_P(AttentionKernel, FullPlansEqualTheDenseOracle) {
  for (const Case& chosen : cases) {
    SCOPED_TRACE(chosen.name);
    check(Problem(chosen, true));
  }
}

TEST_P(AttentionKernel, PaddingMaySeeTheKeys) {
  for (const Case& chosen : cases) {
    SCOPED_TRACE(chosen.name);
    Problem p(chosen, true);
    p.let_padding_ask();
    check(p);
  }
}

// Forward passes without padding: sequence s has as many rows as tokens, so its last block ends inside of the
// next sequence, or behind the matrix.
TEST_P(AttentionKernel, RowsOfPaddingCanBeLeftOut) {
  for (const Case& chosen : cases) {
    if (chosen.tail > 0 || chosen.lengths[0] < 3 * chosen.block_size) continue;
    for (const bool full : {false, true}) {
      SCOPED_TRACE(chosen.name);
      const Problem padded(chosen, full);
      const Index c = padded.width();
      const Floats qkv = random_floats(static_cast<std::size_t>(padded.tokens() * 3 * c), 29);
      Problem bare(chosen, full);
      Floats bare_qkv, expected;
      const auto forward = [&](const Problem& p, const Floats& from) {
        return run([&](Backend& backend) {
          Guarded out(static_cast<std::size_t>(p.tokens() * c), 77.0f);
          backend.attention_forward(
              p.batch, {{from.data(), 3 * c}, {from.data() + c, 3 * c}, {from.data() + 2 * c, 3 * c}},
              {out.data(), c}, nullptr);
          return std::vector<Floats>{out.take()};
        })[0];
      };
      const Floats all = forward(padded, qkv);
      for (std::size_t s = 0; s < chosen.lengths.size(); ++s) {
        bare.offsets[s + 1] = bare.offsets[s] + chosen.lengths[s];
        const auto rows_of = [&](const Floats& matrix, Index width, Floats& to) {
          const auto first = matrix.begin() + padded.offsets[s] * width;
          to.insert(to.end(), first, first + chosen.lengths[s] * width);
        };
        rows_of(qkv, 3 * c, bare_qkv);
        rows_of(all, c, expected);
      }
      const Floats got = forward(bare, bare_qkv);
      ASSERT_EQ(got.size(), expected.size());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0);
    }
  }
}

TEST_P(AttentionKernel, InBf16GradientsAreThoseOfRoundedFactors) {
  precision_ = Precision::bf16;
  for (const Case& chosen : cases) {
    for (const bool full : {false, true}) {
      SCOPED_TRACE(chosen.name);
      check(Problem(chosen, full));
    }
    Problem asking(chosen, true);
    asking.let_padding_ask();
    check(asking);
  }
}

// Where a backend keeps what attention reads in bf16: the same numbers as from floats of the same values, and
// gradients that are the nearest bf16 numbers.
TEST_P(AttentionKernel, NarrowGradientsAreTheRoundedOnes) {
  precision_ = Precision::bf16;
  const auto is_narrow = [&] {
    return make_cpu_backend(GetParam().options(precision_))->element_type() == ElementType::bf16;
  };
  if (!is_narrow()) GTEST_SKIP() << "this configuration keeps floats";
  for (const Case& chosen : cases) {
    SCOPED_TRACE(chosen.name);
    const Problem p(chosen, false);
    const Index c = p.width();
    const auto tokens = static_cast<std::size_t>(p.tokens()), wide = tokens * static_cast<std::size_t>(3 * c);
    const auto narrowed = [](const Floats& values) {
      std::vector<bf16> result;
      for (const float value : values) result.push_back(to_bf16(value));
      return result;
    };
    const auto widened = [](const std::vector<bf16>& values) {
      Floats result;
      for (const bf16 value : values) result.push_back(to_float(value));
      return result;
    };
    const std::vector<bf16> qkv = narrowed(random_floats(wide, 41, 2.0f));
    const std::vector<bf16> dout = narrowed(random_floats(tokens * static_cast<std::size_t>(c), 42));
    const std::vector<bf16> out = narrowed(random_floats(tokens * static_cast<std::size_t>(c), 43));
    const auto got = run([&](Backend& backend) {
      const auto backward = [&](const auto& of_qkv, const auto& of_out, const auto& of_dout, auto& to) {
        const QueryKeyValue inputs{
            {of_qkv.data(), 3 * c}, {of_qkv.data() + c, 3 * c}, {of_qkv.data() + 2 * c, 3 * c}};
        Floats context(tokens * static_cast<std::size_t>(c)),
            sums(tokens * static_cast<std::size_t>(chosen.heads));
        std::vector<bf16> narrow_context(context.size());
        const bool narrow = ConstValues(of_qkv.data()).type() == ElementType::bf16;
        backend.attention_forward(p.batch, inputs,
                                  {narrow ? Values(narrow_context.data()) : Values(context.data()), c},
                                  sums.data());
        backend.attention_backward(p.batch, inputs, ConstRows{of_out.data(), c}, sums.data(),
                                   {of_dout.data(), c},
                                   {{to.data(), 3 * c}, {to.data() + c, 3 * c}, {to.data() + 2 * c, 3 * c}});
      };
      Floats of_floats(wide);
      std::vector<bf16> of_narrow(wide);
      backward(widened(qkv), widened(out), widened(dout), of_floats);
      backward(qkv, out, dout, of_narrow);
      return std::vector<Floats>{widened(narrowed(of_floats)), widened(of_narrow)};
    });
    EXPECT_EQ(got[0], got[1]);
  }
}

// With --precision bf16 a backend may round what attention multiplies: to 8 bits of each factor, and not
// more. A row is the same whatever the number of threads, and without its neighbours' padding.
TEST_P(AttentionKernel, InBf16FactorsAreRoundedAndNothingElse) {
  const auto backend = make_cpu_backend(GetParam().options(Precision::bf16));
  for (const Case& chosen : cases) {
    for (const bool full : {false, true}) {
      SCOPED_TRACE(chosen.name);
      const Problem p(chosen, full);
      const Index c = p.width();
      const auto tokens = static_cast<std::size_t>(p.tokens());
      const Floats qkv = random_floats(tokens * static_cast<std::size_t>(3 * c), 31, 2.0f);
      const QueryKeyValue inputs{{qkv.data(), 3 * c}, {qkv.data() + c, 3 * c}, {qkv.data() + 2 * c, 3 * c}};
      Guarded out(tokens * static_cast<std::size_t>(c + gap), 77.0f);
      Guarded log_sum_exp(tokens * static_cast<std::size_t>(chosen.heads), 0.0f);
      set_thread_count(2);
      backend->attention_forward(p.batch, inputs, {out.data(), c + gap}, log_sum_exp.data());
      Guarded again(tokens * static_cast<std::size_t>(c + gap), 77.0f);
      set_thread_count(1);
      backend->attention_forward(p.batch, inputs, {again.data(), c + gap}, nullptr);
      const Floats got = out.take();
      EXPECT_EQ(got, again.take());
      reference::Vector expected(tokens * static_cast<std::size_t>(c));
      for (std::size_t s = 0; s < p.plans.size(); ++s) {
        const auto q = p.of_sequence(qkv, 3 * c, 0, s), k = p.of_sequence(qkv, 3 * c, c, s),
                   v = p.of_sequence(qkv, 3 * c, 2 * c, s);
        p.put_sequence(reference::attention_dense_forward(p.reference_shape(s), p.plans[s].lists, q, k, v),
                       expected, s);
        for (Index t = p.offsets[s] + chosen.lengths[s]; t < p.offsets[s + 1]; ++t) {
          for (Index i = 0; i < c; ++i) ASSERT_EQ(got[static_cast<std::size_t>(t * (c + gap) + i)], 0.0f);
        }
      }
      EXPECT_LT(relative_error(columns(got, c + gap, 0, c), expected), 2e-2);
      for (const float value : columns(got, c + gap, c, gap)) ASSERT_EQ(value, 77.0f);
      for (const float value : log_sum_exp.take()) ASSERT_FALSE(std::isnan(value));
    }
  }
}

TEST_P(AttentionKernel, ARowWhoseKeysAreAllPaddingIsZeroAndPassesNoGradient) {
  Problem p({"one visible block only", 2, 16, 8, {30}, 4}, true);
  // Query block 1 sees padding alone.
  for (auto& head : p.plans[0].lists) head[1] = {5, 6, 6};
  p.plans[0] = Plan(p.plans[0].lists);
  p.views[0] = &p.plans[0].view;
  check(p);
}

TEST_P(AttentionKernel, LogSumExpCountsRepeats) {
  const Problem p({"two lists", 1, 16, 4, {16}, 0}, false);
  Problem doubled({"two lists", 1, 16, 4, {16}, 0}, false);
  for (auto& row : doubled.plans[0].lists[0]) row.insert(row.end(), row.begin(), row.end());
  doubled.plans[0] = Plan(doubled.plans[0].lists);
  doubled.views[0] = &doubled.plans[0].view;
  const Floats qkv = random_floats(16 * 48, 23);
  const Floats dout = random_floats(16 * (16 + gap), 24);
  const auto once = run([&](Backend& backend) { return run_attention(backend, p, qkv, dout); });
  const auto twice = run([&](Backend& backend) { return run_attention(backend, doubled, qkv, dout); });
  for (std::size_t t = 0; t < 16; ++t) EXPECT_NEAR(twice[1][t] - once[1][t], std::log(2.0), 1e-5);
}

TEST_P(AttentionKernel, LargeScoresStayFinite) {
  const Problem p({"scores in the hundreds", 1, 16, 8, {37}, 0}, false);
  const Floats qkv = random_floats(40 * 48, 25, 60.0f);
  const Floats dout = random_floats(40 * (16 + gap), 26);
  auto all = run([&](Backend& backend) { return run_attention(backend, p, qkv, dout); });
  // Padding has seen nothing: +infinity.
  for (std::size_t row = 37; row < 40; ++row) EXPECT_EQ(all[1][row], INFINITY);
  all[1].resize(37);
  for (const Floats& values : all) {
    for (const float value : values) ASSERT_TRUE(std::isfinite(value));
  }
}

// Dropout of probabilities, computed plainly in double with the masks of philox.h.
void AttentionKernel::check_dropout() {
  for (const Case& chosen :
       {Case{"T a multiple of 4", 2, 16, 8, {29, 32}, 0}, Case{"T odd", 2, 5, 3, {14, 12}, 0}}) {
    SCOPED_TRACE(chosen.name);
    Problem p(chosen, true);
    p.batch.drop_probability = 0.3f;
    const std::uint64_t seed = 0x123456789abcdef0ull;
    p.batch.dropout_seed = &seed;
    p.batch.dropout_site = 0xfedcba9876543210ull;
    const Index c = p.width(), d_size = chosen.head_size, all = p.tokens();
    const std::size_t tokens = static_cast<std::size_t>(all);
    const Floats qkv = random_floats(tokens * static_cast<std::size_t>(3 * c), 27);
    const Floats dout = random_floats(tokens * static_cast<std::size_t>(c + gap), 28);
    const auto got = run([&](Backend& backend) { return run_attention(backend, p, qkv, dout); });
    reference::Vector out(tokens * static_cast<std::size_t>(c)),
        gradients(tokens * static_cast<std::size_t>(3 * c));
    for (std::size_t s = 0; s < p.plans.size(); ++s) {
      const Index start = p.offsets[s], length = chosen.lengths[s];
      for (Index h = 0; h < chosen.heads; ++h) {
        const auto at = [&](Index row, Index part, Index d) {
          return static_cast<std::size_t>((start + row) * 3 * c + part * c + h * d_size + d);
        };
        for (Index i = 0; i < length; ++i) {
          reference::Vector weight(static_cast<std::size_t>(length)), factor(weight), d_weight(weight);
          double total = 0.0, mean = 0.0;
          for (Index j = 0; j < length; ++j) {
            double score = 0.0;
            for (Index d = 0; d < d_size; ++d) {
              score += static_cast<double>(qkv[at(i, 0, d)]) * static_cast<double>(qkv[at(j, 1, d)]);
            }
            const std::size_t u = static_cast<std::size_t>(j);
            weight[u] = std::exp(score * static_cast<double>(p.batch.scale));
            total += weight[u];
            const auto index = static_cast<std::uint64_t>((h * all + start + i) * all + start + j);
            factor[u] = dropout_keep(seed, p.batch.dropout_site, index, 0.3f) ? 1.0 / (1.0 - 0.3) : 0.0;
          }
          for (Index j = 0; j < length; ++j) {
            const std::size_t u = static_cast<std::size_t>(j);
            weight[u] /= total;
            for (Index d = 0; d < d_size; ++d) {
              const double g = static_cast<double>(
                  dout[static_cast<std::size_t>((start + i) * (c + gap) + h * d_size + d)]);
              out[static_cast<std::size_t>((start + i) * c + h * d_size + d)] +=
                  weight[u] * factor[u] * static_cast<double>(qkv[at(j, 2, d)]);
              gradients[at(j, 2, d)] += weight[u] * factor[u] * g;
              d_weight[u] += factor[u] * g * static_cast<double>(qkv[at(j, 2, d)]);
            }
            mean += weight[u] * d_weight[u];
          }
          for (Index j = 0; j < length; ++j) {
            const std::size_t u = static_cast<std::size_t>(j);
            const double d_score = weight[u] * (d_weight[u] - mean) * static_cast<double>(p.batch.scale);
            for (Index d = 0; d < d_size; ++d) {
              gradients[at(i, 0, d)] += d_score * static_cast<double>(qkv[at(j, 1, d)]);
              gradients[at(j, 1, d)] += d_score * static_cast<double>(qkv[at(i, 0, d)]);
            }
          }
        }
      }
    }
    EXPECT_LT(relative_error(columns(got[0], c + gap, 0, c), out), bound(forward_tolerance, bf16_tolerance));
    EXPECT_LT(relative_error(got[2], gradients), bound(gradient_tolerance, bf16_tolerance));
  }
}

TEST_P(AttentionKernel, DroppedProbabilitiesFollowTheMask) {
  check_dropout();
}

TEST_P(AttentionKernel, DroppedProbabilitiesFollowTheMaskInBf16) {
  precision_ = Precision::bf16;
  check_dropout();
}

BIGBIRD_KERNEL_TESTS(AttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
