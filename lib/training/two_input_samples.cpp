// See two_input_samples.h.
#include "lib/training/two_input_samples.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/data/masked_sentences.h"

namespace bigbird {

TwoInputs two_inputs(const PretrainSample& sample, const std::vector<std::size_t>& masked) {
  const std::vector<SentenceSpan>& sentences = sample.sentences;
  TwoInputs inputs;
  inputs.ids = sample.ids;
  inputs.types = sample.types;
  inputs.global_ids.assign(sentences.size(), etc_sentence_token);
  for (const std::size_t sentence : masked) inputs.global_ids[sentence] = etc_masked_sentence_token;
  std::vector<std::int32_t>& links = inputs.links[static_cast<std::size_t>(GlobalLink::sentence)];
  for (std::size_t s = 0; s < sentences.size(); ++s)
    links.resize(static_cast<std::size_t>(sentences[s].end), static_cast<std::int32_t>(s));
  if (sentences.back().document == 0) return inputs;
  std::vector<std::uint8_t> ends(inputs.ids.size()), global_ends(sentences.size());
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    if (s + 1 < sentences.size() && sentences[s + 1].document == sentences[s].document) continue;
    ends[static_cast<std::size_t>(sentences[s].end) - 1] = 1;
    global_ends[s] = 1;
  }
  inputs.examples = numbers_of_marks(ends);
  inputs.global_examples = numbers_of_marks(global_ends);
  return inputs;
}

void SentencesAlone::open_sample() {
  if (samples_.empty() || !samples_.back().empty()) samples_.emplace_back();
}

void SentencesAlone::add(std::vector<std::int32_t> ids, std::int64_t context) {
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(most_tokens_alone)));
  samples_.back().push_back(std::move(ids));
  contexts_.push_back(static_cast<std::int32_t>(context));
}

void SentencesAlone::append_to(Batch& batch, std::int64_t multiple, std::int32_t pad_id) const {
  std::map<std::vector<std::int32_t>, std::int32_t> texts;
  SentencePairs& pairs = batch.sentence_pairs;
  pairs.contexts = contexts_;
  for (const auto& sentences : samples_) {
    if (sentences.empty()) continue;
    TwoInputs inputs;
    for (const std::vector<std::int32_t>& ids : sentences) {
      const auto next = static_cast<std::int32_t>(texts.size());
      const auto number = static_cast<std::int32_t>(inputs.global_ids.size());
      pairs.texts.push_back(texts.emplace(ids, next).first->second);
      pairs.targets.push_back(static_cast<std::int32_t>(batch.globals.tokens()) + number);
      inputs.ids.insert(inputs.ids.end(), ids.begin(), ids.end());
      inputs.global_ids.push_back(etc_sentence_token);
      inputs.links[static_cast<std::size_t>(GlobalLink::sentence)].resize(inputs.ids.size(), number);
      inputs.examples.resize(inputs.ids.size(), number + 1);
      inputs.global_examples.push_back(number + 1);
    }
    batch.append(inputs, multiple, pad_id);
  }
}

}  // namespace bigbird
