// See embeddings.h.
#include "lib/model/network/embeddings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "lib/model/network/stem.h"

namespace bigbird {
namespace {

// 0.. within every sequence, and within its global tokens. Padding may reach past the table when its size is
// no multiple of the block size: padded rows influence nothing, so they repeat the last position.
std::vector<std::int32_t> positions_of(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(batch.rows()));
  const std::int64_t last = config.max_position_embeddings - 1;
  for (const auto* offsets : {&batch.token_offsets, &batch.globals.token_offsets}) {
    for (std::size_t s = 0; s + 1 < offsets->size(); ++s) {
      const std::int64_t count = (*offsets)[s + 1] - (*offsets)[s];
      for (std::int64_t i = 0; i < count; ++i)
        positions.push_back(static_cast<std::int32_t>(std::min(i, last)));
    }
  }
  return positions;
}

// Of all rows: the long ones, then the global ones.
std::vector<std::int32_t> of_both(std::vector<std::int32_t> longs, const std::vector<std::int32_t>& globals) {
  longs.insert(longs.end(), globals.begin(), globals.end());
  return longs;
}

// Rows with a LayerNorm and positions of their own among the embeddings: all, or those of each input.
struct EmbeddedRows {
  kernels::Index first = 0, count = 0;
  EmbeddingTensors tensors;
};
std::vector<EmbeddedRows> embedded_rows(const PassContext& pass, const EmbeddingTensors& tensors) {
  const kernels::Index longs = pass.batch.tokens(), globals = pass.batch.globals.tokens();
  std::vector<EmbeddedRows> rows{{0, longs, tensors}};
  if (pass.etc == nullptr) return rows;
  EmbeddingTensors second = tensors;
  second.position = tensors.global_position;
  second.norm = tensors.global_norm;
  rows.push_back({longs, globals, second});
  return rows;
}
kernels::EmbeddingIndices indices_of(const EmbeddedRows& rows, const std::int32_t* ids,
                                     const EmbeddingActivations& kept) {
  return {ids + rows.first, kept.types + rows.first, kept.positions + rows.first, rows.count,
          kept.word_scales == nullptr ? nullptr : kept.word_scales + rows.first};
}
NormState state_of(const EmbeddedRows& rows, const NormState& state) {
  if (state.mean == nullptr) return state;
  return {state.mean + rows.first, state.rstd + rows.first};
}

// The ids, with -1 for the pad token: as an input it never teaches its own row (padding_idx in Hugging Face).
// Padding has a gradient at all only where a head looks at every position, as that for questions may; a
// decoder reads pad tokens where labels are to be ignored.
std::vector<std::int32_t> rows_to_update(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> ids = of_both(batch.ids, batch.globals.ids);
  std::replace(ids.begin(), ids.end(), static_cast<std::int32_t>(config.pad_token_id), -1);
  return ids;
}

// A model with one token type gives it to all tokens: RoBERTa's and Longformer's inputs have none.
std::vector<std::int32_t> types_of(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> types = of_both(batch.types, batch.globals.types);
  if (config.type_vocab_size <= 1) std::fill(types.begin(), types.end(), 0);
  return types;
}

// What token dropout multiplies the word rows by.
std::vector<float> word_scales_of(const ModelConfig& config, const Batch& batch) {
  std::vector<float> scales(batch.ids.size());
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const auto begin = static_cast<std::size_t>(batch.token_offsets[s]);
    const auto end = static_cast<std::size_t>(batch.token_offsets[s + 1]);
    const auto is_mask = [&](std::int32_t id) { return id == config.mask_token_id; };
    const auto first = batch.ids.begin() + batch.token_offsets[s];
    const auto masked = static_cast<double>(std::count_if(first, first + batch.lengths[s], is_mask));
    // Padding that a call was given with counts: transformers 4.57.1 forgets the mask here.
    const double share = masked / static_cast<double>(batch.given_length(s));
    // With nothing else there is no row to be scaled.
    const double scale = share < 1.0 ? kept_by_token_dropout / (1.0 - share) : 0.0;
    for (std::size_t t = begin; t < end; ++t)
      scales[t] = is_mask(batch.ids[t]) ? 0.0f : static_cast<float>(scale);
  }
  return scales;
}

// Tokens by their keys, those of one key ascending; keys below 0 last.
void append_order(const std::vector<std::int32_t>& keys, std::int64_t key_count,
                  std::vector<std::int32_t>& to) {
  const auto place_of = [&](std::int32_t key) {
    return static_cast<std::size_t>(key < 0 ? key_count : std::int64_t{key});
  };
  std::vector<std::size_t> next(static_cast<std::size_t>(key_count) + 2);
  for (const std::int32_t key : keys) ++next[place_of(key) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::size_t first = to.size();
  to.resize(first + keys.size());
  for (std::size_t token = 0; token < keys.size(); ++token)
    to[first + next[place_of(keys[token])]++] = static_cast<std::int32_t>(token);
}

}  // namespace

kernels::EmbeddingTables embedding_tables(const ModelConfig& config, const EmbeddingTensors& tensors) {
  kernels::EmbeddingTables tables;
  tables.word = tensors.word;
  tables.type = tensors.type;
  tables.position = tensors.position;
  if (config.rescale_embeddings)
    tables.word_scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
  tables.width = config.hidden_size;
  tables.vocabulary = config.vocab_size;
  tables.types = config.type_vocab_size;
  tables.positions = config.max_position_embeddings;
  return tables;
}

