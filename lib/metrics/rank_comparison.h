// Two scores of the same things, compared by their order.
#pragma once

#include <cstddef>
#include <span>

namespace bigbird {

// Spearman's rank correlation: Pearson's of the ranks, ties taking their mean rank. NaN for fewer than two
// values or where all of one score are equal. The values must not be NaN.
double spearman(std::span<const double> one, std::span<const double> other);

// Of the `top` highest of one score, the fraction that is among the `top` highest of the other; of equal
// values those that come first are taken. NaN where there are fewer values than `top`, or none.
double top_overlap(std::span<const double> one, std::span<const double> other, std::size_t top);

}  // namespace bigbird
