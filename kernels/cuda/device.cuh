// The thin layer that every kernel is written against, and nothing else of CUDA. nvcc compiles a kernel
// against device_nvidia.cuh for the device; an ordinary C++ compiler compiles the same lines against
// emulation/device_emulation.h, which runs them thread by thread and checks every step (tests only).
//
// A kernel is a plain struct: its members are its arguments (passed by value), operator() is what one thread
// does.
//
//   struct Scale {
//     static constexpr int threads = 256;      // of a block; a multiple of 32
//     static constexpr int blocks_per_sm = 4;  // that are to fit at once: it bounds the registers
//     float* x;
//     Index count;
//     float factor;
//     BIGBIRD_DEVICE void operator()(Thread& thread) const {
//       const Index i = Index{thread.block()} * threads + thread.index();
//       if (i < count) x[i] *= factor;
//     }
//   };
//   launch(Scale{x, count, 2.0f}, {.blocks = blocks_for(count, Scale::threads)}, stream);
//
// What a Thread can do (the same names in both headers):
//
//   index()                   of the thread in its block
//   index_again()             the same, read anew, so that what is made of it takes no register between uses
//   lane(), warp()            index() % 32, index() / 32
//   block(), block_y()        of the block in the grid
//   blocks(), blocks_y()      of the grid
//
//   barrier()                 all threads of the block; orders shared and global memory among them
//   warp_barrier()            the 32 lanes of the warp; orders memory among them
//   shuffle(v, lane)          v of another lane; v: float, int, unsigned or double
//   shuffle_xor(v, mask)      that of lane ^ mask
//   shuffle_down(v, delta)    that of lane + delta
//   ballot(condition)         one bit per lane
//
//   shared<T>(offset, count)  a typed slice of the block's dynamic shared memory, from byte `offset` on:
//                             Shared<T>. Slices may overlap (a reused buffer)
//   copy_async(to, i, from)   16 bytes from global `from` to shared to[i..], both 16-byte aligned. They
//                             arrive at a wait_copies() of this thread; others see them after a barrier
//                             behind that
//   copy_async(to, i, from, valid)
//                             zeros instead when not valid (`from` is not read)
//   commit_copies()           closes a group of this thread's copies
//   wait_copies<N>()          until at most the N youngest groups are still on their way. Nothing may be
//                             on its way when the thread returns
//
//   mma_bf16(c, a, b)         c += a b on a warp's fragments: c float[4], a uint32[4], b uint32[2], laid
//   mma_tf32(c, a, b)         out as PTX ISA "mma.m16n8k16" (bf16) and "mma.m16n8k8" (tf32)
//   load_matrix_4(r, s, i)    ldmatrix.x4: lane L gives the place s[i] of row L % 8 of 8x8 matrix L / 8
//                             (8 bf16, 16 bytes, aligned) and receives r[j] = elements 2 (L % 4), + 1 of
//                             row L / 4 of matrix j. All lanes read all rows: what lanes wrote needs a
//                             warp_barrier(). The rows of a matrix lie in different banks (16-byte
//                             columns modulo 128 bytes)
//   load_matrix_4_transposed(...)
//                             the same with every 8x8 matrix transposed
//   atomic_add(global, v)     v: float. The order of additions is not defined
//   atomic_add(global, v, w)  the same of two neighbours, 8-byte aligned; each of them is added by itself
//
// Products of a warpgroup, four warps in a row: wgmma, of sm_90a alone. Kernels with them are for blocks of a
// multiple of 128 threads and have their body under `if constexpr (warpgroup_products)`, which is false where
// the machine code is for another device. Nothing of them waits: what they read and add to is theirs from the
// call until warpgroup_wait().
//
//   matrix_descriptor(s)      of a tile of bf16 in rows of 64, TileLayout<bf16, 64> (attention/tiles.cuh):
//                             rows of 128 bytes in the 128-byte swizzle, s[0] at a multiple of 1,024 bytes.
//                             The next 16 columns are + matrix_columns, the next 16 rows + matrix_rows
//   warpgroup_fence()         before the first product, and after registers of one were touched
//   warpgroup_product<transposed>(c, a, b, adds)
//                             c[64, 64] = a[64, 16] b[16, 64], or + c with `adds`. c: float[8][4] of the 16
//                             rows of each warp, c[n] as of mma_bf16 for columns 8 n and following. a:
//                             uint32_t[4] as of mma_bf16, or the descriptor of 64 rows, 16 columns. b: that
//                             of 64 rows, whose 16 columns are k; transposed: of 16 rows, which are k, and
//                             64 columns
//   warpgroup_commit()        closes a group of products
//   warpgroup_wait<N>()       until at most the N youngest groups are on their way
//   fence_copies()            what copy_async() brought, and what was stored, is seen by products: after
//                             wait_copies() and before the barrier
//   keep_registers(c)         the compiler moves no access of c across
//
// Shared<T>, T of an even number of bytes: s[i] is read by value (T x = s[i], never auto) and assigned: the
// emulation watches each access, so there are no references to cells. s + n; s.template load<N>(i) and
// s.store(i, pack) move sizeof(T) * N <= 16 bytes at once, so aligned.
//
// Rules: all 32 lanes of a warp call a warp operation together, all threads of a block barrier(), each on the
// same line; loops and branches around them depend on values equal in the warp (block). Indices into register
// arrays are compile-time constants after unrolling. No static or global variables.
//
// The emulation throws EmulationError, with the kernel, block, thread and line, for: lanes that do not meet;
// two accesses of a cell of shared memory, one a write, with no barrier between; reads of shared memory that
// nobody wrote or where a copy has not arrived; accesses out of a slice, misaligned, or outside of allocated
// memory (load, store, copy_async and atomic_add; plain pointers are AddressSanitizer's); a cell of global
// memory that a block writes and another of the same launch reads or writes, unless all add to it by
// atomic_add. Of a warpgroup: products that its four warps do not make alike, registers touched without a
// fence or while they are in flight (they are NaN then), memory that is written while a product reads it, or
// read without fence_copies(). Fresh device memory is NaN.
#pragma once

