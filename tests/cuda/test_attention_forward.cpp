// Forward pass of attention on the device against the oracles of reference/ and the CPU backend.
#include <algorithm>
#include <limits>

#include "kernels/backend.h"
#include "reference/attention.h"
#include "tests/cuda/attention_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

struct Kind {
  const char* name;
  ElementType type;
  FloatProducts products;
  double tolerance;  // of the output, largest error over largest value
  double log_tolerance;
};
// Measured on the emulated device, sums of tensor cores rounded | truncated (BIGBIRD_EMULATION_TRUNCATE=1):
// bf16 4.1e-3 | 4.1e-3, tf32 8.6e-4 | 8.6e-4, fp32 1.6e-6 | 3.0e-6 of the output; of logarithms 6.4e-4 |
// 6.4e-4 (tf32), 1.3e-6 | 1.1e-6.
const Kind kinds[] = {
    {"bf16", ElementType::bf16, FloatProducts::fp32, 1e-2, 1e-5},
    {"tf32", ElementType::fp32, FloatProducts::tf32, 2e-3, 4e-3},
    {"fp32", ElementType::fp32, FloatProducts::fp32, 2e-5, 1e-5},
};

// Elements behind each row of q, k, v and of the output: rows begin at multiples of 16 bytes.
constexpr Index input_gap = 8;
constexpr Index output_gap = 16;
constexpr double poison = 77.0;

struct Forward {
  std::vector<double> out;  // [T, C + output_gap]
  std::vector<float> log_sum_exp;
};

template <class T>
Forward run_as(const AttentionProblem& p, const std::vector<double>& qkv, FloatProducts products,
               Stream stream, bool keep_log, Index wanted_blocks) {
  const Index c = p.width(), stride = 3 * c + input_gap;
  const DeviceBuffer<T> input(rounded<T>(qkv), stream);
  const std::vector<T> before(static_cast<std::size_t>(p.tokens() * (c + output_gap)),
                              to_element<T>(static_cast<float>(poison)));
  const DeviceBuffer<T> out(before, stream);
  const DeviceBuffer<float> log_sum_exp(p.heads * p.tokens(), stream);
  DeviceAttention device(p, stream, false);
  device.want(wanted_blocks);
  attention_forward(device.call(products),
                    {{input.data(), stride}, {input.data() + c, stride}, {input.data() + 2 * c, stride}},
                    {out.data(), c + output_gap}, keep_log ? log_sum_exp.data() : nullptr);
  return {widened(out.download()), log_sum_exp.download()};
}

Forward run(const AttentionProblem& p, const std::vector<double>& qkv, const Kind& kind, Stream stream,
            bool keep_log = true, Index wanted_blocks = 0) {
  return kind.type == ElementType::bf16
             ? run_as<bf16>(p, qkv, kind.products, stream, keep_log, wanted_blocks)
             : run_as<float>(p, qkv, kind.products, stream, keep_log, wanted_blocks);
}

// Random q, k, v as the kernel reads them; padding that nothing may read is NaN.
std::vector<double> make_input(const AttentionProblem& p, const Kind& kind, double deviation = 1.0) {
  const Index c = p.width(), stride = 3 * c + input_gap;
  std::vector<double> rows = random_normal(p.tokens() * stride, 11, deviation);
  rows = kind.type == ElementType::bf16 ? stored<bf16>(rows) : stored<float>(rows);
  const std::vector<Index> offsets = p.offsets();
  for (std::size_t s = 0; s < p.sequences.size(); ++s) {
    for (Index t = 0; t < p.rows_of(s); ++t) {
      for (Index i = 0; i < stride; ++i) {
        const Index seen = i < c ? p.sequences[s].query_length : p.sequences[s].length;
        if (t >= seen || i >= 3 * c) rows[static_cast<std::size_t>((offsets[s] + t) * stride + i)] = NAN;
      }
    }
  }
  return rows;
}

// Zeros for NaN, for oracles that multiply padding by zero.
std::vector<double> without_nan(std::vector<double> values) {
  for (double& value : values) {
    if (std::isnan(value)) value = 0.0;
  }
  return values;
}

struct Expected {
  std::vector<double> out;          // [T, C]
  std::vector<double> log_sum_exp;  // [H, T], infinite for rows that see nothing
};

