// The architectures of this program, as CMake has made it; the emulation has others.
#include <bigbird_cuda_architectures.h>  // made by CMake

#include "kernels/cuda/architectures.h"

namespace bigbird::kernels::cuda {

const Architectures& built_architectures() {
  static const Architectures built = parse_architectures(BIGBIRD_CUDA_ARCHITECTURES);
  return built;
}

}  // namespace bigbird::kernels::cuda
