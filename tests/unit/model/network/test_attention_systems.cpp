// Systems whose plans are of the tokens alone, computed: attention of a plan against a dense softmax over the
// pairs that its formula names, padding that changes nothing, and what a recorded pass is known by.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/plans/patterns.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

using SeesToken = std::function<bool(std::int64_t head, std::int64_t query, std::int64_t key)>;

struct DenseCase {
  std::int64_t heads = 4, head_size = 6, block_size = 4, tokens = 0;
  bool causal = false;
};

std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> values;
  CounterRng rng(seed, Purpose::test, count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(rng.normal()));
  return values;
}

// softmax(q k^T / sqrt(D)) v over the keys that are seen, token by token in double: [T, C].
std::vector<double> dense_attention(const DenseCase& of, const std::vector<float>& qkv,
                                    const SeesToken& sees) {
  const std::int64_t width = of.heads * of.head_size;
  const auto value = [&](std::int64_t row, std::int64_t part, std::int64_t head, std::int64_t d) {
    return static_cast<double>(
        qkv[static_cast<std::size_t>(row * 3 * width + part * width + head * of.head_size + d)]);
  };
  std::vector<double> out(static_cast<std::size_t>(of.tokens * width), 0.0);
  for (std::int64_t head = 0; head < of.heads; ++head) {
    for (std::int64_t i = 0; i < of.tokens; ++i) {
      double total = 0;
      double* const row = out.data() + i * width + head * of.head_size;
      for (std::int64_t j = 0; j < of.tokens; ++j) {
        if (!sees(head, i, j)) continue;
        double score = 0;
        for (std::int64_t d = 0; d < of.head_size; ++d) score += value(i, 0, head, d) * value(j, 1, head, d);
        const double weight = std::exp(score / std::sqrt(static_cast<double>(of.head_size)));
        total += weight;
        for (std::int64_t d = 0; d < of.head_size; ++d) row[d] += weight * value(j, 2, head, d);
      }
      EXPECT_GT(total, 0.0) << "token " << i << " has no key";
      for (std::int64_t d = 0; d < of.head_size; ++d) row[d] /= total;
    }
  }
  return out;
}

// The kernel's output of the plan [T padded, C], of which dense_attention() has the first rows.
std::vector<float> planned_attention(const DenseCase& of, const std::vector<float>& qkv,
                                     const BlockPlan& plan) {
  const auto backend = kernels::make_cpu_backend();
  const std::int64_t width = of.heads * of.head_size, rows = plan.view().blocks * of.block_size;
  const std::int64_t offsets[] = {0, rows};
  const kernels::BlockPlanView* const plans[] = {&plan.view()};
  kernels::AttentionBatch batch;
  batch.sequences = 1;
  batch.heads = of.heads;
  batch.head_size = of.head_size;
  batch.block_size = of.block_size;
  batch.token_offsets = offsets;
  batch.lengths = &of.tokens;
  batch.plans = plans;
  batch.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(of.head_size)));
  batch.causal = of.causal;
  backend->prepare_attention(batch);
  std::vector<float> padded = qkv, out(static_cast<std::size_t>(rows * width));
  padded.resize(static_cast<std::size_t>(rows * 3 * width), 3.0f);
  const float* const from = padded.data();
  backend->attention_forward(batch,
                             {{from, 3 * width}, {from + width, 3 * width}, {from + 2 * width, 3 * width}},
                             {out.data(), width}, nullptr);
  return out;
}

void expect_dense(const DenseCase& of, const BlockPlan& plan, const SeesToken& sees) {
  const std::vector<float> qkv =
      random_values(static_cast<std::size_t>(of.tokens * 3 * of.heads * of.head_size), 7);
  const std::vector<double> expected = dense_attention(of, qkv, sees);
  const std::vector<float> actual = planned_attention(of, qkv, plan);
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(actual[i]) - expected[i]));
  EXPECT_LT(worst, 2e-6) << of.tokens << " tokens";
  for (std::size_t i = expected.size(); i < actual.size(); ++i) EXPECT_EQ(actual[i], 0.0f);
}

