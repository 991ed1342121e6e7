// Adaptive-Span: masks, states, losses and gradients against the reference in double, over segments whose
// memories are read only as far as heads have learned to look; how spans move, and what refuses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/core/error.h"
#include "lib/model/network/adaptive_span.h"
#include "lib/model/network/attention_recurrent.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/recurrent_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

const std::string spans_name = "bert.encoder.spans";

ModelConfig span_config(std::int64_t longest = 16, std::int64_t ramp = 4) {
  ModelConfig config = tiny_config();
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::adaptive_span;
  config.attention_options.spans = {longest, ramp, 0.01};
  become_recurrent(config);
  validate(config, "a tiny model");
  return config;
}

ModelConfig dynamic_config(std::int64_t longest = 16) {
  ModelConfig config = span_config(longest);
  config.attention_options.spans.dynamic = true;
  return config;
}

std::vector<float> with_spans(const ModelConfig& config, std::vector<float> parameters,
                              const std::vector<float>& z) {
  const std::int64_t first = ParameterLayout(config).find(spans_name)->offset;
  std::copy(z.begin(), z.end(), parameters.begin() + first);
  return parameters;
}

std::vector<float> spans_in(const ModelConfig& config, const std::vector<float>& arena) {
  const auto begin = arena.begin() + ParameterLayout(config).find(spans_name)->offset;
  return {begin, begin + config.num_hidden_layers * config.num_attention_heads};
}

class AdaptiveSpanModel : public ::testing::Test {
 protected:
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
};

TEST(AdaptiveSpan, ReachEndsWithTheRamp) {
  const SpanOptions options{.max_span = 64, .ramp = 8};
  EXPECT_EQ(span_reach(options, 0.0f, false), 8);
  EXPECT_EQ(span_reach(options, 0.0f, true), 9);  // where the weight is 0, and its gradient is not
  EXPECT_EQ(span_reach(options, 0.25f, false), 24);
  EXPECT_EQ(span_reach(options, 0.25f, true), 25);
  EXPECT_EQ(span_reach(options, 0.26f, true), 25);  // 16.64 tokens
  EXPECT_EQ(span_reach(options, 0.26f, false), 25);
  EXPECT_EQ(span_reach(options, 1.0f, true), 64);
  EXPECT_EQ(span_tokens(options, 0.26f), 17);
  EXPECT_EQ(span_tokens(options, 0.0f), 0);
  for (const float z : {0.0f, 0.1f, 0.33f, 0.5f, 0.9f, 1.0f}) {
    const std::int64_t reach = span_reach(options, z, false);
    EXPECT_LE(reach, span_tokens(options, z) + options.ramp) << z;
    EXPECT_GT(span_ramp(options, z, reach), 0.0f) << z;
    if (reach < options.max_span) {
      EXPECT_LE(span_ramp(options, z, reach + 1), 0.0f) << z;
    }
  }
}

