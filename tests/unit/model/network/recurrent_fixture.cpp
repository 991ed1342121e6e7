// See recurrent_fixture.h.
#include "tests/unit/model/network/recurrent_fixture.h"

#include <cmath>

#include "lib/core/rng.h"

namespace bigbird::testing {

std::vector<std::int32_t> segment_ids(const ModelConfig& config, std::int64_t count, std::uint64_t seed) {
  CounterRng rng(seed, Purpose::test, 77);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>(rng.between(1, config.vocab_size - 1)));
  return ids;
}

Batch segment_batch(const ModelConfig& config, const StreamSegments& segments, std::int64_t pad_to,
                    bool whole_blocks) {
  Batch batch;
  for (const std::vector<std::int32_t>& all : segments.ids) {
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      batch.masked_rows.push_back(static_cast<std::int32_t>(batch.tokens() + static_cast<std::int64_t>(i)));
      batch.masked_labels.push_back(all[i + 1]);
    }
    batch.append({all.begin(), all.end() - 1}, {}, whole_blocks ? config.block_size : 1,
                 static_cast<std::int32_t>(config.pad_token_id), pad_to);
  }
  batch.places = {segments.streams, segments.begins};
  return batch;
}

BatchLimits stream_limits(std::int64_t streams) {
  BatchLimits limits;
  limits.tokens = 160;
  limits.masked_tokens = 160;
  limits.sequences = 4;
  limits.longest = 64;
  limits.streams = streams;
  return limits;
}

reference::RecurrentConfig recurrent_reference(const ModelConfig& config) {
  const RecurrentOptions& options = config.attention_options.recurrent;
  reference::RecurrentConfig of;
  of.encoder = reference_config(config);
  of.clamp = static_cast<std::size_t>(options.clamp);
  of.seen = static_cast<std::size_t>(options.same_length ? options.memory : 0);
  const SpanOptions& spans = config.attention_options.spans;
  if (has_spans(config))
    of.spans = {static_cast<std::size_t>(spans.max_span), static_cast<double>(spans.ramp), spans.dynamic};
  return of;
}

ExpectedSegment expected_of_segment(const ModelConfig& config, const reference::Parameters& parameters,
                                    const std::vector<std::int32_t>& all,
                                    const reference::Memories& memories) {
  const std::vector<std::size_t> ids(all.begin(), all.end() - 1);
  const auto words = static_cast<std::size_t>(config.vocab_size),
             width = static_cast<std::size_t>(config.hidden_size);
  ExpectedSegment made;
  made.states = reference::recurrent_forward(recurrent_reference(config), parameters, ids, memories);
  const reference::Matrix table(words, width, parameters.at("bert.embeddings.word_embeddings.weight"));
  const reference::Vector& bias = parameters.at("cls.predictions.bias");
  reference::Matrix d_logits(ids.size(), words);
  const reference::Matrix logits = reference::product(made.states.back(), reference::transposed(table));
  reference::Vector d_bias(words, 0.0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    double total = 0.0;
    for (std::size_t v = 0; v < words; ++v) total += std::exp(logits(i, v) + bias[v]);
    const auto right = static_cast<std::size_t>(all[i + 1]);
    made.loss += std::log(total) - logits(i, right) - bias[right];
    for (std::size_t v = 0; v < words; ++v) {
      d_logits(i, v) = std::exp(logits(i, v) + bias[v]) / total - (v == right ? 1.0 : 0.0);
      d_bias[v] += d_logits(i, v);
    }
  }
  made.gradients = reference::recurrent_backward(recurrent_reference(config), parameters, ids, memories,
                                                 reference::product(d_logits, table));
  const reference::Matrix of_table = reference::product(reference::transposed(d_logits), made.states.back());
  reference::Vector& words_too = made.gradients.at("bert.embeddings.word_embeddings.weight");
  words_too = reference::sum(words_too, of_table.values);
  made.gradients["cls.predictions.bias"] = d_bias;
  return made;
}

LossScale scale_of_sum() {
  LossScale scale{};
  scale[Loss::mlm] = 1.0f;
  return scale;
}

std::vector<float> state_rows(const Model& model, std::int64_t first, std::int64_t count) {
  const std::vector<float> all = model.last_hidden_state();
  const std::int64_t width = model.config().hidden_size;
  return {all.begin() + first * width, all.begin() + (first + count) * width};
}

}  // namespace bigbird::testing
