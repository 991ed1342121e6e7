// Texts of models whose attention is not known token by token: logits are those of one pass over the whole
// text, or of the stream of its segments, whatever was read together and from whichever text it went on.
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
#include "lib/inference/text_passes.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/expect_top_tokens.h"
#include "tests/unit/model/network/recurrent_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig passed_config(AttentionPattern attention) {
  ModelConfig config = tiny_config();
  config.head = HeadType::causal_lm;
  config.attention = attention;
  config.causal = true;
  return config;
}
ModelConfig compressive_model(Compression compression) {
  ModelConfig config = passed_config(AttentionPattern::compressive);
  config.attention_options.recurrent.memory = 6;
  config.attention_options.compressive = {.compressed = 5, .rate = 2, .compression = compression};
  become_recurrent(config);
  return config;
}

const std::map<std::string, ModelConfig>& passed_configs() {
  static const std::map<std::string, ModelConfig> configs = [] {
    std::map<std::string, ModelConfig> all{{"Conv", compressive_model(Compression::conv)},
                                           {"Dilated", compressive_model(Compression::dilated)},
                                           {"Mean", compressive_model(Compression::mean)},
                                           {"MostUsed", compressive_model(Compression::most_used)},
                                           {"Performer", passed_config(AttentionPattern::performer)}};
    ModelConfig& bpt = all["Bpt"] = passed_config(AttentionPattern::bpt);
    become_bpt(bpt);
    ModelConfig& spans = all["DynamicSpans"] = passed_config(AttentionPattern::adaptive_span);
    spans.attention_options.spans = {.max_span = 16, .ramp = 4, .span_loss = 0.01, .dynamic = true};
    become_recurrent(spans);
    return all;
  }();
  return configs;
}

constexpr std::int64_t segment = 8;  // tokens of one, of a model with a memory

class TextPassesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    validate(config, "the test");
    ASSERT_FALSE(keeps_keys(config));
    for (const std::int64_t length : {37, 13, 60, 50}) {
      texts.push_back(segment_ids(config, length, static_cast<std::uint64_t>(length)));
      expected.push_back(is_recurrent(config) ? of_stream(texts.back()) : of_whole(texts.back()));
    }
    model = std::make_unique<Model>(*backend, config, limits_of_steps(config, limits), ModelOptions{});
    model->set_parameters(parameters);
  }

  // [tokens * V]
  std::vector<float> of_whole(const std::vector<std::int32_t>& text) {
    Batch batch;
    for (std::size_t row = 0; row < text.size(); ++row)
      batch.masked_rows.push_back(static_cast<std::int32_t>(row));
    batch.masked_labels.assign(text.size(), 0);
    batch.append(text, {}, config.block_size, 0);
    const auto whole = make_model(*backend, config, batch, {}, parameters);
    whole->forward(batch, {});
    return whole->masked_logits();
  }
  std::vector<float> of_stream(const std::vector<std::int32_t>& text) {
    Model stream(*backend, config, stream_limits(1), {});
    stream.set_parameters(parameters);
    std::vector<float> all;
    for (std::size_t at = 0; at < text.size(); at += segment) {
      std::vector<std::int32_t> ids(
          text.begin() + static_cast<std::ptrdiff_t>(at),
          text.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(at + segment, text.size())));
      ids.push_back(1);  // a label
      const StreamSegments one{{ids}, {0}, {static_cast<std::uint8_t>(at == 0 ? 1 : 0)}};
      stream.forward(segment_batch(config, one, 0, stream.wants_whole_blocks()), {});
      const std::vector<float> logits = stream.masked_logits();
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }
  void expect_near(std::span<const float> actual, std::size_t text, std::size_t place) {
    ASSERT_EQ(actual.size(), vocabulary);
    for (std::size_t i = 0; i < vocabulary; ++i) {
      const float wanted = expected[text][place * vocabulary + i];
      ASSERT_NEAR(actual[i], wanted, 1e-5 * std::max(1.0f, std::abs(wanted)))
          << "text " << text << " at " << place << ", logit " << i;
    }
  }

  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const ModelConfig config = passed_configs().at(GetParam());
  const std::vector<float> parameters = random_parameters(config, 72);
  const std::size_t vocabulary = static_cast<std::size_t>(config.vocab_size);
  const CausalLimits limits{
      .rows = 8, .asked = 4, .cached = 0, .length = is_recurrent(config) ? segment : 64};
  std::vector<std::vector<std::int32_t>> texts;
  std::vector<std::vector<float>> expected;
  std::unique_ptr<Model> model;
};