// Streams of segments, states, losses, gradients and what is remembered.
void expect_reference(kernels::Backend& backend, const ModelConfig& config,
                      const std::vector<float>& parameters) {
  const reference::Parameters doubles = reference_parameters(config, parameters);
  for (const bool checkpoint : {false, true}) {
    SCOPED_TRACE(checkpoint ? "checkpointed" : "all kept");
    Model model(backend, config, stream_limits(3), {.training = true, .grad_checkpoint = checkpoint});
    model.set_parameters(parameters);
    std::vector<reference::Memories> memories(3, reference::no_memories(recurrent_reference(config)));
    std::uint64_t seed = 1;
    const std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int64_t>>> passes{
        {{2, 0}, {3, 13}}, {{0, 1, 2}, {9, 4, 21}}, {{1, 0}, {12, 5}}, {{0, 2, 1}, {17, 2, 1}}};
    for (std::size_t pass = 0; pass < passes.size(); ++pass) {
      StreamSegments segments;
      segments.streams = passes[pass].first;
      reference::Parameters sum;
      double loss = 0.0;
      std::vector<ExpectedSegment> made;
      for (std::size_t s = 0; s < segments.streams.size(); ++s) {
        const auto stream = static_cast<std::size_t>(segments.streams[s]);
        segments.ids.push_back(segment_ids(config, passes[pass].second[s] + 1, ++seed));
        segments.begins.push_back(pass == 2 && stream == 1 ? 1 : 0);
        if (segments.begins.back() != 0)
          memories[stream] = reference::no_memories(recurrent_reference(config));
        made.push_back(expected_of_segment(config, doubles, segments.ids.back(), memories[stream]));
        memories[stream] =
            reference::next_memories(memories[stream], made.back().states,
                                     static_cast<std::size_t>(config.attention_options.spans.max_span));
        loss += made.back().loss;
        for (const auto& [name, gradient] : made.back().gradients)
          sum[name] = sum.count(name) != 0 ? reference::sum(sum[name], gradient) : gradient;
      }
      const Batch batch = segment_batch(config, segments);
      const ForwardResult result = model.forward(batch, {});
      EXPECT_NEAR(result[Loss::mlm].sum, loss, 1e-5 * loss);
      EXPECT_EQ(result[Loss::span].count, 0);  // of training alone
      for (std::size_t s = 0; s < made.size(); ++s) {
        const std::vector<float> states = state_rows(model, batch.token_offsets[s], batch.lengths[s]);
        EXPECT_LT(relative_error(states.data(), made[s].states.back().values), 1e-5) << s;
      }
      model.zero_gradients();
      model.backward(scale_of_sum());
      expect_gradients(model, sum, 1e-4);
      for (std::size_t stream = 0; stream < 3; ++stream) {
        const std::vector<float> kept = model.stream_memory(static_cast<std::int64_t>(stream));
        std::vector<double> expected;
        for (const reference::Matrix& layer : memories[stream])
          expected.insert(expected.end(), layer.values.begin(), layer.values.end());
        ASSERT_EQ(kept.size(), expected.size()) << stream;
        if (!expected.empty()) {
          EXPECT_LT(relative_error(kept.data(), expected), 1e-5) << stream;
        }
      }
    }
  }
}

// A3: the reference leaves out no key. Heads of a layer with spans of all kinds.
TEST_F(AdaptiveSpanModel, AgreesWithTheReferenceSegmentBySegment) {
  const std::vector<std::pair<std::int64_t, std::vector<float>>> models{{16, {0.0f, 0.0f, 0.0f, 0.0f}},
                                                                        {16, {0.25f, 1.0f, 0.5f, 0.0f}},
                                                                        {16, {0.13f, 0.71f, 0.02f, 0.9f}},
                                                                        {40, {0.11f, 0.0f, 0.26f, 0.06f}}};
  for (const auto& [longest, z] : models) {
    SCOPED_TRACE(std::to_string(longest) + ", " + std::to_string(z[0]));
    const ModelConfig config = span_config(longest);
    expect_reference(*backend, config, with_spans(config, random_parameters(config, 5), z));
  }
}

// Spans of tokens, from none to the longest there is.
TEST_F(AdaptiveSpanModel, DynamicAgreesWithTheReferenceSegmentBySegment) {
  for (const std::int64_t longest : {6, 16, 40}) {
    SCOPED_TRACE(longest);
    const ModelConfig config = dynamic_config(longest);
    expect_reference(*backend, config, random_parameters(config, 5));
  }
}

TEST_F(AdaptiveSpanModel, InferenceIsTrainingToTheLastDigits) {
  for (const bool dynamic : {false, true}) {
    const ModelConfig config = dynamic ? dynamic_config(24) : span_config(24);
    std::vector<float> parameters = random_parameters(config, 6);
    if (!dynamic) parameters = with_spans(config, parameters, {0.0f, 0.25f, 0.31f, 0.5f});
    Model training(*backend, config, stream_limits(2), {.training = true});
    Model inference(*backend, config, stream_limits(2), {});
    for (Model* model : {&training, &inference}) model->set_parameters(parameters);
    for (std::uint64_t pass = 0; pass < 4; ++pass) {
      const StreamSegments segments{
          {segment_ids(config, 8, 2 * pass), segment_ids(config, 14, 2 * pass + 1)}, {1, 0}, {0, 0}};
      const double loss = training.forward(segment_batch(config, segments), {})[Loss::mlm].sum;
      const double other =
          inference.forward(segment_batch(config, segments, 0, inference.wants_whole_blocks()), {})[Loss::mlm]
              .sum;
      EXPECT_NEAR(loss, other, 2e-6 * loss);
      for (const std::int64_t stream : {0, 1}) {
        const std::vector<float> kept = training.stream_memory(stream),
                                 same = inference.stream_memory(stream);
        ASSERT_EQ(kept.size(), same.size());
        for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_NEAR(kept[i], same[i], 4e-6);
      }
    }
  }
}