ModelConfig system_config(AttentionPattern attention, const DenseCase& of = {}) {
  ModelConfig config = tiny_config();
  config.attention = attention;
  config.num_attention_heads = of.heads;
  config.hidden_size = of.heads * of.head_size;
  config.block_size = of.block_size;
  config.attention_options.sparse.stride = 3 * of.block_size;
  config.attention_options.longformer = {
      .windows = {6}, .global_first = 3, .dilations = {2}, .dilated_heads = 1};
  return config;
}

// The values of the tensors that a model has, out of those of another: names are what counts.
std::vector<float> values_by_name(const ModelConfig& config, const ModelConfig& from,
                                  const std::vector<float>& values) {
  const ParameterLayout layout(config), source(from);
  std::vector<float> taken(static_cast<std::size_t>(layout.count()));
  for (const TensorSpec& spec : layout.tensors())
    std::copy_n(values.begin() + source.offset(spec.name), spec.count, taken.begin() + spec.offset);
  return taken;
}

// Hidden states of sequences of these lengths, and the gradients of their loss.
struct Computed {
  std::vector<float> states, gradients;
};
Computed computed(const ModelConfig& config, const std::vector<std::int64_t>& lengths,
                  const std::vector<float>& parameters) {
  const auto backend = kernels::make_cpu_backend();
  const Batch batch = random_batch(config, lengths, 3);
  const std::unique_ptr<Model> model = make_model(*backend, config, batch, {.training = true}, parameters);
  const ForwardResult forward = model->forward(batch, {});
  Computed result{model->last_hidden_state(), {}};
  model->backward(mean_scale(forward));
  result.gradients = model->host_gradients();
  return result;
}

// Without global tokens, and with windows as wide as the sequences, every token sees all.
TEST(Longformer, L3AWindowOfAllIsFullAttention) {
  ModelConfig config = system_config(AttentionPattern::longformer), full = config;
  config.attention_options.longformer = {.windows = {2 * 48}};
  full.attention = AttentionPattern::full;
  const std::vector<float> parameters = random_parameters(config, 4);
  const Computed windowed = computed(config, {48, 31}, parameters);
  const Computed dense = computed(full, {48, 31}, values_by_name(full, config, parameters));
  double worst = 0;
  for (std::size_t i = 0; i < dense.states.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(windowed.states[i] - dense.states[i])));
  EXPECT_LT(worst, 2e-6);
  const std::vector<float> gradients = values_by_name(full, config, windowed.gradients);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    difference += std::pow(static_cast<double>(gradients[i] - dense.gradients[i]), 2);
    norm += std::pow(static_cast<double>(dense.gradients[i]), 2);
  }
  EXPECT_GT(norm, 0.0);
  EXPECT_LT(std::sqrt(difference / norm), 1e-5);
}

TEST(Longformer, G5ThreadsChangeNoBit) {
  const ModelConfig config = system_config(AttentionPattern::longformer);
  const std::vector<float> parameters = random_parameters(config, 4);
  std::vector<Computed> all;
  for (const int threads : {1, 2, 4}) {
    kernels::set_thread_count(threads);
    all.push_back(computed(config, {48, 2, 31}, parameters));
  }
  kernels::set_thread_count(0);
  for (const Computed& other : all) {
    EXPECT_EQ(all[0].states, other.states);
    EXPECT_EQ(all[0].gradients, other.gradients);
  }
}

