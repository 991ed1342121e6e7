// The linear layer in int8, plainly: what integers stand for the weights and the activations, and the layer's
// output from sums of their products, which are whole numbers and exact.
//
//   weights      one scale for each output channel: the largest |w| of its row over 127, rounded up to 17
//                bits, so that a scale times an integer of 7 bits is a float exactly
//   activations  one scale for each row (token): the way from its least to its largest value, 0 among them,
//                over 255; x over that to the nearest integer (ties to even), and so many steps above the
//                least that all are 0 to 255; every step rounded to fp32
//
// Rows whose largest |value| is below 2^-100 are rows of zeros. A row with a value that is not finite has a NaN
// for its scale, and so NaN for everything that is computed from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

struct Int8Rows {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<int> integers;  // [rows, columns]: of weights -127 to 127, of activations from 0, -255 to 255
  std::vector<float> scales;  // [rows]
};

Int8Rows int8_weights(const std::vector<float>& weight, std::size_t rows, std::size_t columns);
Int8Rows int8_activations(const std::vector<float>& x, std::size_t rows, std::size_t columns);

// integers * scales, in double.
Matrix dequantized(const Int8Rows& rows);

// y = scale of the row * scale of the channel * sum of the integers' products + bias; x [rows, in], weight
// [out, in]. An empty bias means none.
Matrix int8_linear_forward(const Int8Rows& x, const Int8Rows& weight, const Vector& bias);

}  // namespace bigbird::reference
