// The stem of a model that reads single bases: a convolution of one-hot letters, an activation, and one row of
// the layers for every `stride` tokens, as the convolutional stems of Basenji (Kelley et al. 2018) and
// Enformer (Avsec et al. 2021) shorten their input before the layers. For token i, with the tokens j of its
// sequence,
//   a[i] = activation(bias + sum over d of table_d[id[i + d]]),  -kernel / 2 <= d <= kernel / 2,
//   row[r] = dense [a[r stride], ..., a[r stride + stride - 1]],
// where tokens outside of the sequence, and its padding, add nothing. Where the head predicts single tokens,
// every row is spread over its tokens again: b[r stride + k] = activation(spread_k row[r]).
//
// Batches, lengths, positions of masked tokens and the block size are counted in tokens everywhere outside of
// the network. Inside it, layers see the trunk: a config, limits and batches whose tokens are rows. A block
// of attention has as many tokens on both sides, so that plans have the same blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/model_limits.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// As they are for a model without a stem. Whole blocks: every sequence of `batch` is padded to them.
BatchLimits trunk_limits(const ModelConfig& config, const BatchLimits& limits);
Batch trunk_batch(const ModelConfig& config, const Batch& batch);

// Of every token T' of a batch the ids around it, [kernel, T'], -1 where there is none.
struct StemPass {
  std::vector<std::int32_t> rows;
};
void stem_pass(const ModelConfig& config, const Batch& batch, StemPass& to);

void stem_stage(const PassContext& pass, const StemActivations& kept);
// Fills sum [T, C], what stands before dropout and LayerNorm of the embeddings.
void stem_forward(const PassContext& pass, const StemTensors& tensors, const StemActivations& kept,
                  kernels::Values sum);
// gradient [T, C] is that of the sum; `work` is spent.
void stem_backward(const PassContext& pass, const StemTensors& tensors, const StemTensors& gradients,
                   const StemActivations& kept, kernels::ConstValues gradient);

// The states of single tokens, [T', C], out of the rows, in kept.tokens.
void spread_forward(const PassContext& pass, const StemTensors& tensors, const StemActivations& kept,
                    kernels::ConstValues hidden);
// kept.dtokens holds their gradient; gradient [T, C] of the rows is added to.
void spread_backward(const PassContext& pass, const StemTensors& tensors, const StemTensors& gradients,
                     const StemActivations& kept, kernels::ConstValues hidden, kernels::Values gradient);

// [T', C] of single tokens out of [T, C]: each has the values of its row.
std::vector<float> repeated_rows(const ModelConfig& config, const std::vector<float>& rows);

}  // namespace bigbird
