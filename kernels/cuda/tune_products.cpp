// Products measured on a device: see tune_products() in linear_products.h.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/bf16.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launchers.h"
#include "kernels/cuda/linear_products.h"
#include "kernels/philox.h"

namespace bigbird::kernels::cuda {
namespace {

constexpr std::size_t pattern_numbers = std::size_t{1} << 20;

struct TuneStream {
  Stream stream = make_stream();
  TuneStream() = default;
  TuneStream(const TuneStream&) = delete;
  TuneStream& operator=(const TuneStream&) = delete;
  ~TuneStream() { destroy(stream); }
};

struct TuneEvent {
  Event event = make_event();
  TuneEvent() = default;
  TuneEvent(const TuneEvent&) = delete;
  TuneEvent& operator=(const TuneEvent&) = delete;
  ~TuneEvent() { destroy(event); }
};

struct TunePinned {
  std::byte* data;
  explicit TunePinned(std::size_t bytes) : data(static_cast<std::byte*>(allocate_pinned(bytes))) {}
  TunePinned(const TunePinned&) = delete;
  TunePinned& operator=(const TunePinned&) = delete;
  ~TunePinned() { release_pinned(data); }
};

// Bytes of a matrix with so many rows.
std::size_t matrix_bytes(Index rows, Index stride, ElementType type) {
  return static_cast<std::size_t>(rows * stride) * size_of(type);
}

// The memory of one product.
class Matrices {
 public:
  Matrices(Gemm& gemm, const TunePinned& pattern, Stream stream) {
    gemm.a.data =
        filled(gemm.transpose_a ? gemm.k : gemm.m, gemm.a.stride, gemm.a.data.type(), pattern, stream);
    gemm.b.data =
        filled(gemm.transpose_b ? gemm.n : gemm.k, gemm.b.stride, gemm.b.data.type(), pattern, stream);
    gemm.d.data = filled(gemm.m, gemm.d.stride, gemm.d.data.type(), pattern, stream);
    if (gemm.bias != nullptr) {
      const Index count = gemm.epilogue == Epilogue::bias_gradient ? gemm.m : gemm.n;
      gemm.bias = filled(1, count, gemm.bias.type(), pattern, stream);
    }
    if (gemm.aux != nullptr) gemm.aux = filled(gemm.m, gemm.n, gemm.aux.type(), pattern, stream);
    synchronize(stream);
  }

 private:
  // The pattern is of floats, and behind them of bf16s.
  Values filled(Index rows, Index stride, ElementType type, const TunePinned& pattern, Stream stream) {
    const std::size_t bytes = matrix_bytes(rows, stride, type);
    const std::size_t most = pattern_numbers * size_of(type);
    const std::byte* const from =
        pattern.data + (type == ElementType::fp32 ? 0 : pattern_numbers * sizeof(float));
    pieces_.emplace_back(bytes);
    auto* const to = static_cast<std::byte*>(pieces_.back().data());
    for (std::size_t done = 0; done < bytes; done += most)
      copy_to_device(to + done, from, std::min(most, bytes - done), stream);
    return {to, type};
  }

  std::vector<DevicePiece> pieces_;
};

void fill_pattern(const TunePinned& pattern) {
  for (std::size_t i = 0; i < pattern_numbers; ++i) {
    const float value =
        static_cast<float>(philox4x32(1, i, 0x7e57).word[0]) / 2147483648.0f - 1.0f;  // -1 to 1
    const bf16 narrow = to_bf16(value);
    std::memcpy(pattern.data + i * sizeof value, &value, sizeof value);
    std::memcpy(pattern.data + pattern_numbers * sizeof value + i * sizeof narrow, &narrow, sizeof narrow);
  }
}

class Stopwatch {
 public:
  explicit Stopwatch(const TuneOptions& options) : options_(options) {}

  Stream stream() const { return stream_.stream; }

  // Microseconds of one run: the median of the rounds.
  double time(const std::function<void()>& run) {
    run();  // what is loaded at the first run is not the product's
    const double once = round(run, 1);
    const double wanted = once > 0 ? std::ceil(options_.round_milliseconds / once) : options_.most_repeats;
    const int repeats = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(options_.most_repeats)));
    std::vector<double> times;
    for (int i = 0; i < options_.rounds; ++i) times.push_back(round(run, repeats));
    std::sort(times.begin(), times.end());
    return 1000.0 * times[times.size() / 2];
  }

 private:
  double round(const std::function<void()>& run, int repeats) {
    record(begin_.event, stream());
    for (int i = 0; i < repeats; ++i) run();
    record(end_.event, stream());
    synchronize(end_.event);
    return static_cast<double>(milliseconds_between(begin_.event, end_.event)) / repeats;
  }

  const TuneOptions& options_;
  TuneStream stream_;
  TuneEvent begin_, end_;
};

class Tuner {
 public:
  Tuner(GemmLibrary& library, const std::string& device, const TuneOptions& options)
      : library_(library),
        options_(options),
        pattern_(pattern_numbers * (sizeof(float) + sizeof(bf16))),
        workspace_(library.workspace_bytes()),
        stopwatch_(options) {
    table_.device = device;
    table_.library = library.description();
    fill_pattern(pattern_);
    library.use_workspace(workspace_.data());
  }

