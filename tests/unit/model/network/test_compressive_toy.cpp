// What Compressive Transformer learns that a plain memory of as many rows could not: a copy of letters three
// segments back, which lie beyond that memory, by one layer.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// A segment is pairs of a letter and the mark of its place. Behind the mark stands what the letter in that
// place was three segments before. At two rows for one the compressed memory has the segments 2 and 3 before,
// the plain one the last.
constexpr std::int64_t recall_places = 4, recall_segment = 2 * recall_places, recalled_back = 3;
constexpr std::int32_t recall_letters = 8, first_recalled = 8, first_recall_mark = 2;

ModelConfig recall_config(AttentionPattern attention, std::int64_t memory,
                          const CompressiveOptions& options) {
  ModelConfig config = tiny_config();
  config.vocab_size = first_recalled + recall_letters;
  config.hidden_size = 64;
  config.num_attention_heads = 2;
  config.intermediate_size = 128;
  config.initializer_range = 0.1;
  config.num_hidden_layers = 1;
  config.block_size = recall_segment;
  config.head = HeadType::causal_lm;
  config.attention = attention;
  config.attention_options.recurrent.memory = memory;
  config.attention_options.compressive = options;
  become_recurrent(config);
  validate(config, "toy");
  return config;
}

std::int32_t recall_letter(std::int64_t stream, std::int64_t segment, std::int64_t place) {
  CounterRng random(31, Purpose::test,
                    static_cast<std::uint64_t>((stream << 40) + segment * recall_places + place));
  return static_cast<std::int32_t>(first_recalled + random.between(0, recall_letters - 1));
}

Batch recall_batch(const ModelConfig& config, std::int64_t streams, std::int64_t segment) {
  Batch batch;
  for (std::int64_t stream = 0; stream < streams; ++stream) {
    std::vector<std::int32_t> ids;
    for (std::int64_t place = 0; place < recall_places; ++place) {
      ids.push_back(recall_letter(stream, segment, place));
      if (segment >= recalled_back) {
        batch.masked_rows.push_back(
            static_cast<std::int32_t>(batch.tokens() + static_cast<std::int64_t>(ids.size())));
        batch.masked_labels.push_back(recall_letter(stream, segment - recalled_back, place));
      }
      ids.push_back(static_cast<std::int32_t>(first_recall_mark + place));
    }
    batch.append(ids, {}, config.block_size, 0);
    batch.places.streams.push_back(static_cast<std::int32_t>(stream));
    batch.places.begins.push_back(segment == 0 ? 1 : 0);
  }
  return batch;
}

// The share of right copies over the last tenth of the updates.
double recall_accuracy(const ModelConfig& config, std::int64_t updates) {
  constexpr std::int64_t streams = 32;
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  BatchLimits limits;
  limits.tokens = streams * recall_segment;
  limits.sequences = limits.streams = streams;
  limits.masked_tokens = streams * recall_places;
  limits.longest = recall_segment;
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 5));
  const std::int64_t count = model.layout().count();
  std::vector<float> first(static_cast<std::size_t>(count)), second(first);
  double right = 0.0, asked = 0.0;
  ForwardOptions in_training;
  in_training.training = true;
  for (std::int64_t update = 0; update < updates; ++update) {
    const Batch batch = recall_batch(config, streams, update);
    const ForwardResult result = model.forward(batch, in_training);
    if (update >= updates - updates / 10) {
      right += static_cast<double>(result[Loss::mlm].correct);
      asked += static_cast<double>(result[Loss::mlm].count);
    }
    if (batch.masked_rows.empty()) continue;
    model.zero_gradients();
    model.backward(mean_scale(result));
    const kernels::ParameterRun all{0, count, false};
    const float warm = std::min(1.0f, static_cast<float>(update + 1) / 50.0f);
    const float left = 1.0f - static_cast<float>(update) / static_cast<float>(updates);
    backend->adamw({model.parameters(), model.gradients(), first.data(), second.data()}, {&all, 1},
                   {.learning_rate = 2e-3f * warm * left});
  }
  return right / asked;
}

TEST(CompressiveToy, CopyBeyondThePlainMemory) {
  if (testing::under_sanitizer) GTEST_SKIP() << "hundreds of updates; other tests train what has a memory";
  using enum AttentionPattern;
  for (const Compression how : {Compression::mean, Compression::conv}) {
    const double made = recall_accuracy(
        recall_config(compressive, recall_segment, {.compressed = recall_segment, .compression = how}), 400);
    EXPECT_GT(made, 0.9) << static_cast<int>(how);
  }
  // The plain memory of as many rows, and the one that is compressed here.
  for (const std::int64_t memory : {2 * recall_segment, recall_segment})
    EXPECT_LT(recall_accuracy(recall_config(transformer_xl, memory, {}), 200), 1.0 / recall_letters + 0.05);
}

}  // namespace
}  // namespace bigbird
