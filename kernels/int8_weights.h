// The weights of one output channel in int8: its integers and the scale that they have in common. What a
// model folder keeps and what backends pack are made here, so that they are the same. reference/int8_linear.h
// has the plain meaning.
#pragma once

#include <cstdint>

#include "kernels/types.h"

namespace bigbird::kernels {

// Integers of -127 to 127; the scale is what is returned: the largest |weight| over 127, rounded up to 17
// bits, so that a scale times an integer is a float exactly, and what is dequantized and quantized again is
// the same to the last bit. Weights that are all below 2^-100 are zeros, with 0 for their scale. NaN, and
// zeros, when one is not finite.
float quantize_int8_weights(const float* from, Index count, std::int8_t* to);

// The weights become scale times integer.
void round_to_int8(float* weights, Index count);

}  // namespace bigbird::kernels
