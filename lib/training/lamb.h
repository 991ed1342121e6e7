// LAMB over the slices of ranks: tensors cut into pieces that are summed alike on any number of ranks, and
// the rate that each tensor has of its squares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ranks/slice_sums.h"

namespace bigbird {

// A tensor that is updated, of an arena.
struct LambTensor {
  std::int64_t offset = 0;
  std::int64_t count = 0;
  bool decay = false;  // else its ratio is 1 as well (etcmodel: LayerNorm and biases)
  double rate = 1.0;   // fraction of the learning rate
};

class LambUpdate {
 public:
  // Of `count` floats in the arena. Referred to: backend and slices.
  LambUpdate(kernels::Backend& backend, kernels::SliceSums& slices, std::vector<LambTensor> tensors,
             std::int64_t count);

  // Collective. The arrays are those of this rank's slice. w -= learning_rate * ratio * u with ratio = |w| /
  // |u| over the whole tensor, 1 where either is 0 (Backend::lamb_moments() has u).
  void run(const kernels::LambArrays& arrays, double learning_rate, const kernels::LambStep& step);

  // Of LambArrays::scratch on any rank.
  static std::size_t scratch_bytes(const kernels::Backend& backend, const std::vector<LambTensor>& tensors,
                                   std::int64_t count);

 private:
  kernels::Backend& backend_;
  kernels::SliceSums& slices_;
  std::vector<LambTensor> tensors_;
  std::vector<std::size_t> tensor_of_;   // of every piece of all ranks
  std::vector<kernels::LambPiece> own_;  // counted from where the own slice begins
  std::size_t first_own_ = 0;            // its number among all
};

}  // namespace bigbird
