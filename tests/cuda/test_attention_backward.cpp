// Gradients of attention on the device against the dense oracle of reference/ in double and the CPU backend:
// both tiles, all head sizes, all precisions, cut lists, padding, dropout, and the two ways of summing the
// gradient of q.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "kernels/cuda/attention/attention.h"
#include "reference/attention.h"
#include "tests/cuda/attention_test.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

// BigBird-ITC whose two random blocks are drawn from the first few only, as in the published plans: key
// blocks 1 to 3 are named by many rows and twice by some, others by none but their neighbours.
reference::AttentionPlan uneven_plan(Index heads, Index blocks) {
  std::mt19937 generator(static_cast<std::uint32_t>(blocks));
  reference::AttentionPlan random(static_cast<std::size_t>(heads));
  for (auto& head : random) {
    head.resize(static_cast<std::size_t>(blocks - 2));
    for (auto& row : head) row = {1 + generator() % 2, 1 + generator() % 3};
  }
  return reference::itc_plan(static_cast<std::size_t>(blocks), random);
}

struct Sequence {
  Index blocks, length;
  Index query_length = 0;  // 0: length
};

// Rows of every matrix are `gap` elements longer than they need to be.
constexpr Index gap = 8;

struct Problem {
  Index heads, head_size, block_size;
  std::vector<Sequence> sequences;
  std::vector<std::shared_ptr<const PlanLists>> plans;
  std::vector<const BlockPlanView*> views;
  std::vector<Index> offsets{0}, lengths, query_lengths;
  AttentionBatch batch;
  std::vector<double> qkv, dout;

  Problem(Index heads_, Index head_size_, Index block_size_, std::vector<Sequence> sequences_,
          bool full = false)
      : heads(heads_), head_size(head_size_), block_size(block_size_), sequences(std::move(sequences_)) {
    for (const Sequence& sequence : sequences) {
      const auto same = std::find_if(plans.begin(), plans.end(),
                                     [&](const auto& plan) { return plan->view.blocks == sequence.blocks; });
      plans.push_back(same != plans.end()
                          ? *same
                          : std::make_shared<const PlanLists>(
                                full ? reference::full_plan(static_cast<std::size_t>(heads),
                                                            static_cast<std::size_t>(sequence.blocks))
                                     : uneven_plan(heads, sequence.blocks)));
      offsets.push_back(offsets.back() + sequence.blocks * block_size);
      lengths.push_back(sequence.length);
      query_lengths.push_back(std::max(sequence.length, sequence.query_length));
    }
    refresh();
    // The numbers of a sequence depend on its own shape alone.
    for (const Sequence& sequence : sequences) {
      const Index rows = sequence.blocks * block_size;
      const auto seed = static_cast<std::uint64_t>(sequence.length);
      const auto more_qkv = random_normal(rows * 3 * width(), seed),
                 more_dout = random_normal(rows * width(), seed + 1);
      qkv.insert(qkv.end(), more_qkv.begin(), more_qkv.end());
      dout.insert(dout.end(), more_dout.begin(), more_dout.end());
    }
  }
  Problem(const Problem&) = delete;

  void replace_plan(std::size_t s, reference::AttentionPlan lists) {
    plans[s] = std::make_shared<const PlanLists>(std::move(lists));
    refresh();
  }
  Index width() const { return heads * head_size; }
  Index tokens() const { return offsets.back(); }
  // Numbers per row of sequence s.
  template <class T>
  std::vector<T> rows_of(const std::vector<T>& matrix, std::size_t s, Index columns) const {
    return {matrix.begin() + offsets[s] * columns, matrix.begin() + offsets[s + 1] * columns};
  }

 private:
  void refresh() {
    views.clear();
    for (const auto& plan : plans) views.push_back(&plan->view);
    batch.sequences = static_cast<Index>(sequences.size());
    batch.heads = heads;
    batch.head_size = head_size;
    batch.block_size = block_size;
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.query_lengths = query_lengths.data();
    batch.plans = views.data();
    batch.scale = 1.0f / std::sqrt(static_cast<float>(head_size));
  }
};

struct Gradients {
  std::vector<double> q, k, v;  // (T, C)
};

