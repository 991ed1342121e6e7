// See token_search.h.
#include "reference/token_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
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