std::vector<std::int32_t> embedding_orders(const ModelConfig& config, const Batch& batch) {
  std::vector<std::int32_t> orders;
  orders.reserve(3 * static_cast<std::size_t>(batch.rows()));
  append_order(rows_to_update(config, batch), config.vocab_size, orders);
  append_order(types_of(config, batch), std::max<std::int64_t>(config.type_vocab_size, 1), orders);
  append_order(positions_of(config, batch), config.max_position_embeddings, orders);
  return orders;
}

void embeddings_stage(const PassContext& pass, const EmbeddingActivations& kept) {
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
  };
  upload(kept.ids, of_both(pass.batch.ids, pass.batch.globals.ids));
  upload(kept.types, types_of(pass.config, pass.batch));
  upload(kept.positions, positions_of(pass.config, pass.batch));
  if (kept.word_scales != nullptr) {
    const std::vector<float> scales = word_scales_of(pass.config, pass.batch);
    pass.backend.upload(kept.word_scales, scales.data(), scales.size() * sizeof(float));
  }
  if (kept.updated_rows != nullptr) upload(kept.updated_rows, rows_to_update(pass.config, pass.batch));
  if (kept.orders != nullptr)
    upload(kept.orders,
           pass.batch.row_orders.empty() ? embedding_orders(pass.config, pass.batch) : pass.batch.row_orders);
  if (pass.stem != nullptr) stem_stage(pass, kept.stem);
  const std::vector<float>& offsets = pass.batch.embedding_offsets;
  if (!offsets.empty()) {
    pass.backend.upload_values(kept.offsets, offsets.data(), static_cast<kernels::Index>(offsets.size()));
  }
}

void embeddings_forward(const PassContext& pass, const EmbeddingTensors& tensors,
                        const EmbeddingActivations& kept, kernels::Values output) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.embedded(), width = pass.width();
  const EmbeddingNorm norm = pass.config.embedding_norm;
  const kernels::Values sum = norm == EmbeddingNorm::none ? output : kept.sum;
  const std::vector<EmbeddedRows> inputs = embedded_rows(pass, tensors);
  if (pass.stem != nullptr) stem_forward(pass, tensors.stem, kept.stem, sum);
  for (const EmbeddedRows& input : inputs) {
    if (pass.stem != nullptr) break;
    backend.embedding_forward(indices_of(input, kept.ids, kept), embedding_tables(pass.config, input.tensors),
                              sum + input.first * width);
  }
  if (!pass.batch.embedding_offsets.empty()) backend.add(kept.offsets, sum, pass.batch.tokens() * width);
  const kernels::Dropout dropout = pass.dropout(DropoutSite::embeddings, 0);
  const auto drop = [&](kernels::Values values) {
    if (dropout.probability > 0) backend.dropout(values, values, rows * width, dropout);
  };
  if (norm != EmbeddingNorm::before_dropout) drop(sum);
  for (const EmbeddedRows& input : inputs) {
    if (norm == EmbeddingNorm::none) break;
    const kernels::Index first = input.first * width;
    backend.layernorm_forward(sum + first, input.tensors.norm, output + first,
                              state_of(input, kept.norm_state), input.count);
  }
  if (norm == EmbeddingNorm::before_dropout) drop(output);
  if (const kernels::Index spans = pass.batch.span_nodes * width; spans > 0) {
    const kernels::Values nodes = output + rows * width;
    backend.zero(nodes.data(), static_cast<std::size_t>(spans) * kernels::size_of(nodes.type()));
  }
}

void embeddings_backward(const PassContext& pass, const EmbeddingTensors& tensors,
                         const EmbeddingTensors& gradients, const EmbeddingActivations& kept,
                         kernels::Values gradient) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.embedded(), width = pass.width();
  const EmbeddingNorm norm = pass.config.embedding_norm;
  const kernels::Dropout dropout = pass.dropout(DropoutSite::embeddings, 0);
  const auto drop = [&] {
    if (dropout.probability > 0) backend.dropout(gradient, gradient, rows * width, dropout);
  };
  if (norm == EmbeddingNorm::before_dropout) drop();
  const std::vector<EmbeddedRows> inputs = embedded_rows(pass, tensors), to = embedded_rows(pass, gradients);
  for (std::size_t i = 0; norm != EmbeddingNorm::none && i < inputs.size(); ++i) {
    const kernels::Values part = gradient + inputs[i].first * width;
    backend.layernorm_backward({part, kept.sum + inputs[i].first * width,
                                state_of(inputs[i], kept.norm_state), part, inputs[i].count},
                               inputs[i].tensors.norm, to[i].tensors.norm, false);
  }
  if (norm != EmbeddingNorm::before_dropout) drop();
  if (pass.stem != nullptr) return stem_backward(pass, tensors.stem, gradients.stem, kept.stem, gradient);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EmbeddingTensors& sums = to[i].tensors;
    kernels::EmbeddingIndices indices = indices_of(inputs[i], kept.updated_rows, kept);
    if (kept.orders != nullptr) {
      indices.id_order = kept.orders;
      indices.type_order = kept.orders + rows;
      indices.position_order = kept.orders + 2 * rows;
    }
    backend.embedding_backward(gradient + inputs[i].first * width, indices,
                               embedding_tables(pass.config, inputs[i].tensors),
                               {sums.word, sums.type, sums.position});
  }
}

}  // namespace bigbird
