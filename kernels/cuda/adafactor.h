// kernels/cuda holds the CUDA backend: kernels written against device.cuh alone, products by cuBLASLt where
// it is found, memory, copies, graphs. CUDA itself is spoken in three files.
//
// Adafactor. Launcher of adafactor.cu, plain C++.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// A tensor, and from which block on each launch works on it.
struct AdafactorPlace {
  AdafactorTensor tensor;
  Index row_block = 0;     // over rows: only of what has means of rows
  Index column_block = 0;  // over columns
  Index part_block = 0;    // over parts of rows
  Index part_blocks = 0;   // how many of the last
};

// All tensors of an update, side by side in every launch.
class AdafactorPlaces {
 public:
  explicit AdafactorPlaces(std::span<const AdafactorTensor> tensors);

  const std::vector<AdafactorPlace>& places() const { return places_; }
  Index count() const { return static_cast<Index>(places_.size()); }
  Index row_blocks() const { return row_blocks_; }
  Index column_blocks() const { return column_blocks_; }
  Index part_blocks() const { return part_blocks_; }
  // The places, a mean of all rows and a step for each tensor, two sums for each block over parts.
  std::size_t place_bytes() const { return places_.size() * sizeof(AdafactorPlace); }
  std::size_t scratch_bytes() const {
    return place_bytes() + static_cast<std::size_t>(2 * count() + 2 * part_blocks_) * sizeof(double);
  }

 private:
  std::vector<AdafactorPlace> places_;
  Index row_blocks_ = 0;
  Index column_blocks_ = 0;
  Index part_blocks_ = 0;
};

// One update of all tensors, in six launches. arrays.scratch has scratch_bytes(), and begins with the places
// (place_bytes()), which the caller has brought there. Parameters and state are fp32 and written in place;
// copy (bf16, of the numbering of the parameters, may be null) receives the new parameters rounded to
// nearest. Sums are made in double and in an order fixed by the shapes.
void adafactor(const AdafactorArrays& arrays, bf16* copy, const AdafactorPlaces& tensors,
               const AdafactorStep& step, Stream stream);

}  // namespace bigbird::kernels::cuda
