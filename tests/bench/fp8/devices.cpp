// The devices of a program for a study: --device cuda is the processor with the operands of every layer's
// product rounded to e4m3 (BIGBIRD_FP8=both, weights or inputs), a scale for each row of inputs and of
// weights. All else stays in fp32. For inference. Layers whose sizes are no multiples of 16 are left alone,
// as a device has no such products of theirs.
#include "kernels/devices.h"

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/errors.h"
#include "tests/bench/fp8/e4m3.h"
#include "tests/bench/gpu/timed_backend.h"

namespace bigbird::kernels {
namespace {

class RoundedProducts final : public bench::TimedBackend {
 public:
  explicit RoundedProducts(std::unique_ptr<Backend> backend)
      : bench::TimedBackend(*backend), owned_(std::move(backend)) {
    const char* const named = std::getenv("BIGBIRD_FP8");
    operands_ = named != nullptr ? named : "both";
    if (operands_ != "both" && operands_ != "weights" && operands_ != "inputs")
      throw std::invalid_argument("BIGBIRD_FP8 is both, weights or inputs");
  }

  // Layers are read as they are, and rounded once.
  std::size_t packed_weight_bytes(const Linear&, WeightForm) const override { return 0; }

  void linear_forward(ConstValues x, const Linear& layer, Values y, Index rows) override {
    if (!rounds(x, layer)) return owned_->linear_forward(x, layer, y, rows);
    owned_->linear_forward(rounded_inputs(x, layer, rows), rounded(layer), y, rows);
  }
  void linear_activation_forward(ConstValues x, const Linear& layer, Activation activation, Values pre,
                                 Values y, Index rows) override {
    if (!rounds(x, layer)) return owned_->linear_activation_forward(x, layer, activation, pre, y, rows);
    owned_->linear_activation_forward(rounded_inputs(x, layer, rows), rounded(layer), activation, pre, y,
                                      rows);
  }

 private:
  static bool rounds(ConstValues x, const Linear& layer) {
    if (x.type() != ElementType::fp32) throw std::logic_error("the study is made in fp32");
    return layer.in % 16 == 0 && layer.out % 16 == 0;
  }
  static void round_rows(const float* from, std::vector<float>& to, Index rows, Index width) {
    to.resize(static_cast<std::size_t>(rows * width));
    for (Index row = 0; row < rows; ++row)
      bigbird::bench::round_row_to_e4m3(from + row * width, to.data() + row * width, width);
  }
  const float* rounded_inputs(ConstValues x, const Linear& layer, Index rows) {
    if (operands_ == "weights") return x.as<float>();
    round_rows(x.as<float>(), inputs_, rows, layer.in);
    return inputs_.data();
  }
  Linear rounded(Linear layer) {
    if (operands_ == "inputs") return layer;
    std::vector<float>& weights = weights_[{layer.weight, layer.out, layer.in}];
    if (weights.empty()) round_rows(layer.weight, weights, layer.out, layer.in);
    layer.weight = weights.data();
    return layer;
  }

  std::unique_ptr<Backend> owned_;
  std::string operands_;
  std::map<std::tuple<const float*, Index, Index>, std::vector<float>> weights_;  // which do not change
  std::vector<float> inputs_;
};

}  // namespace

CudaStatus cuda_status(FreeMemory) {
  CudaStatus status;
  status.built_in = true;
  status.devices.push_back({0, "e4m3 on the processor", 0, 0, 0, 0, 0, false});
  return status;
}

std::vector<ProductOffer> base_model_products(int, Precision) {
  throw DeviceError("a study has no products to list");
}

ProductTable tune_products(int, Precision, const std::vector<ProductSizes>&,
                           const std::function<void(const std::string&, std::size_t, std::size_t)>&) {
  throw DeviceError("a study has no products to measure");
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&, std::string&, std::string&) {
  return std::make_unique<RoundedProducts>(make_cpu_backend());
}

}  // namespace bigbird::kernels
