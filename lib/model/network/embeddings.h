// The input of a stack of layers: rows of tables for tokens, types and positions, summed.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// Input embeddings (docs/specification.md 2.1): word (times sqrt(C) when rescaled) + type + position (not for
// rotary positions), with what the batch adds to it (Batch::embedding_offsets), dropout, and a LayerNorm
// behind it, before it, or none (EmbeddingNorm).

// What token dropout scales to: the fraction of tokens that ESM's training run left unmasked.
inline constexpr double kept_by_token_dropout = 1.0 - 0.15 * 0.8;

// The tables of a model, or of its decoder, as an operation takes them.
kernels::EmbeddingTables embedding_tables(const ModelConfig& config, const EmbeddingTensors& tensors);

// What EmbeddingIndices calls id_order, type_order and position_order, end to end, of the rows that a
// backward pass adds to. By counting: no comparisons.
std::vector<std::int32_t> embedding_orders(const ModelConfig& config, const Batch& batch);

// Brings ids, types and positions of the batch to the device, and the orders where they are wanted.
void embeddings_stage(const PassContext& pass, const EmbeddingActivations& kept);
// Fills output [T, C].
void embeddings_forward(const PassContext& pass, const EmbeddingTensors& tensors,
                        const EmbeddingActivations& kept, kernels::Values output);
// gradient [T, C] is that of the output; it is overwritten.
void embeddings_backward(const PassContext& pass, const EmbeddingTensors& tensors,
                         const EmbeddingTensors& gradients, const EmbeddingActivations& kept,
                         kernels::Values gradient);

}  // namespace bigbird
