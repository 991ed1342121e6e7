// Cross entropies and the squared error by their formulas; see losses.h.
#include "reference/losses.h"

#include <algorithm>
#include <cmath>

namespace bigbird::reference {

LossAndGradient softmax_cross_entropy(const Matrix& logits, const std::vector<std::int64_t>& labels) {
  return smoothed_cross_entropy(logits, labels, {});
}

LossAndGradient smoothed_cross_entropy(const Matrix& logits, const std::vector<std::int64_t>& labels,
                                       const LabelShares& shares) {
  if (labels.size() != logits.rows) throw std::invalid_argument("cross entropy: one label per row");
  LossAndGradient result{0.0, Matrix(logits.rows, logits.columns)};
  const double counted = static_cast<double>(labels.size()) -
                         static_cast<double>(std::count(labels.begin(), labels.end(), ignored_label));
  for (std::size_t i = 0; i < logits.rows; ++i) {
    if (labels[i] == ignored_label) continue;
    const std::size_t label = static_cast<std::size_t>(labels[i]);
    if (labels[i] < 0 || label >= logits.columns)
      throw std::invalid_argument("cross entropy: a label beyond the classes");
    double largest = logits(i, 0);
    for (std::size_t j = 0; j < logits.columns; ++j) largest = std::max(largest, logits(i, j));
    double total = 0.0;
    for (std::size_t j = 0; j < logits.columns; ++j) total += std::exp(logits(i, j) - largest);
    for (std::size_t j = 0; j < logits.columns; ++j) {
      const double share = j == label ? shares.own : shares.other;
      const double probability = std::exp(logits(i, j) - largest) / total;
      if (share > 0.0) result.loss += share * (std::log(total) + largest - logits(i, j)) / counted;
      result.gradient(i, j) = (probability - share) / counted;
    }
  }
  return result;
}

LossAndGradient binary_cross_entropy_with_logits(const Matrix& logits, const Matrix& targets,
                                                 double positive_weight) {
  if (targets.values.size() != logits.values.size()) throw std::invalid_argument("one target per logit");
  LossAndGradient result{0.0, Matrix(logits.rows, logits.columns)};
  const double count = static_cast<double>(logits.values.size());
  for (std::size_t i = 0; i < logits.values.size(); ++i) {
    const double x = logits.values[i];
    const double y = targets.values[i];
    // -log sigmoid(x) = log(1 + exp(-x)) and -log(1 - sigmoid(x)) = log(1 + exp(x)), so that exp never
    // overflows.
    const double rest = std::log1p(std::exp(-std::abs(x)));
    const double sigmoid = 1.0 / (1.0 + std::exp(-x));
    result.loss +=
        (positive_weight * y * (std::max(-x, 0.0) + rest) + (1.0 - y) * (std::max(x, 0.0) + rest)) / count;
    result.gradient.values[i] = (positive_weight * y * (sigmoid - 1.0) + (1.0 - y) * sigmoid) / count;
  }
  return result;
}

LossAndGradient choice_cross_entropy(const Vector& x, const std::vector<bool>& right) {
  LossAndGradient result{0.0, Matrix(1, x.size())};
  Vector chosen;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (right.at(i)) chosen.push_back(x[i]);
  }
  if (chosen.empty()) return result;
  const auto log_sum_exp = [](const Vector& values) {
    const double largest = *std::max_element(values.begin(), values.end());
    double total = 0.0;
    for (const double value : values) total += std::exp(value - largest);
    return largest + std::log(total);
  };
  const double all = log_sum_exp(x), some = log_sum_exp(chosen);
  result.loss = all - some;
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.gradient(0, i) = std::exp(x[i] - all) - (right[i] ? std::exp(x[i] - some) : 0.0);
  }
  return result;
}

LossAndGradient mark_cross_entropy(const Vector& x, const std::vector<bool>& right) {
  LossAndGradient result{0.0, Matrix(1, x.size())};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const LossAndGradient one =
        binary_cross_entropy_with_logits(Matrix(1, 1, {x[i]}), Matrix(1, 1, {right.at(i) ? 1.0 : 0.0}));
    result.loss += one.loss;
    result.gradient(0, i) = one.gradient(0, 0);
  }
  return result;
}

LossAndGradient mean_squared_error(const Matrix& predictions, const Matrix& targets) {
  if (targets.values.size() != predictions.values.size())
    throw std::invalid_argument("one target per prediction");
  LossAndGradient result{0.0, Matrix(predictions.rows, predictions.columns)};
  const double count = static_cast<double>(predictions.values.size());
  for (std::size_t i = 0; i < predictions.values.size(); ++i) {
    const double difference = predictions.values[i] - targets.values[i];
    result.loss += difference * difference / count;
    result.gradient.values[i] = 2.0 * difference / count;
  }
  return result;
}

}  // namespace bigbird::reference
