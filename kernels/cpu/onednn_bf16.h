// bf16 GEMMs with fp32 sums through oneDNN, for processors that have AVX-512's bf16 instructions
// and no tiles (those use amx.h). The block of rows has a fixed height, so that a row's result does not
// depend on how many rows there are: oneDNN picks its kernel, and with it the order of sums, by the whole
// shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/types.h"

namespace bigbird::kernels {

// Whether oneDNN is compiled in and finds the instructions on this machine (ONEDNN_MAX_CPU_ISA limits it).
bool onednn_has_bf16();

// c[rows, n] = a[rows, k] b[k, n] for one (n, k), rows of c being c_row apart. Immutable after construction,
// which must happen outside of parallel regions; its functions run on the calling thread alone and may be
// called from many at once.
class OnednnBf16Product {
 public:
  static constexpr Index rows = 128;

  OnednnBf16Product(Index n, Index k, Index c_row);
  ~OnednnBf16Product();
  OnednnBf16Product(const OnednnBf16Product&) = delete;
  OnednnBf16Product& operator=(const OnednnBf16Product&) = delete;

  // Bytes, multiples of 64, of a packed b and of what each of the two functions works in.
  Index packed_bytes() const;
  Index pack_scratch_bytes() const;
  Index multiply_scratch_bytes() const;

  // b in bf16, element (p, j) at b[j * k + p], in the order that the product wants. Buffers are 64-byte
  // aligned.
  void pack(const std::uint16_t* b, void* packed, void* scratch) const;
  void multiply(const std::uint16_t* a, const void* packed, float* c, void* scratch) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bigbird::kernels