TEST_F(AdaptiveSpanModel, G4PaddingAndBatchMatesChangeNoBit) {
  for (const bool dynamic : {false, true}) {
    const ModelConfig config = dynamic ? dynamic_config(20) : span_config(20);
    std::vector<float> parameters = random_parameters(config, 9);
    if (!dynamic) parameters = with_spans(config, parameters, {0.0f, 0.4f, 0.9f, 0.1f});
    const auto read = [&](bool mates, std::int64_t pad_to) {
      Model model(*backend, config, stream_limits(3), {.training = true});
      model.set_parameters(parameters);
      std::vector<float> all;
      for (std::uint64_t pass = 0; pass < 4; ++pass) {
        StreamSegments segments{{segment_ids(config, 7, 10 + pass)}, {1}, {0}};
        if (mates) {
          segments.ids.insert(segments.ids.begin(), segment_ids(config, 20, 20 + pass));
          segments.ids.push_back(segment_ids(config, 4, 30 + pass));
          segments.streams = {2, 1, 0};
          segments.begins = {0, 0, 1};
        }
        const Batch batch = segment_batch(config, segments, pad_to);
        model.forward(batch, {});
        const std::vector<float> states = state_rows(model, batch.token_offsets[mates ? 1 : 0], 6);
        all.insert(all.end(), states.begin(), states.end());
      }
      return all;
    };
    const std::vector<float> alone = read(false, 0);
    EXPECT_EQ(alone, read(true, 0));
    EXPECT_EQ(alone, read(false, 24));
    EXPECT_EQ(alone, read(true, 32));
  }
}

// The part of the loss in training, and its gradient in every one.
TEST_F(AdaptiveSpanModel, LossOfSpansIsTheirMean) {
  const ModelConfig config = span_config(16);
  const std::vector<float> z{0.2f, 0.4f, 0.0f, 1.0f};
  Model model(*backend, config, stream_limits(1), {.training = true});
  model.set_parameters(with_spans(config, random_parameters(config, 3), z));
  const StreamSegments segments{{segment_ids(config, 9, 1)}, {0}, {1}};
  ForwardOptions training;
  training.training = true;
  const ForwardResult result = model.forward(segment_batch(config, segments), training);
  EXPECT_EQ(result[Loss::span].count, 1);
  EXPECT_NEAR(result[Loss::span].sum, 0.01 * 16 * (0.3 + 0.5), 1e-7);
  EXPECT_EQ(label_counts(segment_batch(config, segments), config)[Loss::span], 1);
  model.zero_gradients();
  LossScale scale{};
  scale[Loss::span] = 0.5f;
  model.backward(scale);
  const std::vector<float> gradients = model.host_gradients();
  for (const float gradient : spans_in(config, gradients)) EXPECT_FLOAT_EQ(gradient, 0.5f * 0.01f * 16 / 2);
  EXPECT_FLOAT_EQ(std::accumulate(gradients.begin(), gradients.end(), 0.0f), 4 * 0.5f * 0.01f * 16 / 2);
}

