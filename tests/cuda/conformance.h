// Probes of device.cuh, attention/tiles.cuh and attention/warpgroup.cuh: kernels that do one thing, registers
// in and registers out. test_conformance.cpp says what has to come out. All memory is the device's. Lane L
// has words L * n and following of what says [32][n].
#pragma once

#include <cstdint>

#include "kernels/bf16.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda::testing {

// d[32][4] = c[32][4] + a[32][4] b[32][2].
void probe_mma_bf16(const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d, Stream stream);
void probe_mma_tf32(const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d, Stream stream);

// r[32][4] of 4 matrices of 8 rows of 8; row i of them (of 32) is rows[i * 8] and following.
void probe_load_matrix(const bf16* rows, std::uint32_t* r, bool transposed, Stream stream);

// to[4][32] chunks of 4 floats: copied from from[4][32] by four groups of copies, but for the chunks of odd
// lanes in groups 1 and 3, which are copied as not valid over what was there.
void probe_copies(const float* from, float* to, Stream stream);

// Of each x: to_bf16, pack_bf16_fast(x, -x), to_tf32, and to_float of the bf16 of its upper half.
struct Conversions {
  std::uint32_t* narrow;
  std::uint32_t* packed;
  std::uint32_t* tf32;
  float* widened;
};
void probe_conversions(const float* x, Index count, const Conversions& to, Stream stream);
// 2^x and log2(x).
void probe_exp_log(const float* x, Index count, float* exp2, float* log2, Stream stream);

// What lane L of one warp gets of value L: shuffle from 31 - L, from 7; shuffle_xor 1, 2, 4, 8, 16;
// shuffle_down 1, 16; warp_sum; warp_max.
constexpr int shuffles = 11;
void probe_shuffles(const float* values, float* to /* [32][shuffles] */, Stream stream);
void probe_shuffles(const double* values, double* to, Stream stream);  // the last is the sum again
// ballot of (value != 0), and the lowest bit of it.
void probe_ballot(const std::int32_t* values, std::uint32_t* to /* [32][2] */, Stream stream);

// Each of 4 x 3 blocks of 64 threads: atomic_add of `value` to sums[0], of its block's number in the grid to
// sums[1 + index % 4].
void probe_additions(float value, float* sums, Stream stream);

// Packs of 2, 4, 8 and 16 bytes from `from`, through shared memory, to `to`, 128 halves each.
void probe_packs(const bf16* from, bf16* to /* [4][128] */, Stream stream);

// Products of attention's tiles, 64 rows of `width` (32, 64, 128) elements (float or bf16): of the left
// operand `a` [64, width] with `tile` [64, width], scores [64, 64] = a tile^T, and of p [64, 64], sums [64,
// width] = p tile. left: where a is read from.
enum class Left { global, shared_rows, shared };
template <class Element>
void probe_attention(int width, Left left, bool exact, const Element* a, const Element* tile, const float* p,
                     float* scores, float* sums, Stream stream);

// conformance_warpgroup.cu: one product of 64 x 64 tiles by a warpgroup, c[64, 64] = a tile^T, or a tile
// where transposed. The descriptor of the tile is made of these, which are right as they stand.
struct WarpgroupProbe {
  bool a_in_registers = false;
  bool transposed = false;
  std::uint64_t mode = 1;     // 128-byte swizzle
  std::uint64_t stride = 64;  // between groups of eight rows, and the leading offset, in units of 16 bytes
  std::uint64_t leading = 1;
};
void probe_warpgroup(const WarpgroupProbe& probe, const bf16* a, const bf16* tile, float* c, Stream stream);

}  // namespace bigbird::kernels::cuda::testing
