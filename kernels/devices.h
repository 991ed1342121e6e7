// The devices that this build can compute on: which there are, why there are none, and how to get one. The
// only place that knows what was built in.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/cuda_options.h"

namespace bigbird::kernels {

// A CUDA device that this build can compute on.
struct CudaDevice {
  int index = 0;     // N of cuda:N
  std::string name;  // "NVIDIA H200"
  int major = 0;     // compute capability: 9 in 9.0
  int minor = 0;
  int multiprocessors = 0;
  std::size_t memory = 0;       // bytes in all
  std::size_t free_memory = 0;  // bytes now, when asked for
  bool was_run = false;         // whether this project has run on a card of this compute capability
};

struct CudaStatus {
  bool built_in = false;            // whether this build has CUDA kernels
  std::string architectures;        // "machine code for 8.0 and 9.0, PTX for 9.0"; empty without kernels
  std::vector<CudaDevice> devices;  // usable ones
  std::string versions;             // "driver 13.0, runtime 13.0"; empty without a driver
  // When there is no device: why in one line, and what to do about it. Also, with devices, those that are
  // left out and why (hint is empty then).
  std::string why;
  std::string hint;
};

// Free memory is only known of devices that are awake: asking for it takes part of a second and of the memory
// of every device, so it is for listings. Otherwise it is 0.
enum class FreeMemory { unknown, ask };
CudaStatus cuda_status(FreeMemory free_memory = FreeMemory::unknown);

// Whether cuBLASLt has algorithms for the products of a training step of BigBird-base (4,096 tokens, of which
// 640 are masked, a vocabulary of 32,000) on that device. Throws DeviceError with one line.
std::vector<ProductOffer> base_model_products(int index, Precision precision);

// The fastest algorithms for the products of training steps of these sizes, as they are measured on that
// device, with what is computed there now as progress. Throws DeviceError or OutOfMemory.
ProductTable tune_products(int index, Precision precision, const std::vector<ProductSizes>& sizes,
                           const std::function<void(const std::string&, std::size_t, std::size_t)>& progress);

// Null when that device cannot be had: why (one line) and hint are then filled.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options, std::string& why, std::string& hint);

}  // namespace bigbird::kernels
