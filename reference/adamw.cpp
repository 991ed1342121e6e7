// Both AdamW variants, number by number; see adamw.h.
#include "reference/adamw.h"

#include <cmath>

namespace bigbird::reference {

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

}  // namespace bigbird::reference
