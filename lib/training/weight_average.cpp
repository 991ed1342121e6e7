// A moving average of the weights; see weight_average.h.
#include "lib/training/weight_average.h"
#include "lib/model/network/model.h"

#include <algorithm>
#include <cstddef>

namespace bigbird {

double average_decay_at(double decay, std::uint64_t number) {
  const auto t = static_cast<double>(number);
  return std::min(decay, (1.0 + t) / (10.0 + t));
}

WeightAverage::WeightAverage(kernels::Backend& backend, Model& model, double decay)
    : backend_(backend), count_(model.layout().count()), decay_(decay) {
  average_ = static_cast<float*>(backend_.allocate(static_cast<std::size_t>(count_) * sizeof(float)));
  try {
    set(model.host_parameters());
  } catch (...) {
    backend_.release(average_);
    throw;
  }
}

WeightAverage::~WeightAverage() {
  backend_.release(average_);
}

void WeightAverage::update(Model& model, std::uint64_t number) {
  const auto share = static_cast<float>(1.0 - average_decay_at(decay_, number));
  backend_.move_towards(average_, model.parameters(), count_, share);
}

std::vector<float> WeightAverage::values() const {
  std::vector<float> values(static_cast<std::size_t>(count_));
  backend_.download_values(values.data(), average_, count_);
  return values;
}

void WeightAverage::set(const std::vector<float>& values) {
  backend_.upload(average_, values.data(), values.size() * sizeof(float));
}

}  // namespace bigbird
