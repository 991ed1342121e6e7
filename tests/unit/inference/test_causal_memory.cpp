// Models with a memory, one token at a time: logits are those of a stream that is read in segments of one
// token, however long the text, whatever was read together, and however often rows of the cache move.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/inference/causal_steps.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/recurrent_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig with_memory(AttentionPattern attention) {
  ModelConfig config = tiny_config();
  config.head = HeadType::causal_lm;
  config.attention = attention;
  return config;
}
ModelConfig xl_model(const RecurrentOptions& options) {
  ModelConfig config = with_memory(AttentionPattern::transformer_xl);
  config.attention_options.recurrent = options;
  become_recurrent(config);
  return config;
}
ModelConfig span_model(std::int64_t longest) {
  ModelConfig config = with_memory(AttentionPattern::adaptive_span);
  config.attention_options.spans = {longest, 4, 0.01};
  become_recurrent(config);
  return config;
}

const std::map<std::string, ModelConfig>& configs_with_memory() {
  static const std::map<std::string, ModelConfig> configs{
      {"Xl", xl_model({.memory = 10})},
      {"XlClamped", xl_model({.memory = 16, .clamp = 5, .untie = true})},
      {"XlSameLength", xl_model({.memory = 7, .same_length = true})},
      {"XlWithout", xl_model({.memory = 0})},
      {"XlLong", xl_model({.memory = 60})},
      {"Spans", span_model(16)},
      {"SpansLong", span_model(60)},
      {"SpansOfOne", span_model(1)},
  };
  return configs;
}

// Random ones; spans of layer 0 are half as long as they may be and none, those of layer 1 three tenths and
// all of it.
std::vector<float> parameters_of(const ModelConfig& config) {
  std::vector<float> parameters = random_parameters(config, 72);
  if (!has_spans(config)) return parameters;
  const std::vector<float> z{0.5f, 0.0f, 0.3f, 1.0f};
  const std::int64_t first = ParameterLayout(config).find("bert.encoder.spans")->offset;
  std::copy(z.begin(), z.end(), parameters.begin() + first);
  return parameters;
}

class CausalMemoryTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    validate(config, "the test");
    Model stream(*backend, config, stream_limits(1), {});
    stream.set_parameters(parameters);
    for (const std::int64_t length : {37, 13, 90, 50}) {
      std::vector<std::int32_t>& text =
          texts.emplace_back(segment_ids(config, length + 1, static_cast<std::uint64_t>(length)));
      std::vector<std::vector<float>>& logits = expected.emplace_back();
      for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i)
        logits.push_back(segment_logits(stream, {text[i], text[i + 1]}, i == 0));
      text.pop_back();
    }
    model = make_model(*backend, config, random_batch(config, {4}, 1), {}, parameters);
  }

  // Of all tokens but the last, which is a label.
  static std::vector<float> segment_logits(Model& stream, const std::vector<std::int32_t>& ids, bool begins) {
    const StreamSegments segment{{ids}, {0}, {static_cast<std::uint8_t>(begins ? 1 : 0)}};
    stream.forward(segment_batch(stream.config(), segment, 0, stream.wants_whole_blocks()), {});
    return stream.masked_logits();
  }
  void expect_near(std::span<const float> actual, const std::vector<float>& wanted, const std::string& what) {
    ASSERT_EQ(actual.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(actual[i], wanted[i], 1e-5 * std::max(1.0f, std::abs(wanted[i])))
          << what << ", logit " << i;
  }
  // Rows for what four texts remember and for a call: rows move again and again.
  CausalLimits limits(std::int64_t rows) const {
    return {.rows = rows, .asked = 4, .cached = 4 * remembered_rows(config) + rows, .length = 4};
  }

  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const ModelConfig config = configs_with_memory().at(GetParam());
  const std::vector<float> parameters = parameters_of(config);
  const std::size_t vocabulary = static_cast<std::size_t>(config.vocab_size);
  std::vector<std::vector<std::int32_t>> texts;
  std::vector<std::vector<std::vector<float>>> expected;  // [text][token][V]
  std::unique_ptr<Model> model;
};

TEST_P(CausalMemoryTest, LogitsAreThoseOfAStreamOfSegmentsOfOneToken) {
  CausalSteps steps(*model, limits(70));
  // Prompts shorter and longer than what is remembered, together, then token by token.
  const std::vector<std::size_t> prompts{1, 12, 33, 18};
  std::vector<ReadText> read;
  for (std::size_t t = 0; t < texts.size(); ++t)
    read.push_back({-1, std::span(texts[t]).first(prompts[t]), t != 1});
  steps.read(read);
  ASSERT_EQ(steps.logits().size(), 3 * vocabulary);
  for (std::size_t t = 0, row = 0; t < texts.size(); ++t) {
    if (t == 1) continue;
    expect_near(steps.logits().subspan(row++ * vocabulary, vocabulary), expected[t][prompts[t] - 1],
                "prompt " + std::to_string(t));
  }
  for (std::size_t step = 0; step < 90; ++step) {
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
                  expected[asked[row].first][asked[row].second],
                  "text " + std::to_string(asked[row].first) + " at " + std::to_string(asked[row].second));
    }
  }
}

