// Logistic regression with an L2 penalty on rows of features, for many questions of the same rows at once:
// the same fit as scikit-learn's LogisticRegression (solver lbfgs, C = 1 / l2), by L-BFGS (Nocedal and Wright
// 2006, algorithm 7.5) over all rows. Nothing is random, and the number of threads does not change the bytes:
// rows are cut into blocks whose number is fixed, and sums are taken in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/genomics/kmers.h"

namespace bigbird {

// The minimum of  sum over rows of -ln p(label)  +  l2 / 2 * (sum of squared weights); the intercept is free.
struct LogisticTask {
  std::span<const std::uint8_t> labels;  // [rows], 0 or 1; they outlive the fit
  double l2 = 1;
};

struct LogisticModel {
  std::vector<double> weights;  // [features]
  double intercept = 0;
  int steps = 0;           // taken
  bool converged = false;  // else it ended with the most steps

  // The log odds of 1.
  double logit(std::span<const KmerValue> row) const;
  // Of every row.
  std::vector<double> logits(const SparseRows& rows) const;
};

struct LogisticOptions {
  // A fit ends when no component of the gradient of the mean over rows is larger.
  double tolerance = 1e-5;
  int most_steps = 300;
  std::string progress;  // what Progress calls the work; empty: it is not shown
};

// A model for each task. Memory: 8 tasks at a time, for each 24 vectors of `features` doubles, and 16 blocks
// of 8 more. Error{interrupted} at a request to stop.
std::vector<LogisticModel> fit_logistic(const SparseRows& rows, std::span<const LogisticTask> tasks,
                                        const LogisticOptions& options);

// Mean of -ln p(label): what a penalty is chosen by. `labels` [rows].
double log_loss(const LogisticModel& model, const SparseRows& rows, std::span<const std::uint8_t> labels);

// The penalties that are tried where there are rows to choose by, the strongest first; and the one without.
inline constexpr double logistic_penalties[] = {10000, 3000, 1000, 300, 100, 30, 10, 1};
inline constexpr double usual_logistic_penalty = 100;

}  // namespace bigbird
