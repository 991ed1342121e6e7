// The losses, each with its gradient with respect to the predictions. Natural logarithms throughout.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

struct LossAndGradient {
  double loss = 0.0;
  Matrix gradient;  // d loss / d predictions, of their shape
};

inline constexpr std::int64_t ignored_label = -100;

// Mean over the rows whose label is not ignored_label of -log softmax(row)[label]; 0 with zero gradient when
// all are ignored.
LossAndGradient softmax_cross_entropy(const Matrix& logits, const std::vector<std::int64_t>& labels);

// The same against a distribution: `own` at the label, `other` at each of the other columns. Its mean of -sum
// of q log p. Label smoothing (Szegedy et al. 2016, section 7).
struct LabelShares {
  double own = 1.0;
  double other = 0.0;
};
LossAndGradient smoothed_cross_entropy(const Matrix& logits, const std::vector<std::int64_t>& labels,
                                       const LabelShares& shares);

// Mean over all elements of -(w y log sigmoid(x) + (1 - y) log(1 - sigmoid(x))); targets y in [0, 1], w the
// weight of positives (pos_weight of torch.nn.BCEWithLogitsLoss, which is not part of the divisor there
// either).
LossAndGradient binary_cross_entropy_with_logits(const Matrix& logits, const Matrix& targets,
                                                 double positive_weight = 1.0);

// Of numbers of which some are right. -log of the probability that a softmax over all gives to the right ones
// together (the OR-softmax of Clark and Gardner 2018, section 3); 0 with zero gradient when none is right.
LossAndGradient choice_cross_entropy(const Vector& x, const std::vector<bool>& right);
// The sum over them of -(y log sigmoid(x) + (1 - y) log(1 - sigmoid(x))), y = 1 for the right ones.
LossAndGradient mark_cross_entropy(const Vector& x, const std::vector<bool>& right);

// Mean over all elements of (x - y)^2.
LossAndGradient mean_squared_error(const Matrix& predictions, const Matrix& targets);

}  // namespace bigbird::reference