TEST_P(TextPassesTest, LogitsAreThoseOfTheWholeText) {
  const auto steps = make_text_steps(*model, limits);
  // Prompts that end within a segment and with one.
  const std::vector<std::size_t> prompts{1, 12, 33, 16};
  std::vector<ReadText> read;
  for (std::size_t t = 0; t < texts.size(); ++t)
    read.push_back({-1, std::span(texts[t]).first(prompts[t]), t != 1});
  steps->read(read);
  ASSERT_EQ(steps->logits().size(), 3 * vocabulary);
  expect_near(steps->logits().first(vocabulary), 0, 0);
  expect_near(steps->logits().subspan(vocabulary, vocabulary), 2, 32);
  expect_near(steps->logits().subspan(2 * vocabulary), 3, 15);
  for (std::size_t step = 0; step < 60; ++step) {
    read.clear();
    std::vector<std::size_t> asked;
    for (std::size_t t = 0; t < texts.size(); ++t) {
      const bool more = prompts[t] + step < texts[t].size();
      read.push_back({static_cast<std::int32_t>(t),
                      std::span(texts[t]).subspan(more ? prompts[t] + step : 0, more ? 1 : 0)});
      if (more) asked.push_back(t);
    }
    if (asked.empty()) break;
    steps->read(read);
    ASSERT_EQ(steps->logits().size(), asked.size() * vocabulary);
    for (std::size_t row = 0; row < asked.size(); ++row)
      expect_near(steps->logits().subspan(row * vocabulary, vocabulary), asked[row],
                  prompts[asked[row]] + step);
  }
}

// Texts of the same prompt, which change places, over the end of a segment.
TEST_P(TextPassesTest, TextsGoOnFromOneAnother) {
  const auto steps = make_text_steps(*model, limits);
  const std::span<const std::int32_t> prompt = std::span(texts[0]).first(15), last = texts[3];
  const std::vector<ReadText> first{{-1, last.first(2), false}, {-1, prompt, false}};
  steps->read(first);
  const std::vector<ReadText> second{
      {1, last.first(2), false}, {1, std::span(texts[0]).subspan(15, 1), false}, {0, last.subspan(2, 1)}};
  steps->read(second);
  expect_near(steps->logits(), 3, 2);
  const std::vector<ReadText> third{{1, std::span(texts[0]).subspan(16, 11)}, {2, last.subspan(3, 11)}};
  steps->read(third);
  expect_near(steps->logits().first(vocabulary), 0, 26);
  expect_near(steps->logits().subspan(vocabulary), 3, 13);
  expect_top_tokens(*steps, {steps->logits().begin(), steps->logits().end()}, vocabulary);
}

TEST_P(TextPassesTest, BeyondTheLimitsIsAnError) {
  const auto steps = make_text_steps(*model, {.rows = 8, .asked = 1, .cached = 0, .length = limits.length});
  const std::vector<ReadText> two{{-1, std::span(texts[0]).first(2)}, {-1, std::span(texts[1]).first(2)}};
  EXPECT_THROW(steps->read(two), Error);
  EXPECT_THROW(CausalSteps(*model, limits), Error);
  if (is_recurrent(config)) return;  // of any length
  std::vector<std::int32_t> longer(65, texts[0][0]);
  const std::vector<ReadText> text{{-1, longer}};
  EXPECT_THROW(steps->read(text), Error);
}

INSTANTIATE_TEST_SUITE_P(Configs, TextPassesTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& entry : passed_configs()) names.push_back(entry.first);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace bigbird