TEST_P(CausalMemoryTest, WhatIsRememberedAndReadAtOnceIsOneSegment) {
  const std::int64_t length =
      has_spans(config) ? 64 : std::min<std::int64_t>(64, remembered_rows(config) + 1);
  std::vector<std::int32_t> text(texts[2].begin(), texts[2].begin() + length);
  text.push_back(1);
  Model stream(*backend, config, stream_limits(1), {});
  stream.set_parameters(parameters);
  const std::vector<float> whole = segment_logits(stream, text, true);
  if (config.attention_options.recurrent.same_length && !has_spans(config)) return;  // sees one less
  for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
    const auto first = whole.begin() + static_cast<std::ptrdiff_t>(i * vocabulary);
    expect_near(expected[2][i], {first, first + static_cast<std::ptrdiff_t>(vocabulary)}, std::to_string(i));
  }
}

// The same bits, whatever is read together with it, in how many calls, and where rows lie.
TEST_P(CausalMemoryTest, WhatElseIsReadChangesNothing) {
  const std::span<const std::int32_t> text = texts[2];
  CausalSteps whole(*model, {.rows = 90, .asked = 1, .cached = 90, .length = 90});
  const std::vector<ReadText> all{{-1, text}};
  whole.read(all);
  const std::vector<float> alone(whole.logits().begin(), whole.logits().end());
  CausalSteps steps(*model, limits(8));
  for (int time = 0; time < 2; ++time) {
    steps.begin();
    for (std::size_t at = 0; at < text.size(); at += 7) {
      const std::int32_t parent = at == 0 ? -1 : 0;
      const std::vector<ReadText> part{{parent, text.subspan(at, std::min<std::size_t>(7, text.size() - at))},
                                       {parent < 0 ? -1 : 1, std::span(texts[3]).subspan(at / 7, 1)}};
      steps.read(part);
    }
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), steps.logits().begin()));
  }
}

// Texts of the same prompt, which change places, at a time when rows move.
TEST_P(CausalMemoryTest, TextsGoOnFromOneAnother) {
  CausalSteps steps(*model, limits(24));
  const std::span<const std::int32_t> prompt = std::span(texts[0]).first(21), last = texts[3];
  for (int time = 0; time < 3; ++time) {
    const std::vector<ReadText> first{{-1, last.first(2), false}, {-1, prompt, false}};
    steps.read(first);
    const std::vector<ReadText> second{{1, last.subspan(2, 1), false},
                                       {1, std::span(texts[0]).subspan(21, 1), false},
                                       {0, last.subspan(2, 1), false}};
    steps.read(second);
    const std::vector<ReadText> third{{1, std::span(texts[0]).subspan(22, 11)}, {2, last.subspan(3, 11)}};
    steps.read(third);
    expect_near(steps.logits().first(vocabulary), expected[0][32], "the first text");
    expect_near(steps.logits().subspan(vocabulary), expected[3][13], "the other text");
  }
}

TEST_P(CausalMemoryTest, BeyondTheLimitsIsAnError) {
  const std::int64_t memory = remembered_rows(config);
  CausalSteps steps(*model, {.rows = 8, .asked = 2, .cached = memory + 8, .length = 1});
  const std::span<const std::int32_t> text = texts[2];
  for (std::size_t at = 0; at < 80; at += 8) {
    const std::vector<ReadText> part{{at == 0 ? -1 : 0, text.subspan(at, 8)}};
    steps.read(part);
  }
  expect_near(steps.logits(), expected[2][79], "a text of eighty tokens");
  const std::vector<ReadText> too_many{{0, text.subspan(80, 9)}};
  EXPECT_THROW(steps.read(too_many), Error);
  if (memory == 0) return;
  const std::vector<ReadText> both{{0, text.subspan(80, 4)}, {-1, text.first(4)}};
  steps.read(both);
  // As many rows as one text may remember, and those of another.
  const std::vector<ReadText> no_room{{0, text.subspan(84, 4)}, {1, text.subspan(4, 4)}};
  EXPECT_THROW(steps.read(no_room), Error);
  const std::vector<ReadText> one{{0, text.subspan(84, 6)}};
  steps.read(one);
  expect_near(steps.logits(), expected[2][89], "after what was refused");
}

INSTANTIATE_TEST_SUITE_P(Configs, CausalMemoryTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& entry : configs_with_memory()) names.push_back(entry.first);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST(CausalMemory, IsPlannedWhateverTheSpans) {
  const auto backend = kernels::make_cpu_backend();
  const auto bytes = [&](const ModelConfig& config, const CausalLimits& limits) {
    std::size_t all = 0;
    for (const MemoryRow& row : plan_causal_memory(config, limits, *backend)) all += row.bytes;
    return static_cast<double>(all);
  };
  const CausalLimits limits{.rows = 8, .asked = 2, .cached = 100, .length = 64};
  CausalLimits twice = limits;
  twice.cached = 200;
  for (const char* const name : {"Xl", "Spans"}) {
    const ModelConfig& config = configs_with_memory().at(name);
    // Keys and values of two layers, as many to move to, and the numbers of rows that move.
    EXPECT_NEAR(bytes(config, twice) - bytes(config, limits), 3.0 * 2 * 100 * 24 * 4 + 100 * 4, 1024.0);
    CausalLimits longer = limits;
    longer.length = 1 << 20;
    EXPECT_EQ(bytes(config, longer), bytes(config, limits)) << "texts have any length";
  }
}

}  // namespace
}  // namespace bigbird
