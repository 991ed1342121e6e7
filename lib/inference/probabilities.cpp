// Logits to probabilities; see probabilities.h.
#include "lib/inference/probabilities.h"

#include <algorithm>
#include <cmath>

namespace bigbird {

double sigmoid(double logit) {
  return 1.0 / (1.0 + std::exp(-logit));
}

Softmax::Softmax(std::span<const float> logits)
    : highest_(static_cast<double>(*std::max_element(logits.begin(), logits.end()))) {
  for (const float logit : logits) sum_ += std::exp(static_cast<double>(logit) - highest_);
}

double Softmax::operator()(float logit) const {
  return std::exp(static_cast<double>(logit) - highest_) / sum_;
}

double Softmax::log(float logit) const {
  return static_cast<double>(logit) - highest_ - std::log(sum_);
}

std::size_t outputs_of(const ModelConfig& config) {
  const bool two_classes = config.problem_type == ProblemType::single_label && config.num_labels == 2;
  return two_classes ? 1 : static_cast<std::size_t>(config.num_labels);
}

void values_of_logits(std::span<const float> logits, ProblemType problem, std::span<double> values) {
  if (problem == ProblemType::regression) {
    std::copy(logits.begin(), logits.end(), values.begin());
  } else if (problem == ProblemType::multi_label) {
    std::transform(logits.begin(), logits.end(), values.begin(),
                   [](float logit) { return sigmoid(static_cast<double>(logit)); });
  } else if (logits.size() == 2) {
    values[0] = sigmoid(static_cast<double>(logits[1]) - static_cast<double>(logits[0]));
  } else {
    std::transform(logits.begin(), logits.end(), values.begin(), Softmax(logits));
  }
}

}  // namespace bigbird