// Attention straight from its definition, with repeats and dropped probabilities.
Expected from_definition(const AttentionProblem& p, const std::vector<double>& qkv) {
  const Index c = p.width(), stride = 3 * c + input_gap, all = p.tokens();
  const std::vector<Index> offsets = p.offsets();
  Expected result{std::vector<double>(static_cast<std::size_t>(all * c)),
                  std::vector<double>(static_cast<std::size_t>(p.heads * all), INFINITY)};
  for (std::size_t s = 0; s < p.sequences.size(); ++s) {
    const AttentionProblem::Sequence& sequence = p.sequences[s];
    for (Index h = 0; h < p.heads; ++h) {
      for (Index t = 0; t < sequence.query_length; ++t) {
        const Index row = offsets[s] + t;
        const double* const q = qkv.data() + row * stride + h * p.head_size;
        std::vector<std::pair<Index, double>> scores;  // of each key row
        double largest = -INFINITY;
        for (const std::size_t block :
             sequence.plan->lists[static_cast<std::size_t>(h)][static_cast<std::size_t>(t / p.block_size)]) {
          for (Index u = static_cast<Index>(block) * p.block_size;
               u < std::min(static_cast<Index>(block + 1) * p.block_size, sequence.length); ++u) {
            const double* const k = qkv.data() + (offsets[s] + u) * stride + c + h * p.head_size;
            double score = 0;
            for (Index d = 0; d < p.head_size; ++d) score += q[d] * k[d];
            scores.push_back({offsets[s] + u, score * static_cast<double>(p.scale())});
            largest = std::max(largest, scores.back().second);
          }
        }
        double total = 0;
        for (const auto& [key, score] : scores) total += std::exp(score - largest);
        if (scores.empty()) continue;
        result.log_sum_exp[static_cast<std::size_t>(h * all + row)] = largest + std::log(total);
        for (const auto& [key, score] : scores) {
          double weight = std::exp(score - largest) / total;
          if (p.drop_probability > 0) {
            const auto element = static_cast<std::uint64_t>((h * all + row) * all + key);
            const bool kept = dropout_keep(p.dropout_seed, p.dropout_site, element, p.drop_probability);
            weight *= kept ? 1 / (1 - static_cast<double>(p.drop_probability)) : 0;
          }
          const double* const v = qkv.data() + key * stride + 2 * c + h * p.head_size;
          for (Index d = 0; d < p.head_size; ++d) {
            result.out[static_cast<std::size_t>(row * c + h * p.head_size + d)] += weight * v[d];
          }
        }
      }
    }
  }
  return result;
}

std::vector<double> columns(const std::vector<double>& rows, Index stride, Index count) {
  std::vector<double> result;
  for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(stride)) {
    const auto from = rows.begin() + static_cast<std::ptrdiff_t>(at);
    result.insert(result.end(), from, from + count);
  }
  return result;
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

class AttentionForwardTest : public CudaTest {
 protected:
  void check(const AttentionProblem& p, const Kind& kind, double deviation = 1.0) {
    SCOPED_TRACE(kind.name);
    const std::vector<double> qkv = make_input(p, kind, deviation);
    const Forward got = run(p, qkv, kind, stream());
    const Expected expected = from_definition(p, qkv);
    const Index c = p.width();
    const std::vector<double> out = columns(got.out, c + output_gap, c);
    EXPECT_LT(largest_error(out, expected.out), kind.tolerance * largest_of(expected.out));
    std::vector<double> got_log, expected_log;
    for (std::size_t i = 0; i < expected.log_sum_exp.size(); ++i) {
      if (std::isinf(expected.log_sum_exp[i])) {
        ASSERT_EQ(got.log_sum_exp[i], std::numeric_limits<float>::infinity())
            << "row that sees nothing: " << i;
      } else {
        got_log.push_back(static_cast<double>(got.log_sum_exp[i]));
        expected_log.push_back(expected.log_sum_exp[i]);
      }
    }
    EXPECT_LT(largest_error(got_log, expected_log),
              kind.log_tolerance * std::max(1.0, largest_of(expected_log)));
    const std::vector<bool> padded = padded_queries(p);
    for (Index t = 0; t < p.tokens(); ++t) {
      for (Index i = 0; i < c + output_gap; ++i) {
        const double value = got.out[static_cast<std::size_t>(t * (c + output_gap) + i)];
        if (i >= c) {
          ASSERT_EQ(value, poison) << "written between rows";
        } else if (padded[static_cast<std::size_t>(t)]) {
          ASSERT_EQ(value, 0.0) << "padded row " << t;
        }
      }
    }
  }
};

