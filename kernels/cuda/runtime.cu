// runtime.h through the CUDA runtime, which is linked statically and finds the driver itself.
#include "kernels/cuda/runtime.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/cuda/architectures.h"

namespace bigbird::kernels::cuda {

namespace {

// The oldest device that has what the kernels use: bf16 products and asynchronous copies.
constexpr int oldest_major = 8;

std::string version_text(int version) {  // 13000: "13.0"
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // not sticky errors would be met again by the next check_launch()
  throw CudaError(std::string(what) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
                  ")");
}

cudaStream_t stream_of(Stream stream) {
  return static_cast<cudaStream_t>(stream.handle);
}
cudaEvent_t event_of(Event event) {
  return static_cast<cudaEvent_t>(event.handle);
}

std::string why_no_device(cudaError_t error) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) return "no NVIDIA driver on this machine";
  if (error == cudaErrorInsufficientDriver)
    return "the NVIDIA driver is too old: it offers CUDA " + version_text(driver) + ", this build needs " +
           version_text(CUDART_VERSION);
  if (error == cudaErrorNoDevice || error == cudaSuccess) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible != nullptr)
      return std::string("no CUDA device is visible: CUDA_VISIBLE_DEVICES is \"") + visible + "\"";
    return "there is a NVIDIA driver, but no device";
  }
  return std::string("CUDA does not start: ") + cudaGetErrorString(error);
}

}  // namespace

std::vector<DeviceInfo> find_devices(std::string& why) {
  why.clear();
  std::vector<DeviceInfo> devices;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    why = why_no_device(error);
    return devices;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (const cudaError_t failure = cudaGetDeviceProperties(&properties, index); failure != cudaSuccess) {
      cudaGetLastError();
      why +=
          (why.empty() ? "" : "; ") + ("cuda:" + std::to_string(index) + ": ") + cudaGetErrorString(failure);
      continue;
    }
    if (properties.major < oldest_major) {
      why += (why.empty() ? "" : "; ") + ("cuda:" + std::to_string(index) + " (" + properties.name) +
             ") has compute capability " + std::to_string(properties.major) + "." +
             std::to_string(properties.minor) + ", at least " + std::to_string(oldest_major) + ".0 is needed";
      continue;
    }
    if (!can_run(built_architectures(), properties.major, properties.minor)) {
      why +=
          (why.empty() ? "" : "; ") + no_code_for(index, properties.name, properties.major, properties.minor);
      continue;
    }
    DeviceInfo info;
    info.index = index;
    info.name = properties.name;
    info.identity = "GPU-";
    for (const char byte : properties.uuid.bytes) {
      constexpr const char* digits = "0123456789abcdef";
      const auto value = static_cast<unsigned char>(byte);
      info.identity += {digits[value >> 4], digits[value & 15]};
    }
    info.major = properties.major;
    info.minor = properties.minor;
    info.multiprocessors = properties.multiProcessorCount;
    info.memory = properties.totalGlobalMem;
    info.shared_memory_per_block = properties.sharedMemPerBlockOptin;
    devices.push_back(info);
  }
  return devices;
}

std::string driver_versions() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return {};
  return "driver " + version_text(driver) + ", runtime " + version_text(CUDART_VERSION);
}

void use_device(int index) {
  check(cudaSetDevice(index), "choosing the device");
}

int current_device() {
  int index = 0;
  check(cudaGetDevice(&index), "asking for the device");
  return index;
}

std::size_t free_device_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return free;
}

namespace {

std::vector<const void*>& known_kernels() {
  static std::vector<const void*> kernels;  // filled before main()
  return kernels;
}

}  // namespace

bool know_kernel(const void* kernel) {
  known_kernels().push_back(kernel);
  return true;
}

void load_kernels() {
  cudaFuncAttributes attributes{};
  for (const void* kernel : known_kernels())
    check(cudaFuncGetAttributes(&attributes, kernel), "loading the kernels");
}

DriverAllowance driver_allowance() {
  return {.graphs = std::size_t{192} << 20, .others = std::size_t{128} << 20};
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return {stream};
}
void destroy(Stream stream) noexcept {
  if (stream.handle != nullptr) cudaStreamDestroy(stream_of(stream));
}
void synchronize(Stream stream) {
  check(cudaStreamSynchronize(stream_of(stream)), "waiting for the device");
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "making an event");
  return {event};
}
void destroy(Event event) noexcept {
  if (event.handle != nullptr) cudaEventDestroy(event_of(event));
}
void record(Event event, Stream stream) {
  check(cudaEventRecord(event_of(event), stream_of(stream)), "recording an event");
}
void wait(Stream stream, Event event) {
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), "waiting for an event");
}
void synchronize(Event event) {
  check(cudaEventSynchronize(event_of(event)), "waiting for the device");
}
float milliseconds_between(Event begin, Event end) {
  float milliseconds = 0.0f;
  check(cudaEventElapsedTime(&milliseconds, event_of(begin), event_of(end)), "measuring time");
  return milliseconds;
}

void* allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    const std::size_t free = free_device_memory();
    throw OutOfDeviceMemory(bytes, free);
  }
  check(error, "allocating device memory");
  return memory;
}
void release_device(void* memory) noexcept {
  cudaFree(memory);
}
void* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable),
        "allocating pinned memory");
  return memory;
}
void release_pinned(void* memory) noexcept {
  cudaFreeHost(memory);
}

void copy_to_device(void* device, const void* pinned, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream_of(stream)),
        "copying to the device");
}
void copy_to_host(void* pinned, const void* device, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream_of(stream)),
        "copying from the device");
}
void copy_on_device(void* to, const void* from, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(stream)),
        "copying on the device");
}
void fill_zero(void* device, std::size_t bytes, Stream stream) {
  check(cudaMemsetAsync(device, 0, bytes, stream_of(stream)), "clearing device memory");
}

void begin_recording(Stream stream) {
  check(cudaStreamBeginCapture(stream_of(stream), cudaStreamCaptureModeThreadLocal), "recording a graph");
}
Graph end_recording(Stream stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream_of(stream), &graph), "recording a graph");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  if (error != cudaSuccess) {
    cudaGetLastError();
    throw GraphRefused(std::string("preparing a graph: ") + cudaGetErrorString(error));
  }
  return {executable};
}
void run(Graph graph, Stream stream) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph.handle), stream_of(stream)), "running a graph");
}
void destroy(Graph graph) noexcept {
  if (graph.handle != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph.handle));
}

void allow_shared_memory(const void* kernel, std::size_t bytes) {
  constexpr std::size_t always_allowed = 48 * 1024;
  // Blocks of less leave the first-level cache its share without being asked to.
  constexpr std::size_t lives_in_shared_memory = 16 * 1024;
  if (bytes < lives_in_shared_memory) return;
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, std::size_t> allowed;  // per device and kernel
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  const std::lock_guard<std::mutex> lock(mutex);
  std::size_t& limit = allowed[{device, kernel}];
  if (bytes <= limit) return;
  if (bytes > always_allowed) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "asking for shared memory");
  }
  // Kernels that ask for so much live in it: as many of their blocks as fit, whatever ran before them. A
  // wish, which the driver may leave aside.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxShared),
        "asking for shared memory");
  limit = bytes;
}

void check_launch() {
  check(cudaGetLastError(), "starting a kernel");
}

}  // namespace bigbird::kernels::cuda
