// Systems that decide by tokens, computed: windows, dilated windows and strides as residue classes against a
// brute-force plan of blocks of one token, which lists pair by pair what the formula says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/parallel.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/residue_classes.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model/plans/token_pairs.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

using SeesInLayer =
    std::function<bool(std::int64_t layer, std::int64_t head, std::int64_t query, std::int64_t key)>;

ModelConfig token_config(AttentionPattern attention, std::int64_t heads = 4) {
  ModelConfig config = tiny_config();
  config.attention = attention;
  config.num_attention_heads = heads;
  config.num_hidden_layers = 2;
  return config;
}

// The same model with its pairs written down one by one.
ModelConfig listed_config(const ModelConfig& config, const SeesInLayer& sees) {
  const std::int64_t tokens = config.max_position_embeddings;
  std::vector<PlanTable::Heads> layers;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    PlanTable::Heads heads;
    for (std::int64_t head = 0; head < config.num_attention_heads; ++head) {
      PlanTable::Rows& rows = heads.emplace_back();
      for (std::int64_t i = 0; i < tokens; ++i) {
        std::vector<std::int32_t>& keys = rows.emplace_back();
        for (std::int64_t j = 0; j < tokens; ++j) {
          if (sees(layer, head, i, j)) keys.push_back(static_cast<std::int32_t>(j));
        }
      }
    }
    layers.push_back(std::move(heads));
  }
  ModelConfig listed = config;
  listed.attention = AttentionPattern::bigbird;
  listed.attention_options = {};
  listed.block_size = 1;
  listed.num_random_blocks = 0;
  listed.random_mode = RandomMode::file;
  listed.plan = std::make_shared<const PlanTable>(1, std::move(layers), "the mask");
  return listed;
}

// The tensor of a layer's local tokens that stands for one of global tokens, and any other for itself.
std::string local_name(std::string name) {
  const std::size_t at = name.find("_global");
  return at == std::string::npos ? name : name.erase(at, std::string("_global").size());
}

// Parameters of `config` out of those of `from`, with global projections equal to the local ones.
std::vector<float> parameters_as(const ModelConfig& config, const ModelConfig& from,
                                 const std::vector<float>& values) {
  const ParameterLayout layout(config), source(from);
  std::vector<float> taken(static_cast<std::size_t>(layout.count()));
  for (const TensorSpec& spec : layout.tensors())
    std::copy_n(values.begin() + source.offset(local_name(spec.name)), spec.count,
                taken.begin() + spec.offset);
  return taken;
}
// Gradients of `config` added up in the names of `to`.
std::vector<float> gradients_as(const ModelConfig& config, const ModelConfig& to,
                                const std::vector<float>& values) {
  const ParameterLayout layout(config), sums(to);
  std::vector<float> taken(static_cast<std::size_t>(sums.count()), 0.0f);
  for (const TensorSpec& spec : layout.tensors()) {
    const std::int64_t offset = sums.offset(local_name(spec.name));
    for (std::int64_t i = 0; i < spec.count; ++i)
      taken[static_cast<std::size_t>(offset + i)] += values[static_cast<std::size_t>(spec.offset + i)];
  }
  return taken;
}

struct OfTokens {
  std::vector<float> states;  // of real tokens
  std::vector<float> gradients;
};
OfTokens computed_tokens(const ModelConfig& config, const std::vector<std::int64_t>& lengths,
                         const std::vector<float>& parameters, bool training = true,
                         kernels::Precision precision = kernels::Precision::fp32) {
  const auto backend = kernels::make_cpu_backend(precision);
  const Batch batch = random_batch(config, lengths, 3);
  const std::unique_ptr<Model> model =
      make_model(*backend, config, batch, {.training = training}, parameters);
  const ForwardResult forward = model->forward(batch, {});
  OfTokens result;
  const std::vector<float> states = model->last_hidden_state();
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const auto first = states.begin() + batch.token_offsets[s] * config.hidden_size;
    result.states.insert(result.states.end(), first, first + lengths[s] * config.hidden_size);
  }
  if (!training) return result;
  model->backward(mean_scale(forward));
  result.gradients = model->host_gradients();
  return result;
}

