// The sums of a tensor core as published measurements have them (Fasi, Higham, Mikaitis and Pranesh 2021;
// NVIDIA documents only that they are at least as precise as fp32 with its roundings left open): products are
// exact; those of a group and the accumulator are shifted to the largest exponent among them, kept to 24
// bits, cut and not rounded, and added; the sum is cut to 24 bits once more.
#pragma once

#include <cstddef>

namespace bigbird::kernels::cuda::emulation {

// Products that one addition takes together on an A100, the fewest of the devices that we build for: the
// fewer, the more cuts.
inline constexpr std::size_t bf16_group = 8;
inline constexpr std::size_t tf32_group = 4;

// c[column] += sum of a[k] b[k * stride + column] over k < count, at most 8, for 8 columns.
// Number: float or double, of values that float has.
template <class Number>
void add_truncated(float* c, const Number* a, const Number* b, std::size_t stride, std::size_t count);

// c[16][8] += a[16][K] b[K][8], k ascending: sums of groups as above with options().truncated_sums, else each
// addition rounded. For K of 16 with bf16_group and of 8 with tf32_group.
template <std::size_t group, std::size_t K>
void add_products(float (&c)[16][8], const float (&a)[16][K], const float (&b)[K][8]);

}  // namespace bigbird::kernels::cuda::emulation
