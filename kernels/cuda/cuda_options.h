// The CUDA backend: all operations of backend.h on one device, on one CUDA stream. Plain C++; a program
// makes it through kernels/devices.h, tests of the emulation make it here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/backend.h"

namespace bigbird::kernels {

struct CudaOptions {
  int index = 0;  // N of cuda:N
  Precision precision = Precision::bf16;
  // Sums in a fixed order everywhere: the same input gives the same bits. Without it attention's backward
  // pass does less work.
  bool deterministic = true;
  // Told, in one line each, what makes the device slower than it could be: products that cuBLASLt refuses.
  std::function<void(const std::string&)> remark = {};
};

namespace cuda {

// Throws DeviceError (errors.h) when the device or cuBLASLt cannot be used. Operations throw DeviceError too,
// possibly at a later one; allocate() and reserve() throw OutOfMemory.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

}  // namespace cuda
}  // namespace bigbird::kernels
