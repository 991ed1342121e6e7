// The gradient norm and AdamW.
#include <vector>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

double CpuBackend::sum_of_squares(const float* x, Index count) {
  std::vector<double> partial(static_cast<std::size_t>(pieces(count, elements_per_task)));
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    partial[static_cast<std::size_t>(first / elements_per_task)] = level_.sum_of_squares(x + first, number);
  });
  double total = 0.0;
  for (const double part : partial) total += part;
  return total;
}

void CpuBackend::adamw(const AdamWArrays& arrays, std::span<const ParameterRun> runs, const AdamWStep& step) {
  AdamWConstants constants;
  constants.gradient_scale = step.gradient_scale;
  constants.beta1 = static_cast<float>(step.beta1);
  constants.beta2 = static_cast<float>(step.beta2);
  constants.one_minus_beta1 = static_cast<float>(1.0 - step.beta1);
  constants.one_minus_beta2 = static_cast<float>(1.0 - step.beta2);
  constants.epsilon = step.epsilon;
  constants.step_size = step.learning_rate / step.correction1;
  constants.inverse_correction2 = 1.0f / step.correction2;
  for (const ParameterRun& run : runs) {
    constants.decay = run.decay ? step.learning_rate * step.weight_decay : 0.0f;
    parallel_pieces(run.count, elements_per_task, [&](Index first, Index number) {
      const Index at = run.offset + first;
      level_.adamw(arrays.parameters + at, arrays.gradients + at, arrays.first + at, arrays.second + at,
                   number, constants);
    });
  }
}

void CpuBackend::move_towards(float* average, const float* values, Index count, float share) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    for (Index i = first; i < first + number; ++i) average[i] += share * (values[i] - average[i]);
  });
}

}  // namespace bigbird::kernels