#include <cstdint>

#include "kernels/bf16.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// N neighbours that travel in one access.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  static_assert(sizeof(T) * N <= 16);
  T value[static_cast<std::size_t>(N)];
  BIGBIRD_HOST_DEVICE T& operator[](int i) { return value[i]; }
  BIGBIRD_HOST_DEVICE const T& operator[](int i) const { return value[i]; }
};

// Of a descriptor, to the next 16 columns and the next 16 rows: 32 and 2,048 bytes in units of 16.
constexpr std::uint64_t matrix_columns = 2;
constexpr std::uint64_t matrix_rows = 128;

// PTX ISA, "Matrix descriptor": start address, leading and stride offsets in units of 16 bytes, and the mode.
// 1,024 bytes lie between groups of eight rows; the leading offset is not read of tiles so narrow.
BIGBIRD_HOST_DEVICE constexpr std::uint64_t descriptor_of(std::uint32_t address) {
  constexpr std::uint64_t swizzle_128_bytes = 1, stride = 1024, leading = 16;
  return swizzle_128_bytes << 62 | stride / 16 << 32 | leading / 16 << 16 | (address & 0x3ffffu) >> 4;
}

struct LaunchShape {
  Index blocks = 0;  // 0: nothing is launched
  Index blocks_y = 1;
  std::size_t shared_bytes = 0;
};

inline Index blocks_for(Index count, Index per_block) {
  return (count + per_block - 1) / per_block;
}

}  // namespace bigbird::kernels::cuda

// Defines Thread, Shared<T>, BIGBIRD_DEVICE, launch(), load<N>(global), store(global, pack), exp2_fast,
// log2_fast, lowest_bit.
#if defined(__CUDACC__)
#include "kernels/cuda/device_nvidia.cuh"
#else
#include "kernels/cuda/emulation/device_emulation.h"
#endif

namespace bigbird::kernels::cuda {

// Sum and maximum over a warp, in every lane, in the fixed order of a butterfly.
template <class T>
BIGBIRD_DEVICE T warp_sum(Thread& thread, T value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += thread.shuffle_xor(value, mask);
  return value;
}
BIGBIRD_DEVICE float warp_max(Thread& thread, float value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value = fmaxf(value, thread.shuffle_xor(value, mask));
  return value;
}

}  // namespace bigbird::kernels::cuda
