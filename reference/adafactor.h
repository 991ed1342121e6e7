// Adafactor (Shazeer and Stern 2018), on one tensor at a time: as tensor2tensor has it for
// google-research/bigbird, and transformers with relative_step=False, scale_parameter=True, beta1=None and no
// weight decay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

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

}  // namespace bigbird::reference
