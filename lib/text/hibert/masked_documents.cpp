// See masked_documents.h.
#include "lib/text/hibert/masked_documents.h"

#include <algorithm>
#include <numeric>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::size_t percent_chosen = 15, most_chosen = 5;
constexpr double masked_share = 0.8, kept_share = 0.1;

}  // namespace

std::size_t sentences_to_choose(std::size_t sentences) {
  return std::min({std::max<std::size_t>(1, sentences * percent_chosen / 100), most_chosen, sentences});
}

std::vector<ChosenSentence> choose_sentences(std::uint64_t seed, std::uint64_t draw, std::size_t document,
                                             const std::vector<std::size_t>& counts) {
  CounterRng rng(seed, Purpose::sentence_choice, draw);
  std::vector<std::size_t> numbers(counts[document]);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const std::size_t count = sentences_to_choose(numbers.size());
  draw_to_front(numbers, count, rng);
  std::sort(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<ChosenSentence> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    ChosenSentence& of = chosen.emplace_back();
    of.sentence = numbers[i];
    const double share = rng.uniform();
    if (share < masked_share) continue;
    if (share < masked_share + kept_share) {
      of.change = SentenceChange::kept;
    } else if (counts.size() > 1) {
      of.change = SentenceChange::replaced;
      of.document = static_cast<std::size_t>(rng.below(counts.size() - 1));
      if (of.document >= document) ++of.document;
      of.other = static_cast<std::size_t>(rng.below(counts[of.document]));
    }
  }
  return chosen;
}

std::vector<std::size_t> sentence_counts(const SentenceDocuments& documents) {
  std::vector<std::size_t> counts;
  for (const auto& sentences : documents.documents) counts.push_back(sentences.size());
  return counts;
}

void append_masked_document(Batch& batch, const ModelConfig& config, const SentenceDocuments& documents,
                            std::size_t document, const std::vector<ChosenSentence>& chosen,
                            std::int32_t mask_id) {
  std::vector<std::vector<std::int32_t>> sentences = documents.documents[document];
  const auto first = static_cast<std::int32_t>(batch.sequences());
  for (const ChosenSentence& of : chosen) {
    std::vector<std::int32_t>& ids = sentences[of.sentence];
    std::vector<std::int32_t> read = ids;
    read.insert(read.begin(), static_cast<std::int32_t>(config.decoder.start_token_id));
    read.pop_back();
    batch.targets.append(read, ids, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
    batch.documents.written.push_back(first + static_cast<std::int32_t>(of.sentence));
    if (of.change == SentenceChange::masked) std::fill(ids.begin(), ids.end() - 1, mask_id);
    if (of.change == SentenceChange::replaced) ids = documents.documents[of.document][of.other];
  }
  append_document(batch, config, sentences);
}

}  // namespace bigbird
