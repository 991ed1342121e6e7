// Floats as pairs of bf16 numbers that are neighbours in the depth of a product, 32 bits each, and the
// instruction that adds the two products of a pair to a float: with "pair" for "float" the tiles are those of
// levels/tile.h. For each processor:
//   PairProduct        one pair against a vector of them
//   pair_row           a row of floats, times a scale, as pairs
//   transpose_pairs    rows of them, pairs first
//   paired             pairs of two rows of floats
#pragma once

#if defined(__ARM_NEON)
#include "kernels/cpu/levels/bf16/pairs_neon.h"
#else
#include "kernels/cpu/levels/bf16/pairs_avx512.h"
#endif
