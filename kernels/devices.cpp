// The registry of devices: see devices.h.
#include "kernels/devices.h"

#if defined(BIGBIRD_HAVE_CUDA)
#include "kernels/cuda/runtime.h"
#endif

namespace bigbird::kernels {

#if defined(BIGBIRD_HAVE_CUDA)

namespace {

std::string hint_without_device() {
  return "`bigbird devices` lists what there is; --device cpu computes on the processor";
}

}  // namespace

CudaStatus cuda_status(FreeMemory free_memory) {
  CudaStatus status;
  status.built_in = true;
  for (const cuda::DeviceInfo& info : cuda::find_devices(status.why)) {
    CudaDevice device{info.index, info.name, info.major, info.minor, info.multiprocessors, info.memory, 0};
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
  if (status.devices.empty()) status.hint = "without a CUDA device everything runs on the cpu";
  return status;
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

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&, std::string& why, std::string& hint) {
  why = not_built;
  hint = hint_to_build;
  return nullptr;
}

#endif

}  // namespace bigbird::kernels