TEST_F(AttentionForwardTest, EqualsTheDenseOracleOfTheReference) {
  AttentionProblem p{2, 32, 16, {}};
  p.add(random_plan(2, 5, 1), 75);
  p.add(random_plan(2, 4, 2), 20);  // blocks of padding alone
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    const std::vector<double> qkv = make_input(p, kind);
    const std::vector<double> known = without_nan(qkv);
    const Index c = p.width(), stride = 3 * c + input_gap;
    std::vector<double> expected(static_cast<std::size_t>(p.tokens() * c));
    for (std::size_t s = 0; s < p.sequences.size(); ++s) {
      p.put_sequence(reference::attention_dense_forward(
                         p.reference_shape(s), p.sequences[s].plan->lists, p.of_sequence(known, stride, 0, s),
                         p.of_sequence(known, stride, c, s), p.of_sequence(known, stride, 2 * c, s)),
                     expected, s);
    }
    const Forward got = run(p, qkv, kind, stream());
    EXPECT_LT(largest_error(columns(got.out, c + output_gap, c), expected),
              kind.tolerance * largest_of(expected));
  }
}

TEST_F(AttentionForwardTest, SmallTilesOfEveryHeadSize) {
  for (const Index head_size : {32, 64, 128}) {
    SCOPED_TRACE(head_size);
    AttentionProblem p{2, head_size, 16, {}};
    p.add(random_plan(2, 5, 3), 75);
    for (const Kind& kind : kinds) check(p, kind);
  }
}

TEST_F(AttentionForwardTest, LargeTilesOfEveryHeadSize) {
  for (const Index head_size : {32, 64, 128}) {
    SCOPED_TRACE(head_size);
    AttentionProblem p{1, head_size, 64, {}};
    p.add({{{2, 0, 1}, {2, 2, 0}, {1}}}, 3 * 64 - 27);
    for (const Kind& kind : kinds) check(p, kind);
  }
}

TEST_F(AttentionForwardTest, BlocksOfSeveralTiles) {
  AttentionProblem small{1, 32, 48, {}};
  small.add(random_plan(1, 4, 5), 4 * 48 - 20);
  AttentionProblem large{1, 32, 128, {}};
  large.add({{{0, 1}, {1, 0, 1}}}, 128 + 69);
  for (const Kind& kind : kinds) {
    check(small, kind);
    check(large, kind);
  }
}

TEST_F(AttentionForwardTest, RaggedBatchWithPaddingThatAsks) {
  AttentionProblem p{2, 32, 16, {}};
  p.add(random_plan(2, 4, 7), 64);
  p.add(every_block(2, 6), 37, 6 * 16 - 1);
  p.add(random_plan(2, 7, 8), 97);
  p.add(every_block(2, 4), 1);
  for (const Kind& kind : kinds) check(p, kind);
}

TEST_F(AttentionForwardTest, GlobalRowsAreCutAndPutTogether) {
  AttentionProblem p{1, 32, 16, {}};
  p.add(random_plan(1, 28, 9), 28 * 16 - 9);
  p.add(random_plan(1, 26, 10), 5 * 16 + 3);  // pieces without a key, and a last row of padding
  ASSERT_FALSE(AttentionSchedule(p.sequences[0].plan->view, 16).by_query.cuts.empty());
  ASSERT_FALSE(AttentionSchedule(p.sequences[1].plan->view, 16).by_query.cuts.empty());
  for (const Kind& kind : kinds) check(p, kind);

  AttentionProblem large{1, 32, 64, {}};
  reference::AttentionPlan lists = every_block(1, 17);
  for (std::size_t row = 1; row < 17; ++row) lists[0][row] = {row};
  large.add(lists, 17 * 64 - 30);
  ASSERT_EQ(AttentionSchedule(large.sequences[0].plan->view, 64).by_query.slots, 2);
  check(large, kinds[0]);
}

TEST_F(AttentionForwardTest, RepeatsCountAndRowsWithoutKeysAreZero) {
  reference::AttentionPlan lists = every_block(1, 6);
  lists[0][1] = {0, 0, 0, 3, 0};  // Hugging Face in evaluation: block 0 three more times
  lists[0][2] = {4, 5, 5};        // padding alone
  lists[0][3] = {};
  AttentionProblem p{1, 64, 16, {}};
  p.add(lists, 60);
  for (const Kind& kind : kinds) check(p, kind);
}

