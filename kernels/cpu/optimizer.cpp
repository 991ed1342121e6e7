// The gradient norm, AdamW, LAMB, the moving average; and Adafactor, tensor by tensor: what it divides by,
// how far its update would go, and the update.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {
namespace {

// A task takes rows in a row. It sums over columns for itself, which takes memory for each: at most so many.
constexpr Index adafactor_tasks_most = 64;

Index adafactor_rows_per_task(const AdafactorTensor& tensor) {
  return std::max(rows_per_task(tensor.columns), pieces(tensor.rows, adafactor_tasks_most));
}

Index adafactor_tasks(const AdafactorTensor& tensor) {
  return pieces(tensor.rows, adafactor_rows_per_task(tensor));
}

// A part of a piece, of one thread.
struct LambTask {
  std::size_t piece;
  Index at;  // in the arrays
  Index count;
};

std::vector<LambTask> lamb_tasks(std::span<const LambPiece> of) {
  std::vector<LambTask> tasks;
  for (std::size_t piece = 0; piece < of.size(); ++piece) {
    for (Index first = 0; first < of[piece].count; first += elements_per_task)
      tasks.push_back(
          {piece, of[piece].offset + first, std::min(elements_per_task, of[piece].count - first)});
  }
  return tasks;
}

AdamWConstants lamb_constants(const LambStep& step, const LambPiece& piece) {
  AdamWConstants constants;
  constants.gradient_scale = step.gradient_scale;
  constants.beta1 = static_cast<float>(step.beta1);
  constants.beta2 = static_cast<float>(step.beta2);
  constants.one_minus_beta1 = static_cast<float>(1.0 - step.beta1);
  constants.one_minus_beta2 = static_cast<float>(1.0 - step.beta2);
  constants.epsilon = step.epsilon;
  constants.decay = piece.decay ? step.weight_decay : 0.0f;
  return constants;
}

// In order of the tasks.
double sum_over_tasks(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum;
}

// The update of one tensor. Scratch holds a sum of squares for each column of each task, then what the
// columns multiply the gradient by.
class AdafactorUpdate {
 public:
  AdafactorUpdate(const Level& level, const AdafactorArrays& arrays, const AdafactorTensor& tensor,
                  const AdafactorStep& step)
      : level_(level),
        tensor_(tensor),
        step_(step),
        p_(arrays.parameters + tensor.offset),
        g_(arrays.gradients + tensor.offset),
        row_means_(tensor.row_means < 0 ? nullptr : arrays.state + tensor.row_means),
        column_means_(arrays.state + tensor.column_means),
        tasks_(adafactor_tasks(tensor)),
        column_sums_(static_cast<double*>(arrays.scratch)),
        column_factors_(reinterpret_cast<float*>(column_sums_ + tasks_ * tensor.columns)) {}

  void run() {
    const double parameter_squares = sum_squares();
    factor_columns();
    const double update_squares = over_tasks([&](Index first, Index number) {
      double sum = 0.0;
      for (Index row = first; row < first + number; ++row)
        sum += level_.factored_squares(g_ + row * tensor_.columns, row_factor(row), column_factors_,
                                       tensor_.columns);
      return sum;
    });
    const double count = static_cast<double>(tensor_.rows * tensor_.columns);
    const double scale = std::max(std::sqrt(parameter_squares / count), adafactor_least_scale);
    const double clip = std::max(1.0, std::sqrt(update_squares / count));
    const auto way = static_cast<float>(step_.learning_rate * tensor_.rate * scale / clip);
    over_tasks([&](Index first, Index number) {
      for (Index row = first; row < first + number; ++row) {
        const Index at = row * tensor_.columns;
        level_.factored_update(p_ + at, g_ + at, row_factor(row), column_factors_, way, tensor_.columns);
      }
      return 0.0;
    });
  }

 private:
  // The sum of body(first row, rows) over the tasks.
  template <typename Body>
  double over_tasks(const Body& body) const {
    const Index rows = adafactor_rows_per_task(tensor_);
    std::vector<double> sums(static_cast<std::size_t>(tasks_));
    parallel_pieces(tensor_.rows, rows, [&](Index first, Index number) {
      sums[static_cast<std::size_t>(first / rows)] = body(first, number);
    });
    return sum_over_tasks(sums);
  }

  float blended(float before, double mean) const {
    return static_cast<float>(step_.beta2 * static_cast<double>(before) +
                              (1.0 - step_.beta2) * (mean + adafactor_least_square));
  }

