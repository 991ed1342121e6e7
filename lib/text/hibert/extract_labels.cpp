// See extract_labels.h.
#include "lib/text/hibert/extract_labels.h"

#include <algorithm>
#include <cstddef>

#include "lib/metrics/rouge.h"

namespace bigbird {

std::string extract_of(const std::vector<std::string>& sentences, const std::vector<std::size_t>& numbers) {
  std::string text;
  for (const std::size_t number : numbers) text += (text.empty() ? "" : "\n") + sentences[number];
  return text;
}

std::vector<std::int32_t> extract_labels(const std::vector<std::string>& sentences,
                                         const std::string& summary) {
  RougeOptions options;
  options.types = {"rouge1", "rouge2"};
  std::vector<std::int32_t> labels(sentences.size(), 0);
  std::vector<std::size_t> taken;
  double best = 0;
  while (taken.size() < sentences.size()) {
    std::size_t found = sentences.size();
    for (std::size_t candidate = 0; candidate < sentences.size(); ++candidate) {
      if (labels[candidate] == 1) continue;
      std::vector<std::size_t> numbers = taken;
      numbers.insert(std::lower_bound(numbers.begin(), numbers.end(), candidate), candidate);
      double sum = 0;
      for (const RougeScore& score : rouge(summary, extract_of(sentences, numbers), options)) sum += score.f1;
      if (sum <= best) continue;
      best = sum;
      found = candidate;
    }
    if (found == sentences.size()) break;
    labels[found] = 1;
    taken.insert(std::lower_bound(taken.begin(), taken.end(), found), found);
  }
  return labels;
}

}  // namespace bigbird