TEST(Longformer, WindowsThatNoLayerCanUseAreRefused) {
  const auto refusal = [](std::vector<std::int64_t> windows, std::int64_t globals) {
    ModelConfig config = system_config(AttentionPattern::longformer);
    config.attention_options.longformer = {.windows = std::move(windows), .global_first = globals};
    try {
      check_attention(config, "config.json");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_EQ(refusal({6}, 3), "");
  EXPECT_EQ(refusal({7}, 3), "config.json: a window of 7 has no two halves");
  EXPECT_NE(refusal({6, 6, 6}, 3).find("window names 3 windows for"), std::string::npos);
  EXPECT_NE(refusal({6}, 1 << 20).find("1048576 global tokens of at most"), std::string::npos);
}

const BlockPlan& plan_of(PlanCache& plans, const DenseCase& of) {
  return plans.plan(0, (of.tokens + of.block_size - 1) / of.block_size, of.tokens);
}

// S2's formula, 1-based: the part of token i of N is floor((i - 1) n / N + 1), and a query of part I sees the
// keys of part (I + s) modulo n. N is a multiple of n b.
TEST(BlockBert, B1AgainstTheDenseMask) {
  for (const std::int64_t parts : {2, 3, 4}) {
    ModelConfig config = system_config(AttentionPattern::blockbert);
    config.attention_options.blockbert = {parts,
                                          std::vector<std::int64_t>(static_cast<std::size_t>(parts), 1)};
    const std::vector<std::int64_t> heads = blockbert_heads(config);
    PlanCache plans(config);
    for (const std::int64_t tokens : {parts * 4, parts * 8, parts * 12 - 3}) {
      const std::int64_t unit = parts * config.block_size, all = (tokens + unit - 1) / unit * unit;
      const auto part = [&](std::int64_t token) { return token * parts / all; };
      const auto shift = [&](std::int64_t head) {
        std::int64_t s = 0;
        for (std::int64_t before = heads[0]; head >= before; before += heads[static_cast<std::size_t>(s)])
          ++s;
        return s;
      };
      const DenseCase of{.tokens = tokens};
      expect_dense(of, plan_of(plans, of), [&](std::int64_t head, std::int64_t i, std::int64_t j) {
        return part(j) == (part(i) + shift(head)) % parts;
      });
    }
  }
}

TEST(BlockBert, B2OnePartIsFullAttentionInBits) {
  ModelConfig config = system_config(AttentionPattern::blockbert);
  config.attention_options.blockbert.parts = 1;
  PlanCache plans(config);
  config.attention = AttentionPattern::full;
  PlanCache full(config);
  const DenseCase of{.tokens = 45};
  const std::vector<float> qkv = random_values(45 * 3 * 24, 3);
  EXPECT_EQ(planned_attention(of, qkv, plan_of(plans, of)), planned_attention(of, qkv, plan_of(full, of)));
}

TEST(BlockBert, B3NoPaddingIsAKeyAtAnyLength) {
  for (const std::int64_t parts : {2, 3}) {
    ModelConfig config = system_config(AttentionPattern::blockbert);
    config.attention_options.blockbert = {parts, {2, 2}};
    PlanCache plans(config);
    for (std::int64_t tokens = 1; tokens <= 3 * parts * config.block_size; ++tokens) {
      const DenseCase of{.tokens = tokens};
      const std::int64_t blocks = (tokens + 3) / 4, size = (blocks + parts - 1) / parts * 4;
      const std::int64_t present = (tokens + size - 1) / size;
      expect_dense(of, plan_of(plans, of), [&](std::int64_t head, std::int64_t i, std::int64_t j) {
        return blocks < parts || j / size == (i / size + (head < 2 ? 0 : 1)) % present;
      });
    }
  }
}

TEST(Star, AgainstTheDenseMask) {
  PlanCache plans(system_config(AttentionPattern::star));
  for (const std::int64_t tokens : {1, 4, 5, 30, 64}) {
    const DenseCase of{.tokens = tokens};
    expect_dense(of, plan_of(plans, of), [](std::int64_t, std::int64_t i, std::int64_t j) {
      return i < 4 || j < 4 || i / 4 == j / 4;
    });
  }
}

TEST(SparseTransformer, FixedAgainstTheDenseMask) {
  for (const std::int64_t patterns : {1, 2}) {
    ModelConfig config = system_config(AttentionPattern::sparse_fixed);
    config.attention_options.sparse.summary_patterns = patterns;
    PlanCache plans(config);
    for (const std::int64_t tokens : {1, 12, 13, 24, 41}) {
      const DenseCase of{.tokens = tokens};
      expect_dense(of, plan_of(plans, of), [&](std::int64_t head, std::int64_t i, std::int64_t j) {
        const std::int64_t last = 12 - head % patterns * 4;
        return tokens <= 12 || i / 12 == j / 12 || (j % 12 >= last - 4 && j % 12 < last);
      });
    }
  }
}

TEST(SparseTransformer, S5FixedSeesNothingLaterWhenCausal) {
  const DenseCase of{.tokens = 41, .causal = true};
  const BlockPlan plan(sparse_fixed_causal_rows({3, 1, 2}, 11, of.heads, 0));
  expect_dense(of, plan, [](std::int64_t head, std::int64_t i, std::int64_t j) {
    const std::int64_t last = 12 - head % 2 * 4;
    return j <= i && (i / 12 == j / 12 || (j % 12 >= last - 4 && j % 12 < last));
  });
  const std::size_t width = 24;
  std::vector<float> qkv = random_values(41 * 3 * width, 5);
  const std::vector<float> before = planned_attention(of, qkv, plan);
  for (std::size_t i = 20 * 3 * width; i < 21 * 3 * width; ++i) qkv[i] += 1.0f;
  const std::vector<float> after = planned_attention(of, qkv, plan);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 20 * width, after.begin()));
  EXPECT_NE(before, after);
}

