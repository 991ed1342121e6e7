// lib/bench holds what a machine does in a second, by the calls of all rooms below, with a clock that is
// given. Nothing else in lib measures time to tell it.
//
// Products as this machine does them: one linear layer of a backend, with random numbers in its memory.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/backend.h"

namespace bigbird {

// y[rows, out] = x[rows, in] weight[out, in]^T + bias, as a layer of a model for inference runs it.
class LinearProduct {
 public:
  struct Shape {
    kernels::Index rows = 0, out = 0, in = 0;
    std::string text() const;  // "4096 x 2304 x 768"
    // Two for each multiplication with its addition.
    double operations() const;
    std::size_t bytes(const kernels::Backend& backend) const;
  };

  LinearProduct(kernels::Backend& backend, const Shape& shape);
  ~LinearProduct();
  LinearProduct(const LinearProduct&) = delete;
  LinearProduct& operator=(const LinearProduct&) = delete;

  // Once, and waits for the device.
  void run();

 private:
  kernels::Linear layer() const;

  kernels::Backend& backend_;
  Shape shape_;
  float* weight_ = nullptr;  // [out, in], then bias [out]
  void* copy_ = nullptr;     // the device's working copy of both
  void* x_ = nullptr;
  void* y_ = nullptr;
  void* packed_ = nullptr;  // the weight in place of its floats, where the backend has such
};

// Operations a second of the shape, the best of three rounds behind an untimed one.
double best_rate(kernels::Backend& backend, const LinearProduct::Shape& shape);

}  // namespace bigbird
