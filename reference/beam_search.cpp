// See beam_search.h.
#include "reference/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bigbird::reference {
namespace {

constexpr double unreachable = -1.0e7;

void best_first(std::vector<BeamSequence>& sequences) {
  std::stable_sort(sequences.begin(), sequences.end(),
                   [](const BeamSequence& a, const BeamSequence& b) { return a.score > b.score; });
}

std::vector<double> log_probabilities(std::vector<double> logits) {
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  for (double& logit : logits) logit -= std::log(sum);
  return logits;
}

}  // namespace

std::vector<BeamSequence> published_beam_search(const NextLogits& logits, int start, int end,
                                                std::size_t beams, double length_penalty, std::size_t steps) {
  std::vector<BeamSequence> alive(beams, {{start}, unreachable, false}), finished = alive;
  alive.front().score = 0;
  for (std::size_t step = 1; step <= steps; ++step) {
    std::vector<BeamSequence> continuations;
    for (const BeamSequence& beam : alive) {
      const std::vector<double> next = log_probabilities(logits(beam.tokens));
      for (std::size_t token = 0; token < next.size(); ++token) {
        BeamSequence longer = beam;
        longer.tokens.push_back(static_cast<int>(token));
        longer.score += next[token];
        longer.ended = static_cast<int>(token) == end;
        continuations.push_back(std::move(longer));
      }
    }
    best_first(continuations);
    continuations.resize(std::min(continuations.size(), 2 * beams));
    alive.clear();
    for (BeamSequence& candidate : continuations) {
      if (candidate.ended) {
        candidate.score /= std::pow((5.0 + static_cast<double>(step)) / 6.0, length_penalty);
        finished.push_back(std::move(candidate));
      } else if (alive.size() < beams) {
        alive.push_back(std::move(candidate));
      }
    }
    best_first(finished);
    finished.resize(beams);
  }
  for (std::size_t slot = 0; slot < beams; ++slot) {
    if (!finished[slot].ended) finished[slot] = alive[slot];
  }
  return finished;
}

}  // namespace bigbird::reference
