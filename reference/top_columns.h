// What a search for tokens takes from a row of logits: the largest, by sorting them all.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

struct TopColumns {
  std::vector<std::size_t> columns;  // of the largest logits, of equal ones the lower column first
  Vector log_probabilities;          // of these: x - log of the sum of exp over the row
};

// Of one row, which has `count` columns at least.
TopColumns top_log_softmax(const Vector& logits, std::size_t count);

}  // namespace bigbird::reference
