// Adafactor, number by number; see adafactor.h.
#include "reference/adafactor.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bigbird::reference {
namespace {

double root_mean_square(const Vector& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// The gradient over the root of what its square is expected to be, from its row's and its column's mean.
Vector factored_update(double b, std::size_t rows, std::size_t columns, const Vector& gradient,
                       AdafactorState& state) {
  state.rows.resize(rows, 0.0);
  state.columns.resize(columns, 0.0);
  for (double& mean : state.rows) mean *= b;
  for (double& mean : state.columns) mean *= b;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double square = gradient[i * columns + j] * gradient[i * columns + j] + 1e-30;
      state.rows[i] += (1.0 - b) * square / static_cast<double>(columns);
      state.columns[j] += (1.0 - b) * square / static_cast<double>(rows);
    }
  }
  double mean_of_rows = 0;
  for (const double mean : state.rows) mean_of_rows += mean / static_cast<double>(rows);
  Vector update(gradient.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      update[i * columns + j] =
          gradient[i * columns + j] / std::sqrt(state.rows[i] / mean_of_rows) / std::sqrt(state.columns[j]);
    }
  }
  return update;
}

Vector whole_update(double b, const Vector& gradient, AdafactorState& state) {
  state.squares.resize(gradient.size(), 0.0);
  Vector update(gradient.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    state.squares[i] = b * state.squares[i] + (1.0 - b) * (gradient[i] * gradient[i] + 1e-30);
    update[i] = gradient[i] / std::sqrt(state.squares[i]);
  }
  return update;
}

}  // namespace

void adafactor_update(double learning_rate, const std::vector<std::size_t>& shape, const Vector& gradient,
                      Vector& parameters, AdafactorState& state) {
  if (shape.empty() || shape.size() > 2) throw std::invalid_argument("a tensor of one or two dimensions");
  state.updates += 1;
  const double b = 1.0 - std::pow(static_cast<double>(state.updates), -0.8);
  const Vector update = shape.size() == 2 ? factored_update(b, shape[0], shape[1], gradient, state)
                                          : whole_update(b, gradient, state);
  const double clip = std::max(1.0, root_mean_square(update));
  const double scale = std::max(root_mean_square(parameters), 1e-3);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] -= learning_rate * scale * update[i] / clip;
  }
}

}  // namespace bigbird::reference
