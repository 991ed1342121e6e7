// Losses on logits with their gradients in the same pass. Launchers of losses.cu, plain C++. Semantics are
// those of the operations of the same name in kernels/backend.h: statistics in fp32 or wider, `scale` on the
// device.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// logits and dlogits each have any type; dlogits may be logits or null, predictions may be null. Two passes
// over each row: maximum and sum together, then the gradient.
void cross_entropy(ConstValues logits, const std::int32_t* labels, float* losses, std::int32_t* predictions,
                   Values dlogits, const float* scale, Index rows, Index classes, Stream stream);
void binary_cross_entropy(ConstValues logits, const float* targets, float positive_weight, float* losses,
                          Values dlogits, const float* scale, Index rows, Index classes, Stream stream);
void squared_error(ConstValues x, const float* targets, float* losses, Values dx, const float* scale,
                   Index rows, Index columns, Stream stream);

}  // namespace bigbird::kernels::cuda
