// Folders of Adaptive-Span: there and back with every option, the spans that are in them, and files that are
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/rng.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/model_spans.h"
#include "lib/model_folder/options_json.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

ModelConfig span_folder_config(const SpanOptions& options) {
  ModelConfig config;
  config.vocab_size = 20;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 12;
  config.max_position_embeddings = 32;
  config.block_size = 4;
  config.sep_token_id = 2;
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::adaptive_span;
  config.attention_options.spans = options;
  become_recurrent(config);
  return config;
}

TEST(AdaptiveSpanFolder, G8ThereAndBack) {
  for (const SpanOptions& options : {SpanOptions{.max_span = 17, .ramp = 3, .span_loss = 5e-7},
                                     SpanOptions{.max_span = 64, .ramp = 8, .span_loss = 0.0}}) {
    const ModelConfig config = span_folder_config(options);
    const ParameterLayout layout(config);
    CounterRng random(3, Purpose::test, 1);
    std::vector<float> values(static_cast<std::size_t>(layout.count()));
    for (float& value : values) value = static_cast<float>(random.normal());
    const std::vector<float> z{0.0f, 0.5f, 1.0f, 0.26f};
    std::copy(z.begin(), z.end(), values.begin() + layout.offset("bert.encoder.spans"));
    const testing::TemporaryFolder folder;
    write_model_files(folder.path().string(), config, layout, values, "", "# card\n");
    const LoadedModel loaded = load_model(folder.path().string(), LoadOptions{});
    EXPECT_EQ(loaded.parameters, values);
    EXPECT_EQ(loaded.config.attention, config.attention);
    EXPECT_EQ(loaded.config.attention_options, config.attention_options);
    EXPECT_FALSE(loaded.config.rescale_embeddings);
    EXPECT_EQ(config_json(loaded.config), config_json(config));
    const std::vector<HeadSpan> spans = spans_of_heads(ModelFolder(folder.path().string()));
    ASSERT_EQ(spans.size(), 4u);
    EXPECT_EQ(spans[3].layer, 1);
    EXPECT_EQ(spans[3].head, 1);
    EXPECT_EQ(spans[3].fraction, 0.26f);
    EXPECT_EQ(spans[3].tokens, options.max_span == 64 ? 17 : 5);
    EXPECT_EQ(spans[3].reach, options.max_span == 64 ? 25 : 8);
    EXPECT_EQ(spans[2].reach, options.max_span);
    EXPECT_EQ(spans[0].reach, options.ramp);
  }
}

// Spans of tokens: layers have what makes them, and no head has a span that could be shown.
TEST(AdaptiveSpanFolder, G8DynamicThereAndBack) {
  const ModelConfig config = span_folder_config({.max_span = 17, .ramp = 3, .dynamic = true});
  const ParameterLayout layout(config);
  EXPECT_EQ(layout.find("bert.encoder.spans"), nullptr);
  EXPECT_EQ(layout.find("bert.encoder.layer.1.attention.self.span.weight")->shape,
            (std::vector<std::int64_t>{2, 8}));
  const std::vector<float> values = initial_parameters(layout, config, 3);
  const testing::TemporaryFolder folder;
  write_model_files(folder.path().string(), config, layout, values, "", "# card\n");
  const LoadedModel loaded = load_model(folder.path().string(), LoadOptions{});
  EXPECT_EQ(loaded.parameters, values);
  EXPECT_EQ(loaded.config.attention_options, config.attention_options);
  expect_bad_input(error_of([&] { spans_of_heads(ModelFolder(folder.path().string())); }),
                   folder.path().string(), "no head has a span of its own");
  EXPECT_EQ(linear_layers(config).size(), 10u);
}

TEST(AdaptiveSpanFolder, G8RefusesByFileAndKey) {
  ModelConfig config = span_folder_config({});
  const std::vector<std::pair<std::string, std::string>> refused{
      {R"({"ramp": 4, "window": 3})", "window: attention adaptive-span"},
      {R"({"max_span": 0})", "max_span"},
      {R"({"span_loss": 2})", "span_loss: '2' is not a number within 0..1"},
      {R"({"span_loss": "much"})", "span_loss"}};
  for (const auto& [json, what] : refused) {
    const std::string& text = json;
    expect_bad_input(error_of([&] { read_attention_options(text, "config.json", config); }), "config.json",
                     what);
  }
}

// Every weight of a layer's products is one of an int8 layer's, each once; the table of distances is none.
TEST(AdaptiveSpanFolder, LinearLayersAreTheLayouts) {
  const ModelConfig config = span_folder_config({});
  const ParameterLayout layout(config);
  for (const LinearLayer& layer : linear_layers(config)) {
    std::int64_t count = 0;
    const std::int64_t first = layout.offset(layer.weights.front());
    for (const std::string& name : layer.weights) {
      EXPECT_EQ(layout.offset(name), first + count) << name;
      count += layout.find(name)->count;
    }
    EXPECT_EQ(count, layer.in * layer.out) << layer.name;
  }
  EXPECT_EQ(linear_layers(config).size(), 10u);
}

}  // namespace
}  // namespace bigbird
