// What an update does to one tensor: the two published variants of AdamW, LAMB, Adafactor, and the learning
// rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

// LAMB (You et al. 2020) as etcmodel has it, without bias correction.
struct LambOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  bool excluded = false;  // a LayerNorm or a bias: no decay, and the ratio is 1
};

// One update of a whole tensor in place, moments as above. u = m / (sqrt(v) + epsilon) + decay * p;
// p -= learning_rate * ratio * u with ratio = |p| / |u|, 1 where either is 0.
void lamb_update(const LambOptions& options, double learning_rate, const Vector& gradient, Vector& parameters,
                 AdamWState& state);

// Adafactor (Shazeer and Stern 2018): as tensor2tensor has it for google-research/bigbird, and transformers
// with relative_step=False, scale_parameter=True, beta1=None and no weight decay.

// Means of squares, a fresh one empty: of a matrix over its rows and over its columns, of a vector the
// squares themselves.
struct AdafactorState {
  Vector rows;               // [rows], each a mean over the columns
  Vector columns;            // [columns], each a mean over the rows
  Vector squares;            // of a vector
  std::int64_t updates = 0;  // made so far
};

// One update in place, of a tensor of one or two dimensions. With t updates made, this one counted, and b =
// 1 - t^-0.8: means become b mean + (1 - b) (g^2 + 1e-30); u = g / sqrt(row / mean of all rows) /
// sqrt(column), or g / sqrt(square) of a vector; u /= max(1, rms(u)); p -= learning_rate max(rms(p), 1e-3) u.
void adafactor_update(double learning_rate, const std::vector<std::size_t>& shape, const Vector& gradient,
                      Vector& parameters, AdafactorState& state);

// Linear warm-up, then linear decay to zero, in the two published forms.
enum class ScheduleVariant {
  // Decay counted from step 0, base * (1 - step / total): the rate jumps down at the end of warm-up.
  google,
  // Decay counted from the end of warm-up: base * (total - step) / (total - warmup).
  hugging_face,
};

// The learning rate of the update after `step` updates (step 0 is the first). During warm-up (step < warmup)
// it is base * step / warmup in both; at and beyond `total` it is 0.
double learning_rate(ScheduleVariant variant, double base, std::int64_t step, std::int64_t warmup,
                     std::int64_t total);

}  // namespace bigbird::reference