TEST_F(AttentionForwardTest, DropsTheProbabilitiesOfTheMask) {
  AttentionProblem small{2, 32, 16, {}};
  small.add(every_block(2, 4), 49);
  small.add(every_block(2, 4), 64);
  small.drop_probability = 0.3f;
  AttentionProblem large{1, 64, 64, {}};
  large.add(every_block(1, 2), 2 * 64 - 30);
  large.drop_probability = 0.1f;
  // A plan from a file may cut rows in full attention's place.
  AttentionProblem cut{1, 32, 16, {}};
  cut.add(random_plan(1, 20, 12), 20 * 16 - 3);
  cut.drop_probability = 0.5f;
  for (const Kind& kind : kinds) {
    check(small, kind);
    check(large, kind);
    check(cut, kind);
  }
}

TEST_F(AttentionForwardTest, LargeScoresStayFiniteAndRight) {
  AttentionProblem p{1, 32, 16, {}};
  p.add(random_plan(1, 5, 13), 70);
  // Scores in the hundreds: errors of the inputs' last bit grow with them, so fp32 alone is compared.
  const Kind& fp32 = kinds[2];
  const std::vector<double> qkv = make_input(p, fp32, 12.0);
  const Forward got = run(p, qkv, fp32, stream());
  const Expected expected = from_definition(p, qkv);
  EXPECT_LT(largest_error(columns(got.out, p.width() + output_gap, p.width()), expected.out),
            2e-4 * largest_of(expected.out));
}

TEST_F(AttentionForwardTest, NaNIsNotHidden) {
  AttentionProblem p{1, 32, 16, {}};
  p.add(random_plan(1, 20, 20), 320);
  const Index c = p.width(), stride = 3 * c + input_gap, row = 100, cut_row = 2;
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    std::vector<double> qkv = without_nan(make_input(p, kind));
    qkv[static_cast<std::size_t>(row * stride)] = NAN;
    qkv[static_cast<std::size_t>(cut_row * stride)] = NAN;
    const Forward got = run(p, qkv, kind, stream());
    for (Index t = 0; t < p.tokens(); ++t) {
      const bool expected = t == row || t == cut_row;
      ASSERT_EQ(std::isnan(got.out[static_cast<std::size_t>(t * (c + output_gap) + 5)]), expected) << t;
    }
  }
}

TEST_F(AttentionForwardTest, EqualsTheCpuBackend) {
  AttentionProblem p{2, 64, 64, {}};
  p.add({{{0, 1}, {1, 0, 0}}, {{1}, {0, 1}}}, 2 * 64 - 11);
  const Kind& fp32 = kinds[2];
  const std::vector<double> qkv = make_input(p, fp32);
  const Forward got = run(p, qkv, fp32, stream());
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const std::vector<float> input = rounded<float>(qkv);
  const Index c = p.width(), stride = 3 * c + input_gap;
  std::vector<float> out(static_cast<std::size_t>(p.tokens() * c)),
      log_sum_exp(static_cast<std::size_t>(p.heads * p.tokens()));
  const DeviceAttention device(p, stream(), false);  // for its batch
  cpu->attention_forward(device.batch(),
                         {{input.data(), stride}, {input.data() + c, stride}, {input.data() + 2 * c, stride}},
                         {out.data(), c}, log_sum_exp.data());
  // 8.3e-7 where the emulated tensor cores round, 1.6e-6 where they truncate.
  EXPECT_LT(largest_error(columns(got.out, c + output_gap, c), widened(out)), 5e-6);
  for (Index h = 0; h < p.heads; ++h) {
    for (Index t = 0; t < p.sequences[0].length; ++t) {
      const auto at = static_cast<std::size_t>(h * p.tokens() + t);
      ASSERT_NEAR(got.log_sum_exp[at], log_sum_exp[at], 1e-5);
    }
  }
}

TEST_F(AttentionForwardTest, LogSumExpNeedNotBeKept) {
  AttentionProblem p{1, 32, 16, {}};
  p.add(random_plan(1, 20, 18), 311);
  const std::vector<double> qkv = make_input(p, kinds[0]);
  const Forward without = run(p, qkv, kinds[0], stream(), false);
  EXPECT_EQ(run(p, qkv, kinds[0], stream()).out, without.out);
  for (const float untouched : without.log_sum_exp) ASSERT_TRUE(std::isnan(untouched));
}

