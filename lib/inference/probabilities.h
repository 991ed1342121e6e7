// What logits say, in double: the one place where sigmoid and softmax are spelled out.
#pragma once

#include <cstddef>
#include <span>

#include "lib/model/config.h"

namespace bigbird {

double sigmoid(double logit);

// Probabilities of exclusive classes, from all their logits; there is at least one.
class Softmax {
 public:
  explicit Softmax(std::span<const float> logits);
  double operator()(float logit) const;
  double log(float logit) const;  // of the probability

 private:
  double highest_;
  double sum_ = 0;
};

// The outputs of a classification head that stand for something by themselves: a column for each label; of
// two classes only class 1.
std::size_t outputs_of(const ModelConfig& config);
// Them, from the logits of one sequence [num_labels] into values [outputs_of]: the sigmoid of each label
// (multi_label), the probability of class 1 (two classes), of every class (more), the number itself
// (regression).
void values_of_logits(std::span<const float> logits, ProblemType problem, std::span<double> values);

}  // namespace bigbird
