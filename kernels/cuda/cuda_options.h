// The CUDA backend: all operations of backend.h on one device, on one CUDA stream. Plain C++; a program
// makes it through kernels/devices.h, tests of the emulation make it here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/product_table.h"

namespace bigbird::kernels {

// Products of a run that cuBLASLt has no algorithm for: a kernel of the program's own takes them, more
// slowly.
struct RefusedProducts {
  std::size_t shapes = 0;  // different ones
  std::size_t calls = 0;   // in all, those of recordings that were played included
};

// The sizes that decide the products of a training step: of a model, and of a micro-batch.
struct ProductSizes {
  Index width = 768;
  Index intermediate = 3072;
  Index vocabulary = 32000;
  Index tokens = 4096;      // rows of a micro-batch, padding included
  Index predictions = 640;  // masked rows of it
  Index sequences = 1;
};

// What cuBLASLt says of a product.
struct ProductOffer {
  std::string what;  // "attention, output: forward"
  Index m = 0, n = 0, k = 0;
  bool offered = false;   // it has an algorithm
  bool epilogue = false;  // and one that takes what follows (bias, gelu) along
};

struct CudaOptions {
  int index = 0;  // N of cuda:N
  Precision precision = Precision::bf16;
  // Sums in a fixed order everywhere: the same input gives the same bits. Without it attention's backward
  // pass does less work.
  bool deterministic = true;
  // Told, in one line each, what makes the device slower than it could be: products that cuBLASLt refuses.
  std::function<void(const std::string&)> remark = {};
  // Where they are counted; null: nowhere. It may outlive the backend.
  std::shared_ptr<RefusedProducts> refused = {};
  // Asked once for the measured algorithms of that device ("NVIDIA H200") and library ("cuBLASLt 13.0.2");
  // null, or a table without rows: every product as the library chooses. What it throws goes through.
  std::function<ProductTable(const std::string& device, const std::string& library)> product_table = {};
  // Which instructions multiply attention's tiles: "auto", "mma" (of warps, on every device) or "wgmma" (of
  // warpgroups, compute capability 9.0; elsewhere a DeviceError). Empty: BIGBIRD_ATTENTION of the
  // environment, or auto. auto is mma until wgmma has been measured on a device.
  std::string attention = {};
};

namespace cuda {

// Throws DeviceError (errors.h) when the device or cuBLASLt cannot be used. Operations throw DeviceError too,
// possibly at a later one; allocate() and reserve() throw OutOfMemory.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

}  // namespace cuda
}  // namespace bigbird::kernels
