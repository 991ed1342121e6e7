// What Adaptive-Span learns: heads grow until they reach what they need, and no further; where every token of
// a span costs much, they stay short.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/rng.h"
#include "lib/model/network/adaptive_span.h"
#include "lib/model/network/validate_config.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// Every token is to say the letter 40 places before it. A letter stays for 24 places on average, so that
// those that are nearer know something of it: without that nobody could find out that to look further pays.
constexpr std::int64_t copied_distance = 40, copy_segment = 64, copy_streams = 16;
constexpr std::int32_t copy_letters = 8, first_copied = 8;

ModelConfig copy_config(double span_loss) {
  ModelConfig config = tiny_config();
  config.vocab_size = first_copied + copy_letters;
  config.hidden_size = 32;
  config.num_attention_heads = 2;
  config.intermediate_size = 64;
  config.initializer_range = 0.1;
  config.num_hidden_layers = 1;
  config.block_size = 16;
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::adaptive_span;
  config.attention_options.spans = {.max_span = 256, .ramp = 32, .span_loss = span_loss};
  become_recurrent(config);
  validate(config, "toy");
  return config;
}

class CopyStream {
 public:
  explicit CopyStream(std::uint64_t number) : random_(31, Purpose::test, number) {}
  std::int32_t at(std::int64_t place) {
    while (static_cast<std::int64_t>(letters_.size()) <= place) {
      const bool stays = !letters_.empty() && random_.below(24) != 0;
      letters_.push_back(
          stays ? letters_.back()
                : static_cast<std::int32_t>(first_copied + random_.between(0, copy_letters - 1)));
    }
    return letters_[static_cast<std::size_t>(place)];
  }

 private:
  CounterRng random_;
  std::vector<std::int32_t> letters_;
};

struct Copied {
  double loss = 0.0;         // of the last update
  std::vector<float> spans;  // z of every head
};
Copied learn_to_copy(double span_loss, std::int64_t updates) {
  const ModelConfig config = copy_config(span_loss);
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  BatchLimits limits;
  limits.tokens = limits.masked_tokens = copy_streams * copy_segment;
  limits.sequences = limits.streams = copy_streams;
  limits.longest = copy_segment;
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 5));
  const std::int64_t count = model.layout().count();
  std::vector<float> first(static_cast<std::size_t>(count)), second(first);
  std::vector<CopyStream> streams;
  for (std::uint64_t stream = 0; stream < copy_streams; ++stream) streams.emplace_back(stream);
  Copied copied;
  for (std::int64_t update = 0; update < updates; ++update) {
    Batch batch;
    for (std::int64_t stream = 0; stream < copy_streams; ++stream) {
      std::vector<std::int32_t> ids;
      for (std::int64_t i = 0; i < copy_segment; ++i) {
        const std::int64_t place = update * copy_segment + i;
        CopyStream& of = streams[static_cast<std::size_t>(stream)];
        ids.push_back(of.at(place));
        if (place < copied_distance) continue;
        batch.masked_rows.push_back(static_cast<std::int32_t>(batch.tokens() + i));
        batch.masked_labels.push_back(of.at(place - copied_distance));
      }
      batch.append(ids, {}, config.block_size, 0);
      batch.places.streams.push_back(static_cast<std::int32_t>(stream));
      batch.places.begins.push_back(update == 0 ? 1 : 0);
    }
    ForwardOptions options;
    options.training = true;
    const ForwardResult result = model.forward(batch, options);
    copied.loss = result[Loss::mlm].sum / static_cast<double>(result[Loss::mlm].count);
    model.zero_gradients();
    model.backward(mean_scale(result));
    const kernels::ParameterRun all{0, count, false};
    const float warm = std::min(1.0f, static_cast<float>(update + 1) / 50.0f);
    backend->adamw({model.parameters(), model.gradients(), first.data(), second.data()}, {&all, 1},
                   {.learning_rate = 2e-3f * warm});
    model.after_update(1, 1);
  }
  const std::vector<float> parameters = model.host_parameters();
  const std::int64_t offset = model.layout().offset("bert.encoder.spans");
  for (std::int64_t head = 0; head < config.num_attention_heads; ++head)
    copied.spans.push_back(parameters[static_cast<std::size_t>(offset + head)]);
  return copied;
}

TEST(AdaptiveSpanToy, A4SpansGrowToTheDistance) {
  if (testing::under_sanitizer) GTEST_SKIP() << "hundreds of updates; other tests train what has spans";
  const SpanOptions options = copy_config(2e-6).attention_options.spans;
  const Copied copied = learn_to_copy(2e-6, 500);
  EXPECT_LT(copied.loss, 0.05);
  // A span of 39 gives the 40th token before its own all of its weight: nothing pulls it further.
  const float longest = *std::max_element(copied.spans.begin(), copied.spans.end());
  EXPECT_GT(span_ramp(options, longest, copied_distance), 0.97f) << 256.0f * longest;
  EXPECT_GE(span_reach(options, longest, false), copied_distance);
  EXPECT_LT(256.0f * (copied.spans[0] + copied.spans[1]) / 2, 128.0f);
  const Copied dear = learn_to_copy(2e-4, 500);
  for (const float z : dear.spans) EXPECT_LT(256.0f * z, 32.0f);
}

}  // namespace
}  // namespace bigbird