void expect_listed(const ModelConfig& config, const SeesInLayer& sees,
                   const std::vector<std::int64_t>& lengths) {
  const ModelConfig listed = listed_config(config, sees);
  const std::vector<float> parameters = random_parameters(listed, 4);
  const std::vector<float> own = parameters_as(config, listed, parameters);
  const OfTokens expected = computed_tokens(listed, lengths, parameters);
  const OfTokens actual = computed_tokens(config, lengths, own);
  // Of the largest of all states, after two layers.
  const std::vector<double> states(expected.states.begin(), expected.states.end());
  EXPECT_LT(relative_error(actual.states.data(), states), 2e-6) << attention_options_text(config);
  double difference = 0, norm = 0;
  const std::vector<float> gradients = gradients_as(config, listed, actual.gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    difference += std::pow(static_cast<double>(gradients[i] - expected.gradients[i]), 2);
    norm += std::pow(static_cast<double>(expected.gradients[i]), 2);
  }
  EXPECT_GT(norm, 0.0);
  EXPECT_LT(std::sqrt(difference / norm), 1e-5) << attention_options_text(config);
  // Without anything kept for a way back.
  const std::vector<float> inferred = computed_tokens(config, lengths, own, false).states;
  EXPECT_LT(relative_error(inferred.data(), states), 2e-6) << attention_options_text(config);
}

const std::vector<std::int64_t> ragged_lengths{37, 9, 64, 1, 30};

TEST(Longformer, L4DilationIsResidueClassesIsBruteForce) {
  for (const std::int64_t globals : {0, 1, 6}) {
    for (const std::int64_t dilated : {1, 2, 4}) {
      ModelConfig config = token_config(AttentionPattern::longformer);
      LongformerOptions& options = config.attention_options.longformer;
      options = {.windows = {6, 10}, .global_first = globals, .dilations = {2, 5}, .dilated_heads = dilated};
      expect_listed(
          config,
          [&](std::int64_t layer, std::int64_t head, std::int64_t i, std::int64_t j) {
            const auto of = static_cast<std::size_t>(layer);
            const std::int64_t m = head >= 4 - dilated ? options.dilations[of] : 1;
            return i < globals || j < globals ||
                   ((i - j) % m == 0 && std::abs(i - j) <= m * options.windows[of] / 2);
          },
          ragged_lengths);
    }
  }
}

// Queries and keys of global tokens are turned by their positions too.
TEST(Longformer, RotaryPositionsAreOfGlobalTokensToo) {
  for (const std::int64_t globals : {0, 6}) {
    ModelConfig config = token_config(AttentionPattern::longformer);
    config.position_type = PositionType::rotary;
    config.rotary_dim = config.head_size();
    config.attention_options.longformer = {.windows = {6}, .global_first = globals};
    expect_listed(
        config,
        [&](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
          return i < globals || j < globals || std::abs(i - j) <= 3;
        },
        ragged_lengths);
  }
}

TEST(SparseTransformer, S3StridedAgainstTheMask) {
  for (const HeadsAs heads_as : {HeadsAs::merged, HeadsAs::split, HeadsAs::layers}) {
    for (const std::int64_t stride : {2, 7, 8, 33}) {
      ModelConfig config = token_config(AttentionPattern::sparse_strided, 3);
      config.attention_options.sparse.stride = stride;
      config.attention_options.sparse.heads_as = heads_as;
      expect_listed(
          config,
          [&](std::int64_t layer, std::int64_t head, std::int64_t i, std::int64_t j) {
            const bool band = std::abs(i - j) < stride, strided = (i - j) % stride == 0;
            if (heads_as == HeadsAs::merged) return band || strided;
            return (heads_as == HeadsAs::split ? head < 2 : layer % 2 == 0) ? band : strided;
          },
          ragged_lengths);
    }
  }
}

TEST(SparseTransformer, G5ThreadsChangeNoBit) {
  ModelConfig config = token_config(AttentionPattern::sparse_strided);
  config.attention_options.sparse.stride = 7;
  const std::vector<float> parameters = random_parameters(config, 4);
  std::vector<OfTokens> all;
  for (const int threads : {1, 2, 4}) {
    kernels::set_thread_count(threads);
    all.push_back(computed_tokens(config, ragged_lengths, parameters));
  }
  kernels::set_thread_count(0);
  for (const OfTokens& other : all) {
    EXPECT_EQ(all[0].states, other.states);
    EXPECT_EQ(all[0].gradients, other.gradients);
  }
}

double apart(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i] - b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

// What is gathered is then half as wide, but for the sums.
TEST(ResidueClasses, InBf16TheyComputeTheSameUpToItsDigits) {
  ModelConfig strided = token_config(AttentionPattern::sparse_strided);
  strided.attention_options.sparse.stride = 7;
  ModelConfig dilated = token_config(AttentionPattern::longformer);
  dilated.attention_options.longformer = {
      .windows = {6}, .global_first = 2, .dilations = {3}, .dilated_heads = 2};
  for (const ModelConfig& config : {strided, dilated}) {
    const std::vector<float> parameters = random_parameters(config, 4);
    const OfTokens full = computed_tokens(config, ragged_lengths, parameters);
    const OfTokens half = computed_tokens(config, ragged_lengths, parameters, true, kernels::Precision::bf16);
    EXPECT_LT(apart(half.states, full.states), 0.02);
    EXPECT_LT(apart(half.gradients, full.gradients), 0.05);
    EXPECT_GT(apart(half.gradients, full.gradients), 0.0);
  }
}