  // New means of the rows, and the sums of each task over its columns. Returns the squares of the parameters.
  double sum_squares() {
    const Index columns = tensor_.columns, rows = adafactor_rows_per_task(tensor_);
    std::vector<double> means(static_cast<std::size_t>(tasks_));
    const double squares = over_tasks([&](Index first, Index number) {
      const Index task = first / rows;
      double* const sums = column_sums_ + task * columns;
      std::fill_n(sums, columns, 0.0);
      for (Index row = first; row < first + number; ++row) {
        const double sum = level_.add_squares(g_ + row * columns, step_.gradient_scale, sums, columns);
        if (row_means_ == nullptr) continue;
        row_means_[row] = blended(row_means_[row], sum / static_cast<double>(columns));
        means[static_cast<std::size_t>(task)] += static_cast<double>(row_means_[row]);
      }
      return level_.sum_of_squares(p_ + first * columns, number * columns);
    });
    mean_of_rows_ = sum_over_tasks(means) / static_cast<double>(tensor_.rows);
    return squares;
  }

  // New means of the columns.
  void factor_columns() {
    parallel_pieces(tensor_.columns, rows_per_task(tasks_), [&](Index first, Index number) {
      for (Index column = first; column < first + number; ++column) {
        double sum = 0.0;
        for (Index task = 0; task < tasks_; ++task) sum += column_sums_[task * tensor_.columns + column];
        float& mean = column_means_[column];
        mean = blended(mean, sum / static_cast<double>(tensor_.rows));
        column_factors_[column] = static_cast<float>(1.0 / std::sqrt(static_cast<double>(mean)));
      }
    });
  }

  // What the row multiplies the gradient by.
  float row_factor(Index row) const {
    if (row_means_ == nullptr) return step_.gradient_scale;
    return static_cast<float>(static_cast<double>(step_.gradient_scale) *
                              std::sqrt(mean_of_rows_ / static_cast<double>(row_means_[row])));
  }

  const Level& level_;
  const AdafactorTensor& tensor_;
  const AdafactorStep& step_;
  float* const p_;
  const float* const g_;
  float* const row_means_;  // null: a vector
  float* const column_means_;
  const Index tasks_;
  double* const column_sums_;
  float* const column_factors_;
  double mean_of_rows_ = 0.0;
};

}  // namespace

void CpuBackend::zero_ranges(float* values, std::span<const FloatRange> ranges) {
  for (const FloatRange& range : ranges)
    zero(values + range.first, static_cast<std::size_t>(range.count) * sizeof(float));
}

void CpuBackend::sums_of_squares(const float* x, Index count, Index part, double* sums) {
  for (; count > 0; x += part, count -= part, ++sums) {
    const Index here = std::min(part, count);
    std::vector<double> partial(static_cast<std::size_t>(pieces(here, elements_per_task)));
    parallel_pieces(here, elements_per_task, [&](Index first, Index number) {
      partial[static_cast<std::size_t>(first / elements_per_task)] = level_.sum_of_squares(x + first, number);
    });
    *sums = std::accumulate(partial.begin(), partial.end(), 0.0);
  }
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

void CpuBackend::lamb_moments(const LambArrays& arrays, std::span<const LambPiece> of, const LambStep& step,
                              LambSquares* squares) {
  const std::vector<LambTask> tasks = lamb_tasks(of);
  std::vector<LambSquares> parts(tasks.size());
  parallel_for(tasks.size(), [&](std::size_t i) {
    const LambTask& task = tasks[i];
    parts[i] =
        level_.lamb_moments(arrays.parameters + task.at, arrays.gradients + task.at, arrays.first + task.at,
                            arrays.second + task.at, task.count, lamb_constants(step, of[task.piece]));
  });
  std::fill_n(squares, of.size(), LambSquares{});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    squares[tasks[i].piece].parameter += parts[i].parameter;
    squares[tasks[i].piece].update += parts[i].update;
  }
}

void CpuBackend::lamb_move(const LambArrays& arrays, std::span<const LambPiece> of, const LambStep& step,
                           const float* rates) {
  const std::vector<LambTask> tasks = lamb_tasks(of);
  parallel_for(tasks.size(), [&](std::size_t i) {
    const LambTask& task = tasks[i];
    level_.lamb_move(arrays.parameters + task.at, arrays.first + task.at, arrays.second + task.at, task.count,
                     lamb_constants(step, of[task.piece]), rates[task.piece]);
  });
}

void CpuBackend::move_towards(float* average, const float* values, Index count, float share) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    for (Index i = first; i < first + number; ++i) average[i] += share * (values[i] - average[i]);
  });
}

std::size_t CpuBackend::adafactor_scratch_bytes(std::span<const AdafactorTensor> tensors) const {
  std::size_t most = 0;
  for (const AdafactorTensor& tensor : tensors) {
    const auto columns = static_cast<std::size_t>(tensor.columns);
    const auto tasks = static_cast<std::size_t>(adafactor_tasks(tensor));
    most = std::max(most, columns * (tasks * sizeof(double) + sizeof(float)));
  }
  return most;
}

void CpuBackend::adafactor(const AdafactorArrays& arrays, std::span<const AdafactorTensor> tensors,
                           const AdafactorStep& step) {
  for (const AdafactorTensor& tensor : tensors) AdafactorUpdate(level_, arrays, tensor, step).run();
}

}  // namespace bigbird::kernels
