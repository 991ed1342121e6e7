// The registry of devices: see devices.h.
#include "kernels/devices.h"

#include <utility>

#if defined(BIGBIRD_HAVE_CUDA)
#include "kernels/cuda/architectures.h"
#include "kernels/cuda/linear_products.h"
#include "kernels/cuda/runtime.h"
#endif

#include "kernels/errors.h"

namespace bigbird::kernels {

#if defined(BIGBIRD_HAVE_CUDA)

namespace {

std::string hint_without_device() {
  return "`bigbird devices` lists what there is; --device cpu computes on the processor";
}

constexpr const char* hint_to_build_for_it =
    "build it for that device (cmake -D CMAKE_CUDA_ARCHITECTURES=80-real for 8.0), or use --device cpu";
bool lacks_kernels(const std::string& why) {
  return why.find("this bigbird has no kernels") != std::string::npos;
}

}  // namespace

CudaStatus cuda_status(FreeMemory free_memory) {
  CudaStatus status;
  status.built_in = true;
  status.architectures = cuda::architectures_text(cuda::built_architectures());
  for (const cuda::DeviceInfo& info : cuda::find_devices(status.why)) {
    CudaDevice device{info.index,           info.name,   info.major, info.minor,
                      info.multiprocessors, info.memory, 0,          cuda::was_run(info.major, info.minor)};
    try {
      if (free_memory == FreeMemory::ask) {
        const cuda::OnDevice asked(info.index);  // a run may be at work on another
        device.free_memory = cuda::free_device_memory();
      }
      status.devices.push_back(device);
    } catch (const DeviceError& error) {
      status.why +=
          (status.why.empty() ? "" : "; ") + ("cuda:" + std::to_string(info.index) + ": ") + error.what();
    }
  }
  status.versions = cuda::driver_versions();
  if (status.devices.empty())
    status.hint =
        lacks_kernels(status.why) ? hint_to_build_for_it : "without a CUDA device everything runs on the cpu";
  return status;
}

std::vector<ProductOffer> base_model_products(int index, Precision precision) {
  const cuda::OnDevice asked(index);
  const std::unique_ptr<cuda::GemmLibrary> library = cuda::make_gemm_library();
  return cuda::product_offers(*library, cuda::training_products({}, precision));
}

ProductTable tune_products(
    int index, Precision precision, const std::vector<ProductSizes>& sizes,
    const std::function<void(const std::string&, std::size_t, std::size_t)>& progress) {
  std::string why;
  std::string name;
  for (const cuda::DeviceInfo& device : cuda::find_devices(why)) {
    if (device.index == index) name = device.name;
  }
  if (name.empty()) throw DeviceError(why.empty() ? "there is no device cuda:" + std::to_string(index) : why);
  const cuda::OnDevice asked(index);
  const std::unique_ptr<cuda::GemmLibrary> library = cuda::make_gemm_library();
  std::vector<cuda::ModelProduct> products;
  for (const ProductSizes& of : sizes) {
    for (const auto& list : {cuda::training_products, cuda::bias_gradient_products}) {
      for (cuda::ModelProduct& product : list(of, precision)) products.push_back(std::move(product));
    }
  }
  cuda::TuneOptions options;
  options.progress = progress;
  return cuda::tune_products(*library, name, products, options);
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options, std::string& why, std::string& hint) {
  hint = hint_without_device();
  const std::vector<cuda::DeviceInfo> devices = cuda::find_devices(why);
  bool found = false;
  for (const cuda::DeviceInfo& device : devices) found = found || device.index == options.index;
  if (!found) {
    if (!devices.empty())
      why =
          "there is no device cuda:" + std::to_string(options.index) + (why.empty() ? "" : " (" + why + ")");
    if (lacks_kernels(why)) hint = hint_to_build_for_it;
    return nullptr;
  }
  try {
    return cuda::make_cuda_backend(options);
  } catch (const DeviceError& error) {
    why = error.what();
  } catch (const OutOfMemory& error) {  // other programs hold it
    why = "cuda:" + std::to_string(options.index) + " is full: " + error.what();
  }
  return nullptr;
}

#else

namespace {

constexpr const char* not_built = "this bigbird was built without CUDA";
constexpr const char* hint_to_build =
    "build it where nvcc 12.4 or newer is found (cmake -D BIGBIRD_CUDA=ON), or use --device cpu";

}  // namespace

CudaStatus cuda_status(FreeMemory) {
  CudaStatus status;
  status.why = not_built;
  status.hint = hint_to_build;
  return status;
}

std::vector<ProductOffer> base_model_products(int, Precision) {
  throw DeviceError(not_built);
}

ProductTable tune_products(int, Precision, const std::vector<ProductSizes>&,
                           const std::function<void(const std::string&, std::size_t, std::size_t)>&) {
  throw DeviceError(not_built);
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&, std::string& why, std::string& hint) {
  why = not_built;
  hint = hint_to_build;
  return nullptr;
}

#endif

}  // namespace bigbird::kernels