// (T, columns) -> (T, columns + gap), the gaps NaN.
template <class Element>
std::vector<Element> with_gaps(const std::vector<double>& values, Index columns) {
  std::vector<Element> result;
  const std::vector<Element> narrow = rounded<Element>(values);
  for (auto row = narrow.begin(); row != narrow.end(); row += columns) {
    result.insert(result.end(), row, row + columns);
    result.insert(result.end(), static_cast<std::size_t>(gap), to_element<Element>(NAN));
  }
  return result;
}

template <class Element>
struct Result {
  std::vector<Element> out, gradients;  // (T, C), (T, 3C)
};

class AttentionBackwardTest : public CudaTest {
 protected:
  // Forward and backward, with everything in the workspace and in the outputs NaN before.
  template <class Element>
  Result<Element> run(const Problem& p, bool deterministic = true,
                      FloatProducts products = FloatProducts::fp32) {
    const Index c = p.width(), t = p.tokens(), stride = 3 * c + gap;
    AttentionLimits limits;
    limits.sequences = p.batch.sequences;
    limits.tokens = t;
    for (const Sequence& sequence : p.sequences) {
      limits.longest = std::max(limits.longest, sequence.blocks * p.block_size);
    }
    limits.heads = p.heads;
    limits.head_size = p.head_size;
    limits.block_size = p.block_size;
    limits.training = true;
    const PreparedSize size = PreparedSize::of(limits);
    DeviceBuffer<std::byte> prepared_memory(static_cast<Index>(size.bytes()), stream());
    AttentionSchedules schedules;
    PreparedBatch prepared(prepared_memory.data(), size);
    prepared.fill(p.batch, schedules, stream());
    prepared_memory.upload_first(prepared.image());
    prepared.list_work(stream());
    key_cuts_ = prepared.key_cuts();
    query_cuts_ = prepared.query_cuts();
    const AttentionWorkspace workspace(limits, deterministic);
    EXPECT_EQ(workspace.bytes, attention_workspace_bytes(limits, deterministic));
    const DeviceBuffer<std::byte> memory(static_cast<Index>(workspace.bytes), stream());

    AttentionBatch batch = p.batch;
    std::optional<DeviceBuffer<std::uint64_t>> seed;
    if (batch.drop_probability > 0) {
      seed.emplace(std::vector<std::uint64_t>{*batch.dropout_seed}, stream());
      batch.dropout_seed = seed->data();
    }
    AttentionCall call{batch, prepared, products, workspace, memory.data(), stream()};
    call.warpgroups = warpgroups_asked();

    const DeviceBuffer<Element> qkv(with_gaps<Element>(p.qkv, 3 * c), stream());
    const DeviceBuffer<Element> dout(with_gaps<Element>(p.dout, c), stream());
    const DeviceBuffer<Element> out(t * (c + gap), stream());
    const DeviceBuffer<float> log_sum_exp(p.heads * t, stream());
    const DeviceBuffer<Element> gradients(t * stride, stream());
    const QueryKeyValue inputs{{qkv.data(), stride}, {qkv.data() + c, stride}, {qkv.data() + 2 * c, stride}};
    const Rows rows_of_out{out.data(), c + gap};
    attention_forward(call, inputs, rows_of_out, log_sum_exp.data());
    attention_backward(
        call, inputs, rows_of_out, log_sum_exp.data(), {dout.data(), c + gap},
        {{gradients.data(), stride}, {gradients.data() + c, stride}, {gradients.data() + 2 * c, stride}},
        deterministic);
    return {without_gaps(out.download(), c), without_gaps(gradients.download(), 3 * c)};
  }

  template <class Element>
  static std::vector<Element> without_gaps(const std::vector<Element>& rows, Index columns) {
    std::vector<Element> result;
    for (auto row = rows.begin(); row != rows.end(); row += columns + gap) {
      result.insert(result.end(), row, row + columns);
      for (auto place = row + columns; place != row + columns + gap; ++place) {
        EXPECT_TRUE(std::isnan(to_float(*place))) << "written between rows";
      }
    }
    return result;
  }

