// See embeddings.h.
#include "lib/model/network/embeddings.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bigbird {
namespace {

// 0.. within every sequence. Padding may reach past the table when its size is no multiple of the block size:
// padded rows influence nothing, so they repeat the last position.
std::vector<std::int32_t> positions_of(const PassContext& pass) {
  std::vector<std::int32_t> positions;
  positions.reserve(pass.batch.ids.size());
  const std::int64_t last = pass.config.max_position_embeddings - 1;
  for (std::size_t s = 0; s + 1 < pass.batch.token_offsets.size(); ++s) {
    const std::int64_t count = pass.batch.token_offsets[s + 1] - pass.batch.token_offsets[s];
    for (std::int64_t i = 0; i < count; ++i)
      positions.push_back(static_cast<std::int32_t>(std::min(i, last)));
  }
  return positions;
}

// The ids, with -1 for the pad token: as an input it never teaches its own row (padding_idx in Hugging Face).
// Padding has a gradient at all only where a head looks at every position, as that for questions may; a
// decoder reads pad tokens where labels are to be ignored.
std::vector<std::int32_t> rows_to_update(const PassContext& pass) {
  std::vector<std::int32_t> ids = pass.batch.ids;
  std::replace(ids.begin(), ids.end(), static_cast<std::int32_t>(pass.config.pad_token_id), -1);
  return ids;
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

void embeddings_stage(const PassContext& pass, const EmbeddingActivations& kept) {
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
  };
  upload(kept.ids, pass.batch.ids);
  upload(kept.types, pass.batch.types);
  upload(kept.positions, positions_of(pass));
  if (kept.updated_rows != nullptr) upload(kept.updated_rows, rows_to_update(pass));
  const std::vector<float>& offsets = pass.batch.embedding_offsets;
  if (!offsets.empty()) {
    pass.backend.upload_values(kept.offsets, offsets.data(), static_cast<kernels::Index>(offsets.size()));
  }
}

void embeddings_forward(const PassContext& pass, const EmbeddingTensors& tensors,
                        const EmbeddingActivations& kept, kernels::Values output) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  const EmbeddingNorm norm = pass.config.embedding_norm;
  const kernels::Values sum = norm == EmbeddingNorm::none ? output : kept.sum;
  backend.embedding_forward({kept.ids, kept.types, kept.positions, rows},
                            embedding_tables(pass.config, tensors), sum);
  if (!pass.batch.embedding_offsets.empty()) backend.add(kept.offsets, sum, rows * width);
  const kernels::Dropout dropout = pass.dropout(DropoutSite::embeddings, 0);
  const auto drop = [&](kernels::Values values) {
    if (dropout.probability > 0) backend.dropout(values, values, rows * width, dropout);
  };
  if (norm != EmbeddingNorm::before_dropout) drop(sum);
  if (norm != EmbeddingNorm::none) {
    backend.layernorm_forward(sum, tensors.norm, output, kept.norm_state, rows);
  }
  if (norm == EmbeddingNorm::before_dropout) drop(output);
}

void embeddings_backward(const PassContext& pass, const EmbeddingTensors& tensors,
                         const EmbeddingTensors& gradients, const EmbeddingActivations& kept,
                         kernels::Values gradient) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index rows = pass.tokens(), width = pass.width();
  const EmbeddingNorm norm = pass.config.embedding_norm;
  const kernels::Dropout dropout = pass.dropout(DropoutSite::embeddings, 0);
  const auto drop = [&] {
    if (dropout.probability > 0) backend.dropout(gradient, gradient, rows * width, dropout);
  };
  if (norm == EmbeddingNorm::before_dropout) drop();
  if (norm != EmbeddingNorm::none) {
    backend.layernorm_backward({gradient, kept.sum, kept.norm_state, gradient, rows}, tensors.norm,
                               gradients.norm, false);
  }
  if (norm != EmbeddingNorm::before_dropout) drop();
  backend.embedding_backward(gradient, {kept.updated_rows, kept.types, kept.positions, rows},
                             embedding_tables(pass.config, tensors),
                             {gradients.word, gradients.type, gradients.position});
}

}  // namespace bigbird
