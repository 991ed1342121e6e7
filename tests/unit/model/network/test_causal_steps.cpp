// A model that reads left to right, some tokens at a time: logits are those of a pass over the whole text,
// whatever was read together, and whatever else is in the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/network/causal_steps.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig causal_config() {
  ModelConfig config = tiny_config();
  config.attention = AttentionPattern::full;
  config.causal = true;
  config.head = HeadType::causal_lm;
  return config;
}

ModelConfig sparse_config(AttentionPattern attention, HeadsAs heads_as, std::int64_t patterns = 1) {
  ModelConfig config = causal_config();
  config.attention = attention;
  config.attention_options.sparse = {8, 4, patterns, heads_as};
  if (attention == AttentionPattern::sparse_strided)
    config.attention_options.sparse = {.stride = 5, .heads_as = heads_as};
  return config;
}

void use_rotary(ModelConfig& config) {
  config.position_type = PositionType::rotary;
  config.rotary_dim = 8;
}

const std::map<std::string, ModelConfig>& causal_configs() {
  static const std::map<std::string, ModelConfig> configs = [] {
    std::map<std::string, ModelConfig> all;
    all["full"] = causal_config();
    ModelConfig& other = all["PreLnRotary"] = causal_config();
    use_rotary(other);
    other.norm_type = NormType::prenorm;
    other.embedding_norm = EmbeddingNorm::none;
    other.activation = Activation::gelu_erf;
    other.type_vocab_size = 0;
    other.use_bias = false;
    other.rescale_embeddings = true;
    ModelConfig& bert = all["PreLnWithoutFinalNorm"] = causal_config();
    bert.norm_type = NormType::prenorm;
    bert.final_norm = false;
    bert.embedding_norm = EmbeddingNorm::before_dropout;
    bert.type_vocab_size = 1;
    bert.tie_word_embeddings = false;
    all["FixedMerged"] = sparse_config(AttentionPattern::sparse_fixed, HeadsAs::merged);
    all["FixedSplit"] = sparse_config(AttentionPattern::sparse_fixed, HeadsAs::split);
    all["FixedLayers"] = sparse_config(AttentionPattern::sparse_fixed, HeadsAs::layers);
    ModelConfig& patterns = all["FixedPatterns"] =
        sparse_config(AttentionPattern::sparse_fixed, HeadsAs::merged);
    patterns.attention_options.sparse = {12, 4, 2, HeadsAs::merged};
    use_rotary(patterns);
    all["StridedMerged"] = sparse_config(AttentionPattern::sparse_strided, HeadsAs::merged);
    all["StridedSplit"] = sparse_config(AttentionPattern::sparse_strided, HeadsAs::split);
    all["StridedLayers"] = sparse_config(AttentionPattern::sparse_strided, HeadsAs::layers);
    ModelConfig& longformer = all["Longformer"] = causal_config();
    longformer.attention = AttentionPattern::longformer;
    longformer.attention_options.longformer.windows = {12, 8};
    longformer.attention_options.longformer.global_rule = GlobalRule::none;
    ModelConfig& dilated = all["LongformerDilated"] = longformer;
    dilated.attention_options.longformer.dilations = {1, 3};
    dilated.attention_options.longformer.dilated_heads = 1;
    return all;
  }();
  return configs;
}

class CausalStepsTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Texts of these lengths, and the logits of all of their tokens by one pass each.
  void SetUp() override {
    validate(config, "the test");
    for (const std::int64_t length : {37, 13, 64, 50}) {
      Batch alone = random_batch(config, {length}, 71);
      for (std::int64_t row = 0; row < length; ++row)
        alone.masked_rows.push_back(static_cast<std::int32_t>(row));
      alone.types.assign(alone.types.size(), 0);
      texts.emplace_back(alone.ids.begin(), alone.ids.begin() + length);
      const auto whole = make_model(*backend, config, alone, {}, parameters);
      whole->forward(alone, {});
      expected.push_back(whole->masked_logits());
    }
    model = make_model(*backend, config, random_batch(config, {4}, 1), {}, parameters);
  }

  // Logits of the token at `place` of a text.
  std::vector<float> logits_of(std::size_t text, std::size_t place) const {
    const auto first = expected[text].begin() + static_cast<std::ptrdiff_t>(place * vocabulary);
    return {first, first + static_cast<std::ptrdiff_t>(vocabulary)};
  }
  void expect_near(std::span<const float> actual, const std::vector<float>& wanted, const std::string& what) {
    ASSERT_EQ(actual.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(actual[i], wanted[i], 1e-5 * std::max(1.0f, std::abs(wanted[i])))
          << what << ", logit " << i;
  }

  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const ModelConfig config = causal_configs().at(GetParam());
  const std::vector<float> parameters = random_parameters(config, 72);
  const std::size_t vocabulary = static_cast<std::size_t>(config.vocab_size);
  const CausalLimits limits{.rows = 70, .asked = 4, .cached = 200, .length = 64};
  std::vector<std::vector<std::int32_t>> texts;
  std::vector<std::vector<float>> expected;
  std::unique_ptr<Model> model;
};