  // What the oracle says of the numbers as Element stores them.
  template <class Element>
  static Gradients oracle(const Problem& p) {
    const Index c = p.width();
    const std::vector<double> qkv = stored<Element>(p.qkv), dout = stored<Element>(p.dout);
    std::vector<double> dq(static_cast<std::size_t>(p.tokens() * c)), dk(dq), dv(dq);
    for (std::size_t s = 0; s < p.sequences.size(); ++s) {
      // (rows, stride) -> (H, rows, D), and back.
      const Index first = p.offsets[s], rows = p.offsets[s + 1] - first;
      const auto head_major = [&](const std::vector<double>& matrix, Index stride, Index column) {
        reference::Vector result;
        for (Index h = 0; h < p.heads; ++h) {
          for (Index t = first; t < first + rows; ++t) {
            const auto from = matrix.begin() + t * stride + column + h * p.head_size;
            result.insert(result.end(), from, from + p.head_size);
          }
        }
        return result;
      };
      const auto put = [&](const reference::Vector& from, std::vector<double>& matrix) {
        for (Index h = 0; h < p.heads; ++h) {
          for (Index t = 0; t < rows; ++t) {
            std::copy_n(from.begin() + (h * rows + t) * p.head_size, p.head_size,
                        matrix.begin() + (first + t) * c + h * p.head_size);
          }
        }
      };
      const reference::AttentionShape shape{
          static_cast<std::size_t>(p.heads),      static_cast<std::size_t>(p.sequences[s].blocks),
          static_cast<std::size_t>(p.block_size), static_cast<std::size_t>(p.head_size),
          static_cast<std::size_t>(p.lengths[s]), static_cast<std::size_t>(p.query_lengths[s])};
      const auto of_sequence = reference::attention_dense_backward(
          shape, p.plans[s]->lists, head_major(qkv, 3 * c, 0), head_major(qkv, 3 * c, c),
          head_major(qkv, 3 * c, 2 * c), head_major(dout, c, 0));
      put(of_sequence.query, dq);
      put(of_sequence.key, dk);
      put(of_sequence.value, dv);
    }
    return {dq, dk, dv};
  }

  // What the CPU backend says of them.
  template <class Element>
  static Gradients cpu(const Problem& p) {
    const auto floats = [](const std::vector<double>& values) {
      const std::vector<double> wide = stored<Element>(values);
      return std::vector<float>(wide.begin(), wide.end());
    };
    const std::unique_ptr<Backend> backend = make_cpu_backend();
    const Index c = p.width(), t = p.tokens();
    const std::vector<float> qkv = floats(p.qkv), dout = floats(p.dout);
    std::vector<float> out(dout.size()), log_sum_exp(static_cast<std::size_t>(p.heads * t)),
        gradients(qkv.size());
    const QueryKeyValue inputs{{qkv.data(), 3 * c}, {qkv.data() + c, 3 * c}, {qkv.data() + 2 * c, 3 * c}};
    const Rows rows_of_out{out.data(), c};
    backend->attention_forward(p.batch, inputs, rows_of_out, log_sum_exp.data());
    backend->attention_backward(
        p.batch, inputs, rows_of_out, log_sum_exp.data(), {dout.data(), c},
        {{gradients.data(), 3 * c}, {gradients.data() + c, 3 * c}, {gradients.data() + 2 * c, 3 * c}});
    return parts(p, gradients);
  }

  template <class Element>
  static Gradients parts(const Problem& p, const std::vector<Element>& gradients) {
    Gradients result;
    const std::vector<double> wide = widened(gradients);
    for (auto row = wide.begin(); row != wide.end(); row += 3 * p.width()) {
      result.q.insert(result.q.end(), row, row + p.width());
      result.k.insert(result.k.end(), row + p.width(), row + 2 * p.width());
      result.v.insert(result.v.end(), row + 2 * p.width(), row + 3 * p.width());
    }
    return result;
  }

