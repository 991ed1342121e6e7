// See linear_products.h.
#include "kernels/cuda/linear_products.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/bf16.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/philox.h"

namespace bigbird::kernels::cuda {
namespace {

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;  // true for null
}

// Stands for memory that is never looked at, as aligned as what the backend allocates.
constexpr std::uintptr_t somewhere = 256;

Values shape_only(ElementType type) {
  return {reinterpret_cast<void*>(somewhere), type};
}

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
    if (gemm.bias != nullptr) gemm.bias = filled(1, gemm.n, gemm.bias.type(), pattern, stream);
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

}  // namespace

Index padded_columns(Index columns) {
  constexpr Index unit = 64;
  return columns % 8 == 0 ? columns : (columns + unit - 1) / unit * unit;
}

Gemm forward_product(ConstValues x, const Linear& layer, ConstValues weight, Values y, Index rows) {
  Gemm gemm;
  gemm.m = rows;
  gemm.n = layer.row_stride();
  gemm.k = layer.in;
  gemm.a = {x, layer.in};
  gemm.b = {weight, layer.in};
  gemm.transpose_b = true;
  gemm.d = {y, layer.row_stride()};
  return gemm;
}

Gemm input_product(ConstValues dy, const Linear& layer, ConstValues weight, Values dx, Index rows) {
  Gemm gemm;
  gemm.m = rows;
  gemm.n = layer.in;
  gemm.k = layer.row_stride();
  gemm.a = {dy, layer.row_stride()};
  gemm.b = {weight, layer.in};
  gemm.d = {dx, layer.in};
  return gemm;
}

Gemm weight_product(ConstValues dy, ConstValues x, const Linear& layer, float* gradient, Index rows,
                    bool fresh) {
  Gemm gemm;
  gemm.m = layer.row_stride();
  gemm.n = layer.in;
  gemm.k = rows;
  gemm.a = {dy, layer.row_stride()};
  gemm.transpose_a = true;
  gemm.b = {x, layer.in};
  gemm.d = {gradient, layer.in};
  gemm.accumulate = !fresh;
  return gemm;
}

bool is_epilogue(Activation activation, ElementType type) {
  return activation == Activation::gelu_tanh && type == ElementType::bf16;
}

bool may_have_epilogue(const Gemm& gemm) {
  return gemm.m > 0 && gemm.n > 0 && gemm.k > 0 && gemm.n % 8 == 0 && aligned(gemm.bias.data()) &&
         aligned(gemm.aux.data()) && aligned(gemm.d.data.data());
}

Gemm without_epilogue(Gemm gemm) {
  gemm.epilogue = Epilogue::none;
  gemm.bias = {};
  gemm.aux = {};
  return gemm;
}

std::vector<ModelProduct> training_products(const ProductSizes& sizes, Precision precision) {
  const ElementType type = precision == Precision::bf16 ? ElementType::bf16 : ElementType::fp32;
  const Values any = shape_only(type);
  auto* const gradient = reinterpret_cast<float*>(somewhere);
  std::vector<ModelProduct> products;
  const auto add = [&](const std::string& what, Gemm gemm) {
    gemm.tf32 = precision == Precision::tf32;
    products.push_back({what, may_have_epilogue(gemm) ? gemm : without_epilogue(gemm)});
  };
  // activated: an activation follows the layer; activation_before: another precedes it.
  // fresh: the gradient of the weights is written first here (LinearGradients).
  const auto layer = [&](const std::string& what, Index in, Index out, Index rows, bool fresh, bool activated,
                         bool activation_before, bool accumulates, bool wide_output = false) {
    const Linear linear{nullptr, nullptr, in, out, out == sizes.vocabulary ? padded_columns(out) : 0};
    const Values y = wide_output ? shape_only(ElementType::fp32) : any;
    Gemm forward = forward_product(any, linear, any, y, rows);
    const bool gelu = is_epilogue(Activation::gelu_tanh, type);
    forward.epilogue = activated && gelu ? Epilogue::gelu_bias : Epilogue::bias;
    forward.bias = y;
    if (activated && gelu) forward.aux = y;
    add(what + ": forward", forward);
    add(what + ": gradient of the weights", weight_product(any, any, linear, gradient, rows, fresh));
    Gemm back = input_product(any, linear, any, any, rows);
    back.accumulate = accumulates;
    if (activation_before && gelu) {
      back.epilogue = Epilogue::dgelu;
      back.aux = any;
    }
    add(what + ": gradient of the input", back);
  };
  layer("attention, query, key and value", sizes.width, 3 * sizes.width, sizes.tokens, true, false, false,
        true);
  layer("attention, output", sizes.width, sizes.width, sizes.tokens, true, false, false, false);
  layer("feed-forward, inner", sizes.width, sizes.intermediate, sizes.tokens, true, true, false, true);
  layer("feed-forward, output", sizes.intermediate, sizes.width, sizes.tokens, true, false, true, false);
  layer("masked tokens, transform", sizes.width, sizes.width, sizes.predictions, false, true, false, false);
  layer("masked tokens, vocabulary", sizes.width, sizes.vocabulary, sizes.predictions, false, false, false,
        false);
  layer("pooler", sizes.width, sizes.width, sizes.sequences, false, false, false, false);
  layer("next sentence", sizes.width, 2, sizes.sequences, false, false, false, false, true);
  return products;
}

std::vector<ProductOffer> product_offers(GemmLibrary& library, const std::vector<ModelProduct>& products) {
  std::vector<ProductOffer> offers;
  for (const ModelProduct& product : products) {
    const Gemm& gemm = product.gemm;
    const bool first = library.offers(gemm);
    const bool wants = gemm.epilogue != Epilogue::none;
    offers.push_back({product.what, gemm.m, gemm.n, gemm.k,
                      first || (wants && library.offers(without_epilogue(gemm))), first && wants});
  }
  return offers;
}

ProductTable tune_products(GemmLibrary& library, const std::string& device,
                           const std::vector<ModelProduct>& products, const TuneOptions& options) {
  ProductTable table;
  table.device = device;
  table.library = library.description();
  const TunePinned pattern(pattern_numbers * (sizeof(float) + sizeof(bf16)));
  fill_pattern(pattern);
  const DevicePiece workspace(library.workspace_bytes());
  library.use_workspace(workspace.data());
  Stopwatch stopwatch(options);
  std::size_t done = 0;
  for (const ModelProduct& product : products) {
    if (options.progress) options.progress(product.what, done++, products.size());
    Gemm gemm = product.gemm;
    if (table.choices.count(product_key(gemm)) > 0) continue;
    const Matrices matrices(gemm, pattern, stopwatch.stream());
    std::vector<std::string> algorithms = library.algorithms(gemm, options.most_algorithms);
    if (algorithms.empty() && gemm.epilogue != Epilogue::none) {
      gemm = without_epilogue(gemm);
      algorithms = library.algorithms(gemm, options.most_algorithms);
    }
    const std::string key = product_key(gemm);
    if (table.choices.count(key) > 0) continue;
    ProductTable::Choice best;
    for (const std::string& algorithm : algorithms) {
      if (!library.choose(gemm, algorithm)) continue;  // what its text does not hold whole is not taken
      const double time = stopwatch.time([&] { library.run(gemm, stopwatch.stream()); });
      if (best.algorithm.empty()) best.first_microseconds = time;
      if (best.algorithm.empty() || time < best.microseconds) {
        best.algorithm = algorithm;
        best.microseconds = time;
      }
    }
    if (!best.algorithm.empty()) table.choices.emplace(key, best);
  }
  return table;
}

}  // namespace bigbird::kernels::cuda
