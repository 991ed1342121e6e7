// A moving average of the weights over the updates of a run (Polyak and Juditsky 1992, as an exponential
// average): steadier than the weights themselves where the learning rate is high or the data few.
//
// After update t (1, 2, ...) average += (1 - d) (weights - average) with d = min(decay, (1 + t) / (10 + t)),
// so that the first updates do not hold on to the weights that a run began with.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"

namespace bigbird {

class Model;

// Of the weights behind update `number`.
double average_decay_at(double decay, std::uint64_t number);

// Owns the average, in fp32 in the memory of the device.
class WeightAverage {
 public:
  // decay: above 0, below 1. Begins as the model's weights.
  WeightAverage(kernels::Backend& backend, Model& model, double decay);
  ~WeightAverage();
  WeightAverage(const WeightAverage&) = delete;
  WeightAverage& operator=(const WeightAverage&) = delete;

  void update(Model& model, std::uint64_t number);

  // [parameters of the model], on the host and back.
  std::vector<float> values() const;
  void set(const std::vector<float>& values);

 private:
  kernels::Backend& backend_;
  std::int64_t count_ = 0;
  double decay_ = 0;
  float* average_ = nullptr;
};

}  // namespace bigbird
