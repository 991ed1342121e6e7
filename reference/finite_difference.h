// Numerical derivatives, the judge of every backward pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace bigbird::reference {

// d function / d variable by fourth-order central differences (four evaluations, error of order step^4).
// `variable` is what `function` reads; it holds its old value again afterwards.
inline double central_difference(double& variable, const std::function<double()>& function,
                                 double step = 1e-3) {
  const double centre = variable;
  const auto at = [&](double offset) {
    variable = centre + offset;
    return function();
  };
  const double near = at(step) - at(-step);
  const double far = at(2.0 * step) - at(-2.0 * step);
  variable = centre;
  return (8.0 * near - far) / (12.0 * step);
}

// |a - b| over the larger magnitude. Below `floor` the difference is measured against `floor`: a derivative
// that is zero in exact arithmetic comes out of both sides as rounding noise.
inline double relative_error(double a, double b, double floor = 1e-5) {
  const double error = std::abs(a - b) / std::max({std::abs(a), std::abs(b), floor});
  return std::isnan(error) ? INFINITY : error;  // a NaN must not pass for a small error
}

// The largest relative error between `gradient` and numerical derivatives with respect to `variables`; with
// stride > 1 only every stride-th entry is tried.
inline double largest_gradient_error(std::vector<double>& variables, const std::vector<double>& gradient,
                                     const std::function<double()>& function, std::size_t stride = 1) {
  if (variables.size() != gradient.size()) return INFINITY;
  double largest = 0.0;
  for (std::size_t i = 0; i < variables.size(); i += stride) {
    largest = std::max(largest, relative_error(gradient[i], central_difference(variables[i], function)));
  }
  return largest;
}

}  // namespace bigbird::reference
