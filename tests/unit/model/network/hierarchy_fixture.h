// Small HIBERTs, documents for them, and both as the reference has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/model/network/batch.h"
#include "reference/hierarchy.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird::testing {

inline ModelConfig tiny_hierarchy(HeadType head) {
  ModelConfig config = tiny_config();
  config.vocab_size = 23;
  config.hidden_size = 16;
  config.intermediate_size = 20;
  config.max_position_embeddings = 16;
  config.type_vocab_size = 0;
  config.layer_norm_eps = 1e-5;
  config.rescale_embeddings = true;
  config.attention = AttentionPattern::full;
  config.embedding_norm = EmbeddingNorm::none;
  config.position_type = PositionType::sinusoidal;
  config.activation = Activation::relu;
  config.head = head;
  config.pooler = false;
  config.num_labels = 2;
  config.documents = {.num_hidden_layers = 2, .sentences = 8, .sentence_length = 12};
  config.decoder = {
      .num_hidden_layers = 2, .num_attention_heads = 2, .intermediate_size = 20, .start_token_id = 1};
  return config;
}

// Sentences of these ids, document after document.
inline void append_sentences(Batch& batch, const ModelConfig& config,
                             const std::vector<std::vector<std::int32_t>>& sentences) {
  for (const std::vector<std::int32_t>& ids : sentences)
    batch.append(ids, {}, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
  batch.documents.sentence_offsets.push_back(batch.sequences());
}

inline void append_written(Batch& batch, const ModelConfig& config, std::int32_t sentence,
                           const std::vector<std::int32_t>& ids) {
  std::vector<std::int32_t> read = ids;
  read.insert(read.begin(), static_cast<std::int32_t>(config.decoder.start_token_id));
  read.pop_back();
  batch.documents.written.push_back(sentence);
  batch.targets.append(read, ids, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
}

// The documents of tests/peers/make_hibert.py.
inline Batch hierarchy_batch(const ModelConfig& config) {
  Batch batch;
  append_sentences(batch, config, {{5, 9, 11, 2}, {7, 2}, {12, 13, 14, 15, 16, 2}});
  append_sentences(batch, config, {{8, 8, 3, 2}, {21, 4, 19, 20, 2}});
  if (config.writes_sentences()) {
    append_written(batch, config, 1, {6, 17, 2});
    append_written(batch, config, 3, {10, 18, 22, 7, 2});
  } else {
    batch.sequence_labels = {1, 0, ignored_label, 0, 1};
  }
  return batch;
}

inline reference::HierarchyConfig reference_hierarchy(const ModelConfig& config) {
  return {reference_config(config), static_cast<std::size_t>(config.documents.num_hidden_layers),
          static_cast<std::size_t>(config.decoder.num_hidden_layers)};
}

inline reference::HierarchyInput reference_documents(const Batch& batch) {
  reference::HierarchyInput input;
  const auto part = [](const std::vector<std::int32_t>& all, std::int64_t first, std::int64_t count,
                       auto& to) { to.emplace_back(all.begin() + first, all.begin() + first + count); };
  for (std::size_t s = 0; s < batch.lengths.size(); ++s)
    part(batch.ids, batch.token_offsets[s], batch.lengths[s], input.sentences);
  const std::vector<std::int64_t>& offsets = batch.documents.sentence_offsets;
  for (std::size_t d = 0; d + 1 < offsets.size(); ++d)
    input.sentence_counts.push_back(static_cast<std::size_t>(offsets[d + 1] - offsets[d]));
  input.written.assign(batch.documents.written.begin(), batch.documents.written.end());
  for (std::size_t s = 0; s < batch.targets.lengths.size(); ++s) {
    const std::int64_t first = batch.targets.token_offsets[s], count = batch.targets.lengths[s];
    part(batch.targets.ids, first, count, input.read);
    part(batch.targets.labels, first, count, input.next);
  }
  input.labels.assign(batch.sequence_labels.begin(), batch.sequence_labels.end());
  return input;
}

// Of rows with padding, those of real tokens.
inline std::vector<float> real_rows(const std::vector<float>& rows, const Batch& batch, std::int64_t width) {
  std::vector<float> real;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const auto first = rows.begin() + batch.token_offsets[s] * width;
    real.insert(real.end(), first, first + batch.lengths[s] * width);
  }
  return real;
}

}  // namespace bigbird::testing
