// What kernels and the backend need of the CUDA runtime: devices, memory, CUDA streams, events, CUDA graphs.
// Implemented by runtime.cu for the device and by emulation/runtime_emulation.cpp for tests. Plain C++: no
// CUDA header.
//
// Every function throws CudaError, except where noted; asynchronous failures surface at the next call.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/errors.h"

namespace bigbird::kernels::cuda {

struct CudaError : DeviceError {
  using DeviceError::DeviceError;
};
struct OutOfDeviceMemory : CudaError {
  OutOfDeviceMemory(std::size_t asked_bytes, std::size_t free_bytes)
      : CudaError("out of device memory: " + std::to_string(asked_bytes) + " bytes asked for, " +
                  std::to_string(free_bytes) + " free"),
        asked(asked_bytes),
        free(free_bytes) {}
  std::size_t asked;
  std::size_t free;
};

// What was recorded cannot become a graph that runs; the stream is as it was before.
struct GraphRefused : CudaError {
  using CudaError::CudaError;
};

struct DeviceInfo {
  int index = 0;
  std::string name;      // "NVIDIA H200"
  std::string identity;  // "GPU-" and the 32 digits of its UUID
  int major = 0;         // compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::size_t memory = 0;                   // bytes in all
  std::size_t shared_memory_per_block = 0;  // most that one block can ask for
};

// The devices that this build can use, without waking them up. Those that are left out, or why there is none
// at all, are in why: "no NVIDIA driver on this machine", "the driver is too old: ...". Never throws.
std::vector<DeviceInfo> find_devices(std::string& why);
// "driver 13.0, runtime 13.0"; empty without a driver.
std::string driver_versions();
// This thread works on that device from now on.
void use_device(int index);
int current_device();  // that this thread works on
// The device of this thread until the end of a scope, where it works on the one of before again.
class OnDevice {
 public:
  explicit OnDevice(int index) : before_(current_device()) { use_device(index); }
  ~OnDevice() {
    try {
      use_device(before_);
    } catch (const CudaError&) {  // met again by whatever uses that device next
    }
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};
std::size_t free_device_memory();
// Loads every kernel of this program to the device of this thread, which otherwise happens when it first
// runs: what they take of the memory is then known before anything is planned.
void load_kernels();
// What is left to the driver while a run goes on. A rule of thumb: it was not measured.
struct DriverAllowance {
  std::size_t graphs = 0;  // of all CUDA graphs; Recordings stops making more of them there
  std::size_t others = 0;  // cuBLASLt's kernels, which are loaded when first run; attention's schedules
};
DriverAllowance driver_allowance();

// A CUDA stream: a queue of work, in order. Copies of the handle are the same stream.
struct Stream {
  void* handle = nullptr;
};
Stream make_stream();
void destroy(Stream stream) noexcept;
void synchronize(Stream stream);

struct Event {
  void* handle = nullptr;
};
Event make_event();
void destroy(Event event) noexcept;
void record(Event event, Stream stream);  // marks the work given to stream so far
void wait(Stream stream, Event event);    // later work of stream waits for the mark
void synchronize(Event event);            // the caller waits
// For benchmarks: milliseconds between two marks that have been reached.
float milliseconds_between(Event begin, Event end);

void* allocate_device(std::size_t bytes);  // 256-byte aligned; OutOfDeviceMemory
void release_device(void* memory) noexcept;
void* allocate_pinned(std::size_t bytes);  // host memory that copies run from without the processor
void release_pinned(void* memory) noexcept;

// Asynchronous. Host memory must be pinned and stay as it is until the stream has passed.
void copy_to_device(void* device, const void* pinned, std::size_t bytes, Stream stream);
void copy_to_host(void* pinned, const void* device, std::size_t bytes, Stream stream);
void copy_on_device(void* to, const void* from, std::size_t bytes, Stream stream);
void fill_zero(void* device, std::size_t bytes, Stream stream);

// A recorded run of work: what is given to the stream between begin and end is kept, not run.
struct Graph {
  void* handle = nullptr;
};
void begin_recording(Stream stream);
Graph end_recording(Stream stream);  // GraphRefused
void run(Graph graph, Stream stream);
void destroy(Graph graph) noexcept;

// For launch() in device_nvidia.cuh.
bool know_kernel(const void* kernel);
void allow_shared_memory(const void* kernel, std::size_t bytes);
void check_launch();

}  // namespace bigbird::kernels::cuda