  static void expect_close(const Gradients& got, const Gradients& expected, double bound) {
    EXPECT_LT(relative_error(got.q, expected.q), bound) << "dq";
    EXPECT_LT(relative_error(got.k, expected.k), bound) << "dk";
    EXPECT_LT(relative_error(got.v, expected.v), bound) << "dv";
  }
  static void expect_zero_padding(const Problem& p, const Gradients& got) {
    for (std::size_t s = 0; s < p.sequences.size(); ++s) {
      for (Index t = p.offsets[s] + p.lengths[s]; t < p.offsets[s + 1]; ++t) {
        for (Index i = t * p.width(); i < (t + 1) * p.width(); ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (t >= p.offsets[s] + p.query_lengths[s]) {
            ASSERT_EQ(got.q[at], 0.0) << "dq of padded row " << t;
          }
          ASSERT_EQ(got.k[at], 0.0) << "dk of padded row " << t;
          ASSERT_EQ(got.v[at], 0.0) << "dv of padded row " << t;
        }
      }
    }
  }

  template <class Element>
  void check(const Problem& p, double bound, FloatProducts products = FloatProducts::fp32) {
    const Gradients expected = oracle<Element>(p);
    for (const bool deterministic : {true, false}) {
      SCOPED_TRACE(deterministic ? "dq in a pass of its own" : "dq by atomic additions");
      const Gradients got = parts(p, run<Element>(p, deterministic, products).gradients);
      expect_close(got, expected, bound);
      expect_zero_padding(p, got);
    }
  }
  void check_precisions(const Problem& p) {
    {
      SCOPED_TRACE("bf16");
      check<bf16>(p, bf16_bound);
    }
    {
      SCOPED_TRACE("fp32");
      check<float>(p, fp32_bound);
    }
  }

  // Measured on the emulated device, sums of tensor cores rounded | truncated (BIGBIRD_EMULATION_TRUNCATE=1):
  // bf16 2.6e-3 | 2.6e-3, tf32 5.3e-4 | 5.3e-4, fp32 6.9e-7 | 1.2e-6.
  static constexpr double bf16_bound = 5e-3, tf32_bound = 1e-3, fp32_bound = 1e-5;
  Index key_cuts_ = 0, query_cuts_ = 0;  // of the latest run
};

TEST_F(AttentionBackwardTest, SmallTilesEqualTheOracleAtEveryHeadSize) {
  for (const Index head_size : {32, 64, 128}) {
    SCOPED_TRACE(head_size);
    if (head_size == 32) {
      check_precisions(Problem(2, head_size, 16, {{4, 64}, {5, 70}}));
    } else {
      check_precisions(Problem(1, head_size, 16, {{4, 55}}));
    }
  }
}

TEST_F(AttentionBackwardTest, LargeTilesEqualTheOracleAtEveryHeadSize) {
  for (const Index head_size : {32, 64, 128}) {
    SCOPED_TRACE(head_size);
    Problem p(1, head_size, 64, {{2, 100}}, true);
    p.replace_plan(0, {{{0, 1}, {1, 1}}});
    check_precisions(p);
  }
}

TEST_F(AttentionBackwardTest, ProductsInTf32) {
  check<float>(Problem(1, 32, 16, {{5, 75}}), tf32_bound, FloatProducts::tf32);
}

TEST_F(AttentionBackwardTest, BlocksOfSeveralTiles) {
  check_precisions(Problem(1, 32, 48, {{4, 150}}));
}

TEST_F(AttentionBackwardTest, ListsThatAreCutAreAddedUp) {
  const Problem p(1, 32, 16, {{20, 20 * 16 - 20}, {4, 50}, {20, 9 * 16}});
  check_precisions(p);
  EXPECT_GT(key_cuts_, 2);
  EXPECT_GE(query_cuts_, 2);
}

TEST_F(AttentionBackwardTest, PaddingMaySeeTheKeys) {
  check_precisions(Problem(1, 32, 16, {{5, 40, 79}, {4, 64}}, true));
}

TEST_F(AttentionBackwardTest, SequencesThatAreMostlyPadding) {
  check_precisions(Problem(1, 32, 16, {{20, 1}, {4, 16}, {20, 33}}));
}

