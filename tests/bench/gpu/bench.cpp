// Timing and results of bench_gpu; see bench.h.
#include "tests/bench/gpu/bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "kernels/devices.h"
#include "lib/io/files/file.h"

namespace bigbird::bench {
namespace {

double now_milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Timing timing_of(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const std::size_t last = milliseconds.size() - 1;
  const double middle = (milliseconds[last / 2] + milliseconds[(last + 1) / 2]) / 2;
  return {middle, (milliseconds[last * 9 / 10] - milliseconds[last / 10]) / middle};
}

// cuda:N; cuda alone is the first.
int device_index(const Options& options) {
  return options.device.rfind("cuda:", 0) == 0 ? std::atoi(options.device.c_str() + 5) : 0;
}

std::unique_ptr<kernels::Backend> make_backend(const Options& options, bool deterministic) {
  if (options.device == "cpu") return kernels::make_cpu_backend();
  kernels::CudaOptions cuda;
  cuda.index = device_index(options);
  cuda.precision = options.precision;
  cuda.deterministic = deterministic;
  if (!options.products.empty()) {
    cuda.product_table = [file = options.products](const std::string& device, const std::string& library) {
      const kernels::ProductTable table = kernels::parse_product_table(read_file(file));
      if (table.device != device || table.library != library)
        throw std::runtime_error(file + ": measured on another device or with another library");
      return table;
    };
  }
  std::string why, hint;
  auto backend = kernels::make_cuda_backend(cuda, why, hint);
  if (backend == nullptr) throw std::runtime_error(why);
  return backend;
}

}  // namespace

struct Report::Impl {
  std::string file;
  nlohmann::ordered_json document;
};

Report::Report(const Options& options, std::string device) : impl_(std::make_unique<Impl>()) {
  impl_->file = options.json;
  impl_->document["program"] = "bigbird";
  impl_->document["device"] = std::move(device);
  impl_->document["tiny"] = options.tiny;
  impl_->document["measurements"] = nlohmann::ordered_json::array();
  impl_->document["skipped"] = nlohmann::ordered_json::array();
}

Report::~Report() = default;

void Report::add(const std::string& name, const std::string& engine, const std::vector<Fact>& facts) {
  nlohmann::ordered_json row{{"name", name}, {"engine", engine}};
  std::string line = fmt::format("{:<34} {:<13}", name, engine);
  for (const auto& [key, value] : facts) {
    row[key] = value;
    line += fmt::format("  {} {:.5g}", key, value);
  }
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  impl_->document["measurements"].push_back(std::move(row));
  write();
}

void Report::skip(const std::string& name, const std::string& reason) {
  std::fprintf(stderr, "SKIPPED: %s: %s\n", name.c_str(), reason.c_str());
  impl_->document["skipped"].push_back({{"name", name}, {"reason", reason}});
  write();
}

void Report::write() const {
  if (impl_->file.empty()) return;
  std::ofstream(impl_->file) << impl_->document.dump(1) << '\n';
}

Bench::Bench(const Options& options, Report& report, bool deterministic)
    : options_(options), report_(report), backend_(make_backend(options, deterministic)) {}

Timing Bench::recorded(const std::function<void(int)>& work) {
  constexpr double round_milliseconds = 10.0;
  constexpr int most_repeats = 64;
  work(0);
  backend_->synchronize();
  double start = now_milliseconds();
  work(1);
  backend_->synchronize();
  const double once = std::max(now_milliseconds() - start, 1e-3);
  const int repeats =
      tiny() ? 2 : std::clamp(static_cast<int>(round_milliseconds / once) + 1, 2, most_repeats);

  const std::uint64_t key = next_key_++;
  const auto round = [&] {
    backend_->replay(key, [&] {
      for (int i = 0; i < repeats; ++i) work(i);
    });
    backend_->synchronize();
  };
  for (int i = 0; i < 3; ++i) round();  // runs, is recorded, runs as recorded
  std::vector<double> times;
  for (int i = 0; i < options_.rounds; ++i) {
    start = now_milliseconds();
    round();
    times.push_back((now_milliseconds() - start) / repeats);
  }
  return timing_of(std::move(times));
}

Timing Bench::waiting(const std::function<void(int)>& work) {
  for (int i = 0; i < 3; ++i) work(i);
  std::vector<double> times;
  for (int i = 0; i < options_.rounds; ++i) {
    const double start = now_milliseconds();
    work(i);
    times.push_back(now_milliseconds() - start);
  }
  return timing_of(std::move(times));
}

void Bench::add(const std::string& name, const std::string& engine, const Timing& timing, double operations,
                double bytes, std::vector<Fact> facts) {
  facts.insert(facts.begin(), {{"milliseconds", timing.milliseconds}, {"spread", timing.spread}});
  if (operations > 0) facts.emplace_back("tflops", operations / timing.milliseconds * 1e-9);
  if (bytes > 0) facts.emplace_back("gigabytes_per_second", bytes / timing.milliseconds * 1e-6);
  report_.add(name, engine, facts);
}

Noise::Noise(Bench& bench, kernels::Index count, kernels::ElementType type, float scale, float offset)
    : backend_(bench.backend()), type_(type) {
  using kernels::Index;
  memory_ = backend_.allocate(static_cast<std::size_t>(count) * kernels::size_of(type));
  constexpr Index most = 1 << 20;
  const Index part = std::min(count, most);
  std::mt19937 generator(7);
  std::vector<float> floats(static_cast<std::size_t>(part));
  std::vector<kernels::bf16> halves(type == kernels::ElementType::bf16 ? floats.size() : 0);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    floats[i] = offset + scale * (static_cast<float>(generator() % 2001u) / 1000.0f - 1.0f);
    if (!halves.empty()) halves[i] = kernels::to_bf16(floats[i]);
  }
  const void* source = halves.empty() ? static_cast<const void*>(floats.data()) : halves.data();
  for (Index at = 0; at < count; at += part) {
    const Index now = std::min(part, count - at);
    backend_.upload((values() + at).data(), source, static_cast<std::size_t>(now) * kernels::size_of(type));
  }
}

Noise::~Noise() {
  backend_.release(memory_);
}

Parameters::Parameters(Bench& bench, kernels::Index count)
    : backend_(bench.backend()),
      noise_(bench, count, kernels::ElementType::fp32, 0.05f),
      copy_bytes_(backend_.weight_copy_bytes(count)),
      copy_(copy_bytes_ > 0 ? backend_.allocate(copy_bytes_) : nullptr) {
  backend_.bind_weights(floats(), count, copy_);
  backend_.refresh_weights(floats());
}

Parameters::~Parameters() {
  backend_.synchronize();
  backend_.unbind_weights(floats());
  if (copy_ != nullptr) backend_.release(copy_);
}

std::size_t free_device_memory(const Options& options) {
  if (options.device == "cpu") return 0;
  for (const kernels::CudaDevice& device : kernels::cuda_status(kernels::FreeMemory::ask).devices)
    if (device.index == device_index(options)) return device.free_memory;
  return 0;
}

Shapes::Shapes(bool tiny)
    : layers(tiny ? 2 : 12),
      width(tiny ? 64 : 768),
      inner(tiny ? 128 : 3072),
      heads(tiny ? 2 : 12),
      block(tiny ? 16 : 64),
      vocabulary(tiny ? 512 : 32000) {}

}  // namespace bigbird::bench