// One call's pairs by the plan and the rule that it gets, of a sequence in the order of its classes: token by
// token what meets, with no kernel between.
std::vector<std::vector<bool>> pairs_of_call(const KeyGroup& group, std::int64_t tokens, std::int64_t block,
                                             const std::vector<std::uint8_t>& hidden) {
  const ResidueClasses classes = residue_classes({0, tokens}, {tokens}, group, hidden);
  const kernels::PairRule rule = distances_of(group);
  const auto n = static_cast<std::size_t>(tokens);
  const KeyLists lists =
      residue_class_rows((tokens + block - 1) / block, 1, block, group.step, group.before, group.after);
  std::vector<std::vector<bool>> met(n, std::vector<bool>(n, false));
  for (std::int64_t p = 0; p < tokens; ++p) {
    const auto query = static_cast<std::size_t>(p);
    const auto row = static_cast<std::size_t>(classes.rows[query]);
    EXPECT_EQ(classes.places[row], p);
    bool company = false;
    for (std::int64_t k = 0; k < tokens; ++k) {
      const auto key = static_cast<std::size_t>(k);
      const std::vector<std::int32_t>& list = lists[0][static_cast<std::size_t>(p / block)];
      if (std::find(list.begin(), list.end(), k / block) == list.end()) continue;
      if (classes.query_groups[query] != classes.key_groups[key]) continue;
      if (rule.before >= 0 && k < p - rule.before) continue;
      if (rule.after >= 0 && k > p + rule.after) continue;
      if (rule.self_last && k == p) continue;
      met[row][static_cast<std::size_t>(classes.rows[key])] = company = true;
    }
    if (rule.self_last && !company && classes.query_groups[query] == classes.key_groups[query])
      met[row][row] = true;
  }
  return met;
}

// The left-to-right forms, which no model has yet: of the kernels' rule and the classes alone.
TEST(Longformer, L4CausalWindowsAreTheLeftHalfAndItself) {
  ModelConfig config = token_config(AttentionPattern::longformer);
  config.attention_options.longformer = {.windows = {6}, .dilations = {3}, .dilated_heads = 4};
  const KeyGroup group = local_groups(config, 0, true).classes;
  for (const std::int64_t tokens : {1, 8, 29, 40}) {
    const auto met = pairs_of_call(group, tokens, 4, {});
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) {
        EXPECT_EQ(met[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)],
                  j <= i && (i - j) % 3 == 0 && i - j <= 9)
            << i << ' ' << j;
      }
    }
  }
  config.attention_options.longformer.dilations = {1};
  config.attention_options.longformer.dilated_heads = 0;
  const kernels::PairRule rule = distances_of(local_groups(config, 0, true).window);
  EXPECT_EQ(rule.before, 3);
  EXPECT_EQ(rule.after, 0);
}

TEST(SparseTransformer, S3CausalStridesAndTheirBandShareNoPair) {
  ModelConfig config = token_config(AttentionPattern::sparse_strided);
  for (const bool causal : {false, true}) {
    for (const std::int64_t stride : {2, 7, 16}) {
      config.attention_options.sparse.stride = stride;
      const LocalGroups groups = local_groups(config, 0, causal);
      EXPECT_TRUE(groups.merged());
      for (const std::int64_t tokens : {1, 6, 7, 8, 41}) {
        const auto met = pairs_of_call(groups.classes, tokens, 4, {});
        for (std::int64_t i = 0; i < tokens; ++i) {
          for (std::int64_t j = 0; j < tokens; ++j) {
            EXPECT_EQ(met[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)],
                      i != j && (i - j) % stride == 0 && (!causal || j < i))
                << stride << ": " << i << ' ' << j;
          }
        }
      }
    }
  }
}

TEST(ResidueClasses, HiddenTokensAskNothingAndAreNobodysKey) {
  const KeyGroup group{.heads = 1, .step = 3, .before = 1, .after = 1, .itself = false};
  const auto met = pairs_of_call(group, 14, 4, {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0});
  const auto hidden = [](std::int64_t i) { return i == 0 || i == 4 || i == 10; };
  for (std::int64_t i = 0; i < 14; ++i) {
    for (std::int64_t j = 0; j < 14; ++j) {
      EXPECT_EQ(met[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)],
                !hidden(i) && !hidden(j) && std::abs(i - j) == 3)
          << i << ' ' << j;
    }
  }
}

}  // namespace
}  // namespace bigbird
