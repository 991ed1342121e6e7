// What the heads with scores of tokens share: the loss of one score against its groups of tokens
// (TokenTargets in batch.h).
#pragma once

#include "lib/model/network/batch.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"

namespace bigbird {

// Brings the targets to the device.
void token_targets_stage(const PassContext& pass, const TokenTargets& targets,
                         const TokenTargetActivations& kept);
// kept.losses of logits [T], and their gradient [T] where it is wanted: zeros for tokens of no group.
void token_loss(const PassContext& pass, const TokenTargets& targets, const TokenTargetActivations& kept,
                bool softmax, const float* logits, const kernels::LossGradient& gradient);
// The losses read back and added up in order.
double sum_token_losses(const PassContext& pass, const TokenTargets& targets,
                        const TokenTargetActivations& kept);

}  // namespace bigbird
