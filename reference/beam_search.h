// The published beam search (docs/specification.md 5.6), plain and in double: every continuation of every
// beam is written down and sorted.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace bigbird::reference {

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

}  // namespace bigbird::reference
