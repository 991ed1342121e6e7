// See masked_sentences.h.
#include "lib/data/masked_sentences.h"

#include <algorithm>

#include "lib/data/mlm_masking.h"

namespace bigbird {
namespace {

std::int64_t in_whole(std::int64_t tokens, std::int64_t multiple) {
  return (tokens + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t masked_sentence_count(std::int64_t sentences) {
  if (sentences < least_sentences_to_mask) return 0;
  return std::min(most_masked_sentences, masked_count(masked_sentence_fraction, sentences));
}

std::int64_t most_rows_alone(std::int64_t length, std::int64_t multiple) {
  return in_whole(std::max(length / 2, std::min(length, most_tokens_alone)), multiple);
}

std::vector<std::size_t> draw_masked_sentences(const std::vector<SentenceSpan>& sentences,
                                               std::int64_t most_rows, CounterRng& rng) {
  std::vector<std::size_t> drawn;
  std::int64_t rows = 0;
  for (std::size_t begin = 0, end = 0; begin < sentences.size(); begin = end) {
    std::vector<std::size_t> candidates;
    for (; end < sentences.size() && sentences[end].document == sentences[begin].document; ++end)
      if (sentences[end].size() >= least_masked_tokens) candidates.push_back(end);
    const auto wanted =
        static_cast<std::size_t>(masked_sentence_count(static_cast<std::int64_t>(end - begin)));
    const std::size_t count = std::min(wanted, candidates.size());
    draw_to_front(candidates, count, rng);
    candidates.resize(count);
    for (const std::size_t sentence : candidates) {
      const auto tokens = std::min<std::int64_t>(sentences[sentence].size(), most_tokens_alone);
      if (rows + tokens > most_rows) continue;
      rows += tokens;
      drawn.push_back(sentence);
    }
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

}  // namespace bigbird