TEST_P(CausalStepsTest, LogitsAreThoseOfAPassOverTheText) {
  CausalSteps steps(*model, limits);
  const std::vector<std::size_t> prompts{1, 12, 33, 18};
  std::vector<ReadText> read;
  for (std::size_t t = 0; t < texts.size(); ++t)
    read.push_back({-1, std::span(texts[t]).first(prompts[t]), t != 1});
  steps.read(read);
  ASSERT_EQ(steps.logits().size(), 3 * vocabulary);
  for (std::size_t t = 0, row = 0; t < texts.size(); ++t) {
    if (t == 1) continue;
    expect_near(steps.logits().subspan(row++ * vocabulary, vocabulary), logits_of(t, prompts[t] - 1),
                "prompt " + std::to_string(t));
  }
  for (std::size_t step = 0; step < 64; ++step) {
    read.clear();
    std::vector<std::pair<std::size_t, std::size_t>> asked;
    for (std::size_t t = 0; t < texts.size(); ++t) {
      const std::size_t place = prompts[t] + step;
      const bool more = place < texts[t].size();
      read.push_back(
          {static_cast<std::int32_t>(t), std::span(texts[t]).subspan(more ? place : 0, more ? 1 : 0)});
      if (more) asked.emplace_back(t, place);
    }
    if (asked.empty()) break;
    steps.read(read);
    ASSERT_EQ(steps.logits().size(), asked.size() * vocabulary);
    for (std::size_t row = 0; row < asked.size(); ++row) {
      expect_near(steps.logits().subspan(row * vocabulary, vocabulary),
                  logits_of(asked[row].first, asked[row].second),
                  "text " + std::to_string(asked[row].first) + " at " + std::to_string(asked[row].second));
    }
  }
}

// The same bits, whatever is read together with it and in how many calls.
TEST_P(CausalStepsTest, WhatElseIsReadChangesNothing) {
  CausalSteps steps(*model, limits);
  const std::span<const std::int32_t> text = texts[2];
  const auto logits = [&] { return std::vector<float>(steps.logits().begin(), steps.logits().end()); };
  const std::vector<ReadText> whole{{-1, text}};
  steps.read(whole);
  const std::vector<float> alone = logits();
  steps.begin();
  for (std::size_t at = 0; at < text.size(); at += 7) {
    const std::int32_t parent = at == 0 ? -1 : 0;
    const std::vector<ReadText> part{{parent, text.subspan(at, std::min<std::size_t>(7, text.size() - at))},
                                     {parent < 0 ? -1 : 1, std::span(texts[3]).subspan(at / 7, 1)}};
    steps.read(part);
  }
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), steps.logits().begin()));
}

// Texts of the same prompt, which change places.
TEST_P(CausalStepsTest, TextsGoOnFromOneAnother) {
  const std::span<const std::int32_t> prompt = std::span(texts[0]).first(21);
  std::vector<std::int32_t> other(prompt.begin(), prompt.end());
  other.insert(other.end(), texts[3].begin() + 21, texts[3].begin() + 24);
  Batch batch;
  batch.append(other, {}, config.block_size, 0);
  batch.masked_rows = {23};
  const auto whole = make_model(*backend, config, batch, {}, parameters);
  whole->forward(batch, {});

  CausalSteps steps(*model, limits);
  const std::vector<ReadText> first{{-1, std::span(texts[3]).first(2), false}, {-1, prompt, false}};
  steps.read(first);
  const std::vector<ReadText> second{{1, std::span(other).subspan(21, 1), false},
                                     {1, std::span(texts[0]).subspan(21, 1), false}};
  steps.read(second);
  const std::vector<ReadText> third{{1, std::span(texts[0]).subspan(22, 2)},
                                    {0, std::span(other).subspan(22, 2)}};
  steps.read(third);
  expect_near(steps.logits().first(vocabulary), logits_of(0, 23), "the first text");
  expect_near(steps.logits().subspan(vocabulary), whole->masked_logits(), "the other text");
}

TEST_P(CausalStepsTest, BeyondTheLimitsIsAnError) {
  CausalSteps steps(*model, {.rows = 8, .asked = 1, .cached = 20, .length = 9});
  const std::span<const std::int32_t> text = texts[0];
  const auto read = [&](const std::vector<ReadText>& texts_to_read) { steps.read(texts_to_read); };
  EXPECT_THROW(read({{-1, text.first(9)}}), Error);
  EXPECT_THROW(read({{-1, text.first(2)}, {-1, text.first(2)}}), Error);
  read({{-1, text.first(8)}, {-1, {}}});
  EXPECT_THROW(read({{0, text.first(2)}}), Error);
  read({{0, text.first(1)}});
  read({{-1, text.first(8)}});
  EXPECT_THROW(read({{-1, text.first(4)}}), Error);
  steps.begin();
  read({{-1, text.first(4)}});
}

INSTANTIATE_TEST_SUITE_P(Configs, CausalStepsTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& entry : causal_configs()) names.push_back(entry.first);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST(CausalStepsMemory, IsPlannedAsItIsTaken) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = causal_config();
  const auto bytes = [&](const CausalLimits& limits) {
    std::size_t all = 0;
    for (const MemoryRow& row : plan_causal_memory(config, limits, *backend)) all += row.bytes;
    return all;
  };
  const CausalLimits limits{.rows = 8, .asked = 2, .cached = 100, .length = 64};
  CausalLimits twice = limits;
  twice.cached = 200;
  // Keys and values of two layers.
  EXPECT_NEAR(static_cast<double>(bytes(twice) - bytes(limits)), 2.0 * 2 * 100 * 24 * 4, 1024.0);
}

TEST(CausalStepsModel, OneThatSeesWhatIsAheadIsRefused) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = tiny_config();
  const Batch batch = random_batch(config, {8}, 1);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 1));
  EXPECT_THROW(CausalSteps(*model, {8, 1, 8, 8}), Error);
}

}  // namespace
}  // namespace bigbird