TEST_F(AttentionBackwardTest, KeysThatNobodySeesAndQueriesThatSeePaddingAloneGetZeros) {
  Problem p(1, 32, 16, {{6, 60}});
  // Nobody names block 2; query block 1 names padding alone, query block 3 nothing at all.
  p.replace_plan(0, {{{0, 1, 3}, {4, 5, 5}, {1, 1, 0}, {}, {0}, {3}}});
  check_precisions(p);
  const Gradients got = parts(p, run<float>(p).gradients);
  for (std::size_t i = 32 * 32; i < 48 * 32; ++i) {
    ASSERT_EQ(got.k[i], 0.0);
    ASSERT_EQ(got.v[i], 0.0);
  }
  for (std::size_t i = 16 * 32; i < 32 * 32; ++i) ASSERT_EQ(got.q[i], 0.0);
}

TEST_F(AttentionBackwardTest, WhatPaddingHoldsHasNoInfluence) {
  Problem p(1, 32, 16, {{4, 37}, {5, 64}});
  const auto clean = run<bf16>(p);
  for (std::size_t s = 0; s < p.sequences.size(); ++s) {
    const Index c = p.width(), first = p.offsets[s] + p.lengths[s], last = p.offsets[s + 1];
    std::fill(p.qkv.begin() + first * 3 * c, p.qkv.begin() + last * 3 * c, 1e4);
    std::fill(p.dout.begin() + first * c, p.dout.begin() + last * c, NAN);
  }
  const auto dirty = run<bf16>(p);
  EXPECT_EQ(widened(clean.gradients), widened(dirty.gradients));
  expect_close(parts(p, run<bf16>(p, false).gradients), parts(p, clean.gradients), bf16_bound);
}

TEST_F(AttentionBackwardTest, AResultDoesNotDependOnWhatElseIsInTheBatch) {
  const Problem together(1, 32, 16, {{20, 313}, {4, 50}, {20, 320}});
  const auto all = run<bf16>(together);
  EXPECT_GT(key_cuts_, 0);
  for (std::size_t s = 0; s < together.sequences.size(); ++s) {
    SCOPED_TRACE(s);
    const Problem alone(1, 32, 16, {together.sequences[s]});
    EXPECT_EQ(widened(run<bf16>(alone).gradients),
              widened(together.rows_of(all.gradients, s, 3 * together.width())));
  }
}

TEST_F(AttentionBackwardTest, SparsePlansEqualTheCpuBackend) {
  const Problem p(2, 64, 16, {{6, 90}, {4, 64}});
  expect_close(parts(p, run<float>(p).gradients), cpu<float>(p), fp32_bound);
}

TEST_F(AttentionBackwardTest, DroppedProbabilitiesAreThoseOfTheCpuBackend) {
  const std::uint64_t seed = 0x123456789abcdef0ull;
  for (const Index block_size : {16, 64}) {
    SCOPED_TRACE(block_size);
    const Index heads = block_size == 16 ? 2 : 1;
    Problem p(heads, block_size == 16 ? 32 : 64, block_size, {{2, 2 * block_size - 7}, {1, block_size}},
              true);
    p.batch.drop_probability = 0.3f;
    p.batch.dropout_seed = &seed;
    p.batch.dropout_site = 0xfedcba9876543210ull;
    for (const bool deterministic : {true, false}) {
      SCOPED_TRACE(deterministic);
      expect_close(parts(p, run<float>(p, deterministic).gradients), cpu<float>(p), fp32_bound);
      expect_close(parts(p, run<bf16>(p, deterministic).gradients), cpu<bf16>(p), bf16_bound);
    }
  }
}

// The gradients' product with a direction against how much sum(out * dout) changes that way.
TEST_F(AttentionBackwardTest, FiniteDifferencesOfTheForwardPass) {
  Problem p(1, 32, 16, {{4, 60}});
  const auto gradients = widened(run<float>(p).gradients);
  const std::vector<double> start = p.qkv, direction = random_normal(static_cast<Index>(start.size()), 99);
  const double step = 2e-3;
  double expected = 0, change = 0;
  for (std::size_t i = 0; i < start.size(); ++i) expected += gradients[i] * direction[i];
  for (const double side : {1.0, -1.0}) {
    for (std::size_t i = 0; i < start.size(); ++i) p.qkv[i] = start[i] + side * step * direction[i];
    const auto out = run<float>(p).out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      change += side * static_cast<double>(out[i]) * stored<float>({p.dout[i]})[0];
    }
  }
  EXPECT_NEAR(change / (2 * step), expected, 2e-3 * std::abs(expected));
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