  void measure(Gemm gemm) {
    if (table_.choices.count(product_key(gemm)) > 0) return;
    const Matrices matrices(gemm, pattern_, stream());
    if (gemm.epilogue == Epilogue::bias_gradient) return measure_bias_gradient(gemm);
    const ProductTable::Choice best = fastest(gemm);
    const bool has_gelu = gemm.epilogue == Epilogue::gelu_bias || gemm.epilogue == Epilogue::dgelu;
    if (has_gelu && !best.algorithm.empty()) {
      const Gemm plain = split_product(gemm);
      const ProductTable::Choice alone = fastest(plain);
      const double time = alone.algorithm.empty() ? best.microseconds : stopwatch_.time([&] {
        library_.run(plain, stream());
        run_gelu(gemm, plain);
      });
      if (time < best.microseconds) {
        table_.choices.emplace(product_key(plain), alone);
        table_.choices.emplace(product_key(gemm),
                               ProductTable::Choice{ProductTable::split, time, best.first_microseconds});
        return;
      }
    }
    if (!best.algorithm.empty()) {
      table_.choices.emplace(product_key(gemm), best);
    } else if (gemm.epilogue != Epilogue::none) {
      measure_alone(split_product(gemm));
    }
  }

  ProductTable take() { return std::move(table_); }

 private:
  Stream stream() const { return stopwatch_.stream(); }

  // The product as it stays when its epilogue is refused.
  void measure_alone(const Gemm& gemm) {
    if (table_.choices.count(product_key(gemm)) > 0) return;
    const ProductTable::Choice best = fastest(gemm);
    if (!best.algorithm.empty()) {
      table_.choices.emplace(product_key(gemm), best);
    } else if (gemm.epilogue != Epilogue::none) {
      measure_alone(without_epilogue(gemm));
    }
  }

  // The fastest algorithm, which the product has from now on; none where the library has none.
  ProductTable::Choice fastest(const Gemm& gemm) {
    ProductTable::Choice best;
    for (const std::string& algorithm : library_.algorithms(gemm, options_.most_algorithms)) {
      if (!library_.choose(gemm, algorithm)) continue;  // what its text does not hold whole is not taken
      const double time = stopwatch_.time([&] { library_.run(gemm, stream()); });
      if (best.algorithm.empty()) best.first_microseconds = time;
      if (best.algorithm.empty() || time < best.microseconds) {
        best.algorithm = algorithm;
        best.microseconds = time;
      }
    }
    if (!best.algorithm.empty()) library_.choose(gemm, best.algorithm);
    return best;
  }

  // What the epilogue of gemm would do, behind its split_product().
  void run_gelu(const Gemm& gemm, const Gemm& plain) {
    const Index count = gemm.m * gemm.n;
    if (gemm.epilogue == Epilogue::gelu_bias) {
      activation_forward(plain.d.data, gemm.d.data, count, Activation::gelu_tanh, stream());
    } else {
      activation_backward(gemm.aux, gemm.d.data, gemm.d.data, count, Activation::gelu_tanh, stream());
    }
  }

  void measure_bias_gradient(const Gemm& gemm) {
    const Gemm plain = without_epilogue(gemm);
    const auto known = table_.choices.find(product_key(plain));
    if (known == table_.choices.end()) {
      if (fastest(plain).algorithm.empty()) return;
    } else if (!library_.choose(plain, known->second.algorithm)) {
      return;
    }
    ProductTable::Choice best = fastest(gemm);
    const DevicePiece sums(matrix_bytes(1, gemm.m, ElementType::fp32));
    const DevicePiece scratch(column_sums_workspace(gemm.k, gemm.m));
    auto* const to = static_cast<float*>(sums.data());
    const auto sum_columns = [&] { add_column_sums(gemm.a, to, gemm.k, gemm.m, scratch.data(), stream()); };
    const auto fused = [&] { library_.run(gemm, stream()); };
    if (best.algorithm.empty()) return;
    best.first_microseconds = stopwatch_.time([&] {
      library_.run(plain, stream());
      sum_columns();
    });
    best.microseconds = stopwatch_.time([&] {
      fused();
      add(gemm.bias, Values(to, ElementType::fp32), gemm.m, stream());
    });
    if (best.microseconds >= best.first_microseconds || !are_equal(gemm, to, fused, sum_columns))
      best = {ProductTable::split, best.first_microseconds, best.first_microseconds};
    table_.choices.emplace(product_key(gemm), best);
  }

  // Whether both give the same sums up to rounding. Those of k numbers about 1 are about the root of k.
  bool are_equal(const Gemm& gemm, float* sums, const std::function<void()>& fused,
                 const std::function<void()>& sum_columns) {
    const std::size_t bytes = matrix_bytes(1, gemm.m, ElementType::fp32);
    const TunePinned host(2 * bytes);
    fused();
    fill_zero(sums, bytes, stream());
    sum_columns();
    copy_to_host(host.data, gemm.bias.data(), bytes, stream());
    copy_to_host(host.data + bytes, sums, bytes, stream());
    synchronize(stream());
    const float tolerance = 1e-2f * std::sqrt(static_cast<float>(gemm.k));
    for (std::size_t at = 0; at < bytes; at += sizeof(float)) {
      float one = 0, other = 0;
      std::memcpy(&one, host.data + at, sizeof one);
      std::memcpy(&other, host.data + bytes + at, sizeof other);
      if (!(std::abs(one - other) <= tolerance)) return false;  // NaN too
    }
    return true;
  }

  GemmLibrary& library_;
  const TuneOptions& options_;
  TunePinned pattern_;
  DevicePiece workspace_;
  Stopwatch stopwatch_;
  ProductTable table_;
};

}  // namespace

ProductTable tune_products(GemmLibrary& library, const std::string& device,
                           const std::vector<ModelProduct>& products, const TuneOptions& options) {
  Tuner tuner(library, device, options);
  std::size_t done = 0;
  for (const ModelProduct& product : products) {
    if (options.progress) options.progress(product.what, done++, products.size());
    tuner.measure(product.gemm);
  }
  return tuner.take();
}

}  // namespace bigbird::kernels::cuda