// The same of spans of tokens: its gradients against differences of itself.
TEST_F(AdaptiveSpanModel, LossOfDynamicSpansIsTheMeanOverTokens) {
  ModelConfig config = dynamic_config(16);
  config.attention_options.spans.span_loss = 0.5;
  Model model(*backend, config, stream_limits(2), {.training = true});
  const std::vector<float> parameters = random_parameters(config, 3);
  const Batch batch =
      segment_batch(config, {{segment_ids(config, 10, 1), segment_ids(config, 6, 2)}, {0, 1}, {1, 1}});
  ForwardOptions training;
  training.training = true;
  const auto loss_with = [&](const std::vector<float>& values) {
    model.set_parameters(values);
    return model.forward(batch, training)[Loss::span];
  };
  const LossTerm loss = loss_with(parameters);
  EXPECT_EQ(loss.count, 14);
  EXPECT_EQ(label_counts(batch, config)[Loss::span], 14);
  EXPECT_GT(loss.sum, 0.0);
  EXPECT_LT(loss.sum, 14 * 0.5 * 16 * 2);
  model.zero_gradients();
  LossScale scale{};
  scale[Loss::span] = 0.25f;
  model.backward(scale);
  const std::vector<float> gradients = model.host_gradients();
  for (const char* name :
       {"bert.encoder.layer.0.attention.self.span.bias", "bert.encoder.layer.1.attention.self.span.weight",
        "bert.encoder.layer.0.attention.output.dense.weight"}) {
    const TensorSpec& spec = *model.layout().find(name);
    for (std::int64_t i = 0; i < 2; ++i) {
      const auto at = static_cast<std::size_t>(spec.offset + i);
      std::vector<float> more = parameters, less = parameters;
      more[at] += 0.01f;
      less[at] -= 0.01f;
      const double slope =
          (loss_with(more).sum - loss_with(less).sum) / static_cast<double>(more[at] - less[at]);
      EXPECT_NEAR(gradients[at], 0.25 * slope, 2e-3 * std::abs(slope) + 1e-4) << name << " " << i;
    }
  }
  // At first all are alike.
  const std::vector<float> initial = initial_parameters(ParameterLayout(config), config, 3);
  const TensorSpec& bias = *model.layout().find("bert.encoder.layer.1.attention.self.span.bias");
  EXPECT_EQ(initial[static_cast<std::size_t>(bias.offset)], -4.0f);
  model.set_parameters(initial);
  EXPECT_NEAR(model.forward(batch, training)[Loss::span].sum, 14 * 0.5 * 16 * 2 / (1.0 + std::exp(4.0)),
              1e-4);
}

// After an update each is within 0..1, and the next pass reads what it became.
TEST_F(AdaptiveSpanModel, UpdatesEndInTheirLimits) {
  const ModelConfig config = span_config(16);
  const std::vector<float> parameters =
      with_spans(config, random_parameters(config, 3), {0.0f, 1.0f, 0.5f, 0.9f});
  Model model(*backend, config, stream_limits(1), {.training = true});
  model.set_parameters(parameters);
  const Batch batch = segment_batch(config, {{segment_ids(config, 30, 1)}, {0}, {1}});
  const double before = model.forward(batch, {})[Loss::mlm].sum;
  const TensorSpec& spec = *model.layout().find(spans_name);
  EXPECT_FALSE(spec.decay);
  const std::vector<float> moved{-0.2f, 1.2f, 0.7f, 0.3f};  // by an optimizer
  backend->upload(model.parameters() + spec.offset, moved.data(), moved.size() * sizeof(float));
  model.after_update(1, 1);
  EXPECT_EQ(spans_in(config, model.host_parameters()), (std::vector<float>{0.0f, 1.0f, 0.7f, 0.3f}));
  const double after = model.forward(batch, {})[Loss::mlm].sum;
  EXPECT_NE(after, before);
  Model fresh(*backend, config, stream_limits(1), {.training = true});
  fresh.set_parameters(model.host_parameters());
  EXPECT_EQ(fresh.forward(batch, {})[Loss::mlm].sum, after);
}

