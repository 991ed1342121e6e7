// Number by number; see optimizer.h.
#include "reference/optimizer.h"

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

void adamw_update(const AdamWOptions& options, double learning_rate, const Vector& gradient,
                  Vector& parameters, AdamWState& state) {
  state.first_moment.resize(parameters.size(), 0.0);
  state.second_moment.resize(parameters.size(), 0.0);
  state.updates += 1;
  const double updates = static_cast<double>(state.updates);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    double& m = state.first_moment[i];
    double& v = state.second_moment[i];
    double& p = parameters[i];
    m = options.beta1 * m + (1.0 - options.beta1) * gradient[i];
    v = options.beta2 * v + (1.0 - options.beta2) * gradient[i] * gradient[i];
    if (options.variant == AdamWVariant::google) {
      p -= learning_rate * (m / (std::sqrt(v) + options.epsilon) + options.weight_decay * p);
    } else {
      const double corrected_m = m / (1.0 - std::pow(options.beta1, updates));
      const double corrected_v = v / (1.0 - std::pow(options.beta2, updates));
      p -= learning_rate * options.weight_decay * p;
      p -= learning_rate * corrected_m / (std::sqrt(corrected_v) + options.epsilon);
    }
  }
}

void lamb_update(const LambOptions& options, double learning_rate, const Vector& gradient, Vector& parameters,
                 AdamWState& state) {
  state.first_moment.resize(parameters.size(), 0.0);
  state.second_moment.resize(parameters.size(), 0.0);
  state.updates += 1;
  Vector update(parameters.size());
  double parameter_squares = 0, update_squares = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    double& m = state.first_moment[i];
    double& v = state.second_moment[i];
    m = options.beta1 * m + (1.0 - options.beta1) * gradient[i];
    v = options.beta2 * v + (1.0 - options.beta2) * gradient[i] * gradient[i];
    update[i] = m / (std::sqrt(v) + options.epsilon);
    if (!options.excluded) update[i] += options.weight_decay * parameters[i];
    parameter_squares += parameters[i] * parameters[i];
    update_squares += update[i] * update[i];
  }
  double ratio = 1;
  if (!options.excluded && parameter_squares > 0 && update_squares > 0)
    ratio = std::sqrt(parameter_squares) / std::sqrt(update_squares);
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= learning_rate * ratio * update[i];
}

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

double learning_rate(ScheduleVariant variant, double base, std::int64_t step, std::int64_t warmup,
                     std::int64_t total) {
  const double steps = static_cast<double>(step);
  const double last = static_cast<double>(total);
  const double first = static_cast<double>(warmup);
  if (step < warmup) return base * steps / first;
  if (step >= total) return 0.0;
  return variant == ScheduleVariant::google ? base * (1.0 - steps / last)
                                            : base * (last - steps) / (last - first);
}

}  // namespace bigbird::reference