TEST_F(AttentionForwardTest, ASequenceDoesNotDependOnItsCompany) {
  AttentionProblem alone{2, 32, 16, {}};
  alone.add(random_plan(2, 20, 15), 300);
  AttentionProblem together{2, 32, 16, {}};
  together.add(random_plan(2, 5, 16), 70);
  together.sequences.push_back(alone.sequences[0]);
  together.add(every_block(2, 4), 64);
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    const Index c = alone.width(), stride = 3 * c + input_gap, first = together.offsets()[1];
    const std::vector<double> one = make_input(alone, kind);
    std::vector<double> all = make_input(together, kind);
    std::copy(one.begin(), one.end(), all.begin() + first * stride);
    const Forward single = run(alone, one, kind, stream());
    const Forward batch = run(together, all, kind, stream());
    const auto from = batch.out.begin() + first * (c + output_gap);
    EXPECT_EQ(std::vector<double>(from, from + alone.tokens() * (c + output_gap)), single.out);
    for (Index h = 0; h < alone.heads; ++h) {
      for (Index t = 0; t < alone.tokens(); ++t) {
        ASSERT_EQ(batch.log_sum_exp[static_cast<std::size_t>(h * together.tokens() + first + t)],
                  single.log_sum_exp[static_cast<std::size_t>(h * alone.tokens() + t)]);
      }
    }
  }
}

// The first blocks have cut lists and whole ones; what nobody wants is not even written.
TEST_F(AttentionForwardTest, WantedBlocksAreThoseOfAllAndTheOthersStay) {
  AttentionProblem small{1, 32, 16, {}};
  small.add(random_plan(1, 28, 9), 28 * 16 - 9);
  small.add(random_plan(1, 5, 10), 60);
  ASSERT_FALSE(AttentionSchedule(small.sequences[0].plan->view, 16).by_query.cuts.empty());
  AttentionProblem large{2, 64, 64, {}};
  large.add(random_plan(2, 5, 11), 5 * 64 - 30);
  for (const AttentionProblem& p : {small, large}) {
    for (const Kind& kind : {kinds[0], kinds[2]}) {
      for (const Index wanted : {1, 2}) {
        SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(wanted));
        const std::vector<double> qkv = make_input(p, kind);
        const Forward all = run(p, qkv, kind, stream());
        const Forward some = run(p, qkv, kind, stream(), true, wanted);
        const Index stride = p.width() + output_gap;
        const std::vector<Index> offsets = p.offsets();
        for (std::size_t s = 0; s < p.sequences.size(); ++s) {
          for (Index t = 0; t < p.rows_of(s); ++t) {
            const auto at = static_cast<std::size_t>((offsets[s] + t) * stride);
            const double expected = t < wanted * p.block_size ? all.out[at] : poison;
            ASSERT_EQ(some.out[at], expected) << "sequence " << s << ", row " << t;
          }
        }
      }
    }
  }
}

TEST_F(AttentionForwardTest, RecordedLaunchesRunWithOtherLengths) {
  AttentionProblem p{1, 32, 16, {}};
  p.add(random_plan(1, 20, 17), 320);
  p.add(random_plan(1, 5, 19), 61);
  AttentionProblem other = p;
  other.sequences[0].length = other.sequences[0].query_length = 101;
  other.sequences[1].length = other.sequences[1].query_length = 80;
  const std::vector<double> qkv = without_nan(make_input(other, kinds[2]));
  const Forward expected = run(other, qkv, kinds[2], stream());

  const Index c = p.width(), stride = 3 * c + input_gap;
  const DeviceBuffer<float> input(rounded<float>(qkv), stream());
  const DeviceBuffer<float> out(p.tokens() * c, stream()), log_sum_exp(p.heads * p.tokens(), stream());
  DeviceAttention device(p, stream(), false);
  begin_recording(stream());
  attention_forward(device.call(FloatProducts::fp32),
                    {{input.data(), stride}, {input.data() + c, stride}, {input.data() + 2 * c, stride}},
                    {out.data(), c}, log_sum_exp.data());
  const Graph graph = end_recording(stream());
  device.change_lengths({101, 80});
  cuda::run(graph, stream());
  EXPECT_EQ(widened(out.download()), columns(expected.out, c + output_gap, c));
  EXPECT_EQ(log_sum_exp.download(), expected.log_sum_exp);
  destroy(graph);
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
