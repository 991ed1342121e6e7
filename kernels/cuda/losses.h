// Losses on logits with their gradients in the same pass. Launchers of losses.cu, plain C++. Semantics are
// those of the operations of the same name in kernels/backend.h: statistics in fp32 or wider, `scale` on the
// device.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// Logits and their gradient each have any type; the gradient may be the logits or null, predictions may be
// null. Two passes over each row: maximum and sum together, then the gradient.
void cross_entropy(const ConstMatrix& logits, const ClassLabels& labels, float* losses,
                   std::int32_t* predictions, const LossGradient& gradient, Stream stream);
void binary_cross_entropy(const ConstMatrix& logits, const float* targets, float positive_weight,
                          float* losses, const LossGradient& gradient, Stream stream);
void squared_error(const ConstMatrix& x, const float* targets, float* losses, const LossGradient& gradient,
                   Stream stream);
// A block for each group, in double. The gradient may be the logits where it is fp32.
void token_losses(const float* logits, const TokenGroups& groups, bool softmax, float* losses,
                  const LossGradient& gradient, Stream stream);

}  // namespace bigbird::kernels::cuda
