// What a search for tokens does, plain and in double: the published beam search, and the largest logits.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

// The published beam search (docs/specification.md 5.6): every continuation of every beam is written down and
// sorted.
struct BeamSequence {
  std::vector<int> tokens;  // with the start symbol
  double score = 0;         // log p while it runs, divided by the length penalty once it has ended
  bool ended = false;
};

// Logits of the token behind a sequence.
using NextLogits = std::function<std::vector<double>(const std::vector<int>&)>;

// After `steps` tokens: in each of the `beams` slots the sequence that ended there, else the one that runs
// there.
std::vector<BeamSequence> published_beam_search(const NextLogits& logits, int start, int end,
                                                std::size_t beams, double length_penalty, std::size_t steps);

// What a search takes from a row of logits: the largest, by sorting them all.
struct TopColumns {
  std::vector<std::size_t> columns;  // of the largest logits, of equal ones the lower column first
  Vector log_probabilities;          // of these: x - log of the sum of exp over the row
};

// Of one row, which has `count` columns at least.
TopColumns top_log_softmax(const Vector& logits, std::size_t count);

}  // namespace bigbird::reference
