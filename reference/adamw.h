// The two published variants of AdamW, on one tensor at a time.
#pragma once

#include <cstdint>

#include "reference/tensor.h"

namespace bigbird::reference {

enum class AdamWVariant {
  // google-research/bigbird: no bias correction; p -= lr * (m / (sqrt(v) + epsilon) + decay * p).
  // Its epsilon is 1e-6.
  google,
  // torch.optim.AdamW: with m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t), p -= lr * decay * p, then
  // p -= lr * m' / (sqrt(v') + epsilon). Its epsilon is 1e-8 by default.
  torch,
};

struct AdamWOptions {
  AdamWVariant variant = AdamWVariant::google;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;  // 0 for tensors outside the decay group
};

struct AdamWState {
  Vector first_moment;
  Vector second_moment;
  std::int64_t updates = 0;  // made so far
};

// One update in place. A fresh state is empty. m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2.
void adamw_update(const AdamWOptions& options, double learning_rate, const Vector& gradient,
                  Vector& parameters, AdamWState& state);

}  // namespace bigbird::reference
