// What the parts of bench_gpu share: options, timing, device memory filled with noise, and the rows of the
// JSON that tests/gpu/peers writes too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"

namespace bigbird::bench {

struct Options {
  std::string device = "cuda";  // or cuda:N, or cpu: to try the program, with tiny
  std::string json;             // file to write
  std::string products;         // a table of them to read; empty: none
  std::vector<std::string> parts{"memory", "attention",    "products", "rows",
                                 "step",   "step_profile", "windows",  "latency"};
  kernels::Precision precision = kernels::Precision::bf16;
  bool tiny = false;  // sizes of seconds on a CPU; the numbers mean nothing
  int rounds = 15;    // of which the median is taken
};

// A number and its name, in a row of the JSON.
using Fact = std::pair<std::string, double>;

// The rows, written after each one so that a run that is cut short leaves what it had.
class Report {
 public:
  Report(const Options& options, std::string device);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void add(const std::string& name, const std::string& engine, const std::vector<Fact>& facts);
  void skip(const std::string& name, const std::string& reason);

 private:
  void write() const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct Timing {
  double milliseconds = 0;  // median of the rounds
  double spread = 0;        // the middle 80 % of them, over the median
};

// A device with its options. A new one for each part, because memory is reserved once.
class Bench {
 public:
  Bench(const Options& options, Report& report, bool deterministic = true);

  kernels::Backend& backend() { return *backend_; }
  const Options& options() const { return options_; }
  Report& report() { return report_; }
  bool tiny() const { return options_.tiny; }
  kernels::ElementType type() const { return backend_->element_type(); }

  // work(i) enqueues the work on input set i = 0, 1, ...; it is recorded where the device can, and repeated
  // until a round takes milliseconds, so that neither launches nor the clock are what is timed.
  Timing recorded(const std::function<void(int)>& work);
  // work(i) waits for its own result.
  Timing waiting(const std::function<void(int)>& work);
  // Adds a row for work that moves so many bytes and takes so many floating-point operations (0: not said).
  void add(const std::string& name, const std::string& engine, const Timing& timing, double operations,
           double bytes, std::vector<Fact> facts = {});

 private:
  const Options& options_;
  Report& report_;
  std::unique_ptr<kernels::Backend> backend_;
  std::uint64_t next_key_ = 1u << 20;
};

// Device memory with noise between -scale and scale.
class Noise {
 public:
  Noise(Bench& bench, kernels::Index count, kernels::ElementType type, float scale = 1.0f,
        float offset = 0.0f);
  ~Noise();
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;

  kernels::Values values() const { return {memory_, type_}; }
  float* floats() const { return static_cast<float*>(memory_); }

 private:
  kernels::Backend& backend_;
  kernels::ElementType type_;
  void* memory_ = nullptr;
};

// Parameters with the working copy that the device reads in their place.
class Parameters {
 public:
  Parameters(Bench& bench, kernels::Index count);
  ~Parameters();
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  float* floats() const { return noise_.floats(); }
  double copy_bytes() const { return static_cast<double>(copy_bytes_); }

 private:
  kernels::Backend& backend_;
  Noise noise_;
  std::size_t copy_bytes_ = 0;
  void* copy_ = nullptr;
};

// Values brought to the device.
template <class T>
class OnDevice {
 public:
  OnDevice(Bench& bench, const std::vector<T>& host)
      : backend_(bench.backend()), data_(static_cast<T*>(backend_.allocate(host.size() * sizeof(T)))) {
    backend_.upload(data_, host.data(), host.size() * sizeof(T));
  }
  ~OnDevice() { backend_.release(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  T* data() const { return data_; }

 private:
  kernels::Backend& backend_;
  T* data_;
};

// Bytes that are free on the device now; 0 for the cpu.
std::size_t free_device_memory(const Options& options);

// The shapes of BigBird-base, or tiny ones.
struct Shapes {
  explicit Shapes(bool tiny);
  kernels::Index layers, width, inner, heads, block, vocabulary;
  kernels::Index head_size() const { return width / heads; }
};

// Each runs its part and adds its rows.
void bench_memory(const Options& options, Report& report);
void bench_attention(const Options& options, Report& report);
// Of a layer of BigBird-ETC, with how much longer it takes than BigBird's plan of the same length.
void bench_etc_attention(const Options& options, Report& report, const Timing& forward_of_plan,
                         const Timing& backward_of_plan);
void bench_products(const Options& options, Report& report);
void bench_rows(const Options& options, Report& report);
void bench_step(const Options& options, Report& report);
void bench_step_profile(const Options& options, Report& report);
void bench_windows(const Options& options, Report& report);
void bench_latency(const Options& options, Report& report);

}  // namespace bigbird::bench