// Keys that no head sees are not projected, and lists of heads end with their own spans.
TEST_F(AdaptiveSpanModel, KeysBeyondSpansAreNotComputed) {
  const ModelConfig config = span_config(40);
  StreamMemory streams(*backend, config, 1);
  streams.set_rows(0, 40);
  const Batch batch = segment_batch(config, {{segment_ids(config, 9, 1)}, {0}, {0}});
  RecurrentPlans plans(config.num_attention_heads);
  Activations kept;
  kept.layers.resize(2);
  const auto keys_of = [&](const std::vector<float>& z, std::size_t layer) {
    Spans spans(config, false);
    spans.read(*backend, z.data());
    RecurrentPass pass;
    recurrent_pass(config, batch, streams, true, false, true, nullptr, plans, 0, kept, spans, pass);
    std::vector<std::int64_t> key;
    add_to_key(pass, [&](std::int64_t value) { key.push_back(value); });
    const RecurrentKeys& keys = pass.of(static_cast<std::int64_t>(layer));
    const kernels::BlockPlanView& plan = *keys.run.front().call().plans[0];
    std::vector<std::int64_t> made{keys.rule.before, keys.segments[0].memory, keys.labels};
    for (std::int64_t head = 0; head < 2; ++head) {
      const std::int64_t row = head * plan.blocks + plan.blocks - 2;  // the last with two tokens or more
      made.push_back(plan.row_offsets[row + 1] - plan.row_offsets[row]);
    }
    return std::pair(made, key);
  };
  // Spans of 0 and 12 tokens, ramps of 4; then of 40: 8 queries over as many key rows as are seen.
  const auto [made, key] = keys_of({0.0f, 0.3f, 1.0f, 0.0f}, 0);
  EXPECT_EQ(made, (std::vector<std::int64_t>{16, 16, 17, 2, 5}));
  EXPECT_EQ(keys_of({0.0f, 0.3f, 1.0f, 0.0f}, 1).first, (std::vector<std::int64_t>{40, 40, 41, 11, 2}));
  // A recording is of its spans.
  EXPECT_EQ(keys_of({0.0f, 0.3f, 1.0f, 0.0f}, 0).second, key);
  EXPECT_NE(keys_of({0.0f, 0.4f, 1.0f, 0.0f}, 0).second, key);
}

TEST_F(AdaptiveSpanModel, RefusesWhatItIsNot) {
  const auto refused = [](auto change, const std::string& words) {
    ModelConfig config = span_config();
    change(config);
    try {
      validate(config, "file");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  };
  refused([](ModelConfig& c) { c.causal = false, c.head = HeadType::encoder; }, "adaptive-span of a model");
  refused([](ModelConfig& c) { c.position_type = PositionType::absolute; }, "with absolute positions");
  refused([](ModelConfig& c) { c.norm_type = NormType::prenorm; }, "LayerNorms before");
  refused([](ModelConfig& c) { c.use_bias = true; }, "biases of queries");
  refused([](ModelConfig& c) { c.head = HeadType::masked_lm; }, "no head masked-lm");
  const ModelConfig config = span_config();
  Model model(*backend, config, stream_limits(1), {});
  model.set_parameters(with_spans(config, random_parameters(config, 1), {0.0f, 0.0f, 1.5f, 0.0f}));
  EXPECT_THROW(model.forward(segment_batch(config, {{segment_ids(config, 5, 1)}, {}, {}}, 0, false), {}),
               Error);
  ModelConfig far = span_config(20000);
  BatchLimits limits = stream_limits(1);
  EXPECT_THROW(plan_model_memory(far, limits, {}, *backend), Error);
}

TEST_F(AdaptiveSpanModel, FreshOnesSeeNothingFarAway) {
  const ModelConfig config = span_config(1000);
  const ParameterLayout layout(config);
  const std::vector<float> values = initial_parameters(layout, config, 3);
  for (const float z : spans_in(config, values)) EXPECT_EQ(z, 0.0f);
  const TensorSpec& table = *layout.find("bert.encoder.distances.weight");
  EXPECT_EQ(table.shape, (std::vector<std::int64_t>{1000, config.head_size()}));
  double squares = 0.0, most = 0.0;
  for (std::int64_t i = 0; i < table.count; ++i) {
    const double drawn = values[static_cast<std::size_t>(table.offset + i)];
    squares += drawn * drawn;
    most = std::max(most, std::abs(drawn));
  }
  EXPECT_NEAR(squares / static_cast<double>(table.count), 1.0, 0.05);
  EXPECT_GT(most, 2.5);  // not cut
}

}  // namespace
}  // namespace bigbird
