// runtime.h on the processor: one device whose memory is the heap, NaN until written. Streams keep their work
// as closures, which run at once or, with options().lazy_streams, when somebody waits.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/cuda/architectures.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/emulation.h"
#include "kernels/cuda/emulation/memory_registry.h"

namespace bigbird::kernels::cuda {
namespace emulation {
namespace {

using Work = std::function<void()>;

struct StreamState {
  std::deque<Work> queue;
  std::uint64_t given = 0;     // pieces of work that were queued
  std::uint64_t finished = 0;  // of them
  bool recording = false;
  std::vector<Work> recorded;
};
using StreamPointer = std::shared_ptr<StreamState>;

struct EventState {
  StreamPointer stream;  // null before the first record()
  std::uint64_t mark = 0;
  struct Time {
    std::chrono::steady_clock::time_point real;
    double invented = 0;
  };
  std::shared_ptr<Time> passed = std::make_shared<Time>();
};

struct Device {
  std::recursive_mutex mutex;  // held whenever work is queued or runs
  StreamPointer default_stream = std::make_shared<StreamState>();
  std::vector<std::weak_ptr<StreamState>> streams = {default_stream};
  int recording = 0;  // streams that record
  bool kernels_loaded = false;
  std::size_t graphs = 0;  // that exist
  double invented_clock = 0;
  std::exception_ptr late_failure;  // of work that ran where nothing may be thrown
};

Device& device() {
  static Device the_device;
  return the_device;
}

const StreamPointer& state(Stream stream) {
  return stream.handle == nullptr ? device().default_stream : *static_cast<StreamPointer*>(stream.handle);
}

// Runs the first `until` pieces of work. After a failure nothing of the rest is run.
void drain(StreamState& stream, std::uint64_t until) {
  while (stream.finished < until) {
    const Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    ++stream.finished;
    try {
      work();
    } catch (...) {
      stream.finished += stream.queue.size();
      stream.queue.clear();
      throw;
    }
  }
}

void give(const StreamPointer& stream, Work work) {
  if (stream->recording) {
    stream->recorded.push_back(std::move(work));
    return;
  }
  stream->queue.push_back(std::move(work));
  ++stream->given;
  if (!options().lazy_streams) drain(*stream, stream->given);
}

void throw_late_failure() {
  if (device().late_failure == nullptr) return;
  const std::exception_ptr failure = std::exchange(device().late_failure, nullptr);
  std::rethrow_exception(failure);
}

// Before memory is released: what still uses it must have run, as cudaFree waits for the device.
void drain_all() noexcept {
  const std::lock_guard lock(device().mutex);
  for (const std::weak_ptr<StreamState>& weak : device().streams) {
    const StreamPointer stream = weak.lock();
    if (stream == nullptr) continue;
    try {
      drain(*stream, stream->given);
    } catch (...) {
      device().late_failure = std::current_exception();
    }
  }
}

void refuse_while_recording(const char* what) {
  if (device().recording > 0) throw CudaError(std::string(what) + " while a stream is recording");
}

}  // namespace

void submit(Stream stream, std::function<void()> work) {
  const std::lock_guard lock(device().mutex);
  give(state(stream), std::move(work));
}

void spend(double microseconds) {
  device().invented_clock += microseconds;
}

void unload_kernels() {
  device().kernels_loaded = false;
}

}  // namespace emulation

using emulation::device;
using emulation::state;

std::vector<DeviceInfo> find_devices(std::string& why) {
  why.clear();
  const int major = emulation::options().compute_capability / 10;
  const int minor = emulation::options().compute_capability % 10;
  if (!can_run(built_architectures(), major, minor)) {
    why = no_code_for(0, "emulated device", major, minor);
    return {};
  }
  DeviceInfo info;
  info.name = "emulated device";
  const char* const shared = std::getenv("BIGBIRD_EMULATION_DEVICE");  // as if processes shared one
  info.identity = shared != nullptr ? shared : "emulated device of process " + std::to_string(getpid());
  info.major = major;
  info.minor = minor;
  info.multiprocessors = emulation::options().multiprocessors;
  info.memory = emulation::options().memory;
  info.shared_memory_per_block = emulation::options().shared_memory_per_block;
  return {info};
}

const Architectures& built_architectures() {
  static Architectures built;  // of one thread, as all of the emulation
  built = parse_architectures(emulation::options().architectures);
  return built;
}

std::string driver_versions() {
  return "emulation";
}

void use_device(int index) {
  if (index != 0) throw CudaError("there is no device " + std::to_string(index) + ", only 0");
}

int current_device() {
  return 0;
}

std::size_t free_device_memory() {
  const std::size_t used = emulation::device_memory().bytes() +
                           (device().kernels_loaded ? emulation::options().kernel_bytes : 0) +
                           device().graphs * emulation::options().graph_bytes;
  return used < emulation::options().memory ? emulation::options().memory - used : 0;
}

void load_kernels() {
  device().kernels_loaded = true;
}

DriverAllowance driver_allowance() {
  return {emulation::options().graph_allowance, 0};
}

Stream make_stream() {
  const std::lock_guard lock(device().mutex);
  auto stream = std::make_unique<emulation::StreamPointer>(std::make_shared<emulation::StreamState>());
  device().streams.push_back(*stream);
  return {stream.release()};
}

void destroy(Stream stream) noexcept {
  emulation::drain_all();
  delete static_cast<emulation::StreamPointer*>(stream.handle);
}

void synchronize(Stream stream) {
  const std::lock_guard lock(device().mutex);
  emulation::StreamState& one = *state(stream);
  if (one.recording) throw CudaError("synchronize while the stream is recording");
  emulation::throw_late_failure();
  emulation::drain(one, one.given);
}

Event make_event() {
  return {new emulation::EventState};
}

void destroy(Event event) noexcept {
  delete static_cast<emulation::EventState*>(event.handle);
}

void record(Event event, Stream stream) {
  const std::lock_guard lock(device().mutex);
  auto& one = *static_cast<emulation::EventState*>(event.handle);
  one.stream = state(stream);
  if (one.stream->recording) throw CudaError("an event while the stream is recording");
  one.mark = one.stream->given + 1;
  emulation::give(one.stream, [passed = one.passed] {
    *passed = {std::chrono::steady_clock::now(), device().invented_clock};
  });
}

void wait(Stream stream, Event event) {
  const std::lock_guard lock(device().mutex);
  const auto& one = *static_cast<emulation::EventState*>(event.handle);
  if (one.stream == nullptr) return;
  if (state(stream)->recording) throw CudaError("a wait while the stream is recording");
  emulation::give(state(stream), [other = one.stream, mark = one.mark] { emulation::drain(*other, mark); });
}

void synchronize(Event event) {
  const std::lock_guard lock(device().mutex);
  emulation::throw_late_failure();
  const auto& one = *static_cast<emulation::EventState*>(event.handle);
  if (one.stream != nullptr) emulation::drain(*one.stream, one.mark);
}

float milliseconds_between(Event begin, Event end) {
  const auto& first = *static_cast<emulation::EventState*>(begin.handle);
  const auto& last = *static_cast<emulation::EventState*>(end.handle);
  if (emulation::options().fake_clock)
    return static_cast<float>((last.passed->invented - first.passed->invented) / 1000.0);
  return std::chrono::duration<float, std::milli>(last.passed->real - first.passed->real).count();
}

void* allocate_device(std::size_t bytes) {
  const std::lock_guard lock(device().mutex);
  emulation::refuse_while_recording("allocate_device");
  const std::size_t free = free_device_memory();
  if (bytes > free) throw OutOfDeviceMemory(bytes, free);
  return emulation::device_memory().allocate(bytes);
}

void release_device(void* memory) noexcept {
  if (memory == nullptr) return;
  emulation::drain_all();
  emulation::device_memory().release(memory);
}

void* allocate_pinned(std::size_t bytes) {
  return emulation::pinned_memory().allocate(bytes);
}

void release_pinned(void* memory) noexcept {
  if (memory == nullptr) return;
  emulation::drain_all();
  emulation::pinned_memory().release(memory);
}

void copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  emulation::device_memory().require(to, bytes, "copy_to_device writes to memory that is not the device's");
  emulation::pinned_memory().require(from, bytes, "copy_to_device reads memory that is not pinned");
  emulation::submit(stream, [=] { std::memcpy(to, from, bytes); });
}

void copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  emulation::pinned_memory().require(to, bytes, "copy_to_host writes to memory that is not pinned");
  emulation::device_memory().require(from, bytes, "copy_to_host reads memory that is not the device's");
  emulation::submit(stream, [=] { std::memcpy(to, from, bytes); });
}

void copy_on_device(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  emulation::device_memory().require(to, bytes, "copy_on_device writes to memory that is not the device's");
  emulation::device_memory().require(from, bytes, "copy_on_device reads memory that is not the device's");
  emulation::submit(stream, [=] { std::memmove(to, from, bytes); });
}

void fill_zero(void* to, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  emulation::device_memory().require(to, bytes, "fill_zero of memory that is not the device's");
  emulation::submit(stream, [=] { std::memset(to, 0, bytes); });
}

void begin_recording(Stream stream) {
  const std::lock_guard lock(device().mutex);
  emulation::StreamState& one = *state(stream);
  if (one.recording) throw CudaError("the stream is recording already");
  one.recording = true;
  ++device().recording;
}

Graph end_recording(Stream stream) {
  const std::lock_guard lock(device().mutex);
  emulation::StreamState& one = *state(stream);
  if (!one.recording) throw CudaError("the stream is not recording");
  one.recording = false;
  --device().recording;
  auto graph = std::make_unique<std::vector<emulation::Work>>(std::move(one.recorded));
  one.recorded.clear();
  if (emulation::options().refuse_graphs) throw GraphRefused("preparing a graph: out of memory");
  ++device().graphs;
  return {graph.release()};
}

void run(Graph graph, Stream stream) {
  const std::lock_guard lock(device().mutex);
  for (const emulation::Work& work : *static_cast<std::vector<emulation::Work>*>(graph.handle)) {
    emulation::give(state(stream), work);
  }
}

void destroy(Graph graph) noexcept {
  if (graph.handle != nullptr) --device().graphs;
  delete static_cast<std::vector<emulation::Work>*>(graph.handle);
}

}  // namespace bigbird::kernels::cuda