class SystemsByOwnLength : public ::testing::TestWithParam<AttentionPattern> {};

// G4: more padding, and other sequences in the batch, leave the bits of a sequence as they are.
TEST_P(SystemsByOwnLength, G4PaddingChangesNothing) {
  for (const HeadsAs heads_as : {HeadsAs::merged, HeadsAs::split, HeadsAs::layers}) {
    ModelConfig config = system_config(GetParam());
    config.attention_options.sparse.heads_as = heads_as;
    config.attention_options.blockbert.parts = 3;
    const std::vector<float> parameters = random_parameters(config, 4);
    const auto backend = kernels::make_cpu_backend();
    const auto states_of = [&](const std::vector<std::int64_t>& lengths, std::int64_t pad_to) {
      const Batch drawn = random_batch(config, lengths, 3);
      Batch batch;
      for (std::size_t s = 0; s < lengths.size(); ++s) {
        const auto begin = drawn.ids.begin() + drawn.token_offsets[s];
        batch.append({begin, begin + lengths[s]}, {}, config.block_size,
                     static_cast<std::int32_t>(config.pad_token_id), pad_to);
      }
      const std::unique_ptr<Model> model = make_model(*backend, config, batch, {}, parameters);
      model->forward(batch, {});
      const auto all = model->last_hidden_state();
      return std::vector<float>(all.begin(), all.begin() + lengths[0] * config.hidden_size);
    };
    for (const std::int64_t length : {5, 13, 30}) {
      const std::vector<float> alone = states_of({length}, 0);
      EXPECT_EQ(alone, states_of({length}, 48)) << length;
      EXPECT_EQ(alone, states_of({length, 64, 9}, 64)) << length;
    }
  }
}

// A device plays a recorded pass again: one of other lists must have another key.
TEST_P(SystemsByOwnLength, PassesOfOtherListsHaveOtherKeys) {
  const ModelConfig config = system_config(GetParam());
  const auto backend = kernels::make_cpu_backend();
  const std::vector<std::vector<AttentionRun>> runs;
  const auto key = [&](std::int64_t length) {
    Batch batch = random_batch(config, {64}, 1);
    batch.lengths = {length};
    return pass_key({*backend, config, batch, runs, 0, false, nullptr}, 1, Phase::forward);
  };
  EXPECT_EQ(key(61), key(64));
  EXPECT_NE(key(60), key(64));
}

INSTANTIATE_TEST_SUITE_P(All, SystemsByOwnLength,
                         ::testing::Values(AttentionPattern::star, AttentionPattern::blockbert,
                                           AttentionPattern::sparse_fixed, AttentionPattern::sparse_strided,
                                           AttentionPattern::longformer),
                         [](const auto& test) {
                           std::string name = name_of(test.param);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace bigbird
