// See top_columns.h.
#include "reference/top_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace bigbird::reference {

TopColumns top_log_softmax(const Vector& logits, std::size_t count) {
  if (count > logits.size()) throw std::invalid_argument("more columns asked for than there are");
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  const double largest = logits[order[0]];
  double sum = 0.0;
  for (const double x : logits) sum += std::exp(x - largest);
  TopColumns top;
  for (std::size_t i = 0; i < count; ++i) {
    top.columns.push_back(order[i]);
    top.log_probabilities.push_back(logits[order[i]] - largest - std::log(sum));
  }
  return top;
}

}  // namespace bigbird::reference
