// WikiHop in two inputs; see two_inputs.h.
#include "lib/text/qa/wikihop/two_inputs.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/core/unicode_borders.h"

namespace bigbird {
namespace {

// Every place of `wanted` in `tokens`.
void find_tokens(const std::vector<std::uint32_t>& tokens, const std::vector<std::uint32_t>& wanted,
                 std::size_t first, std::int32_t global, std::vector<GlobalLayout::Mention>& found) {
  if (wanted.empty()) return;
  for (auto at = tokens.begin();; ++at) {
    at = std::search(at, tokens.end(), wanted.begin(), wanted.end());
    if (at == tokens.end()) return;
    found.push_back({static_cast<std::uint32_t>(first + static_cast<std::size_t>(at - tokens.begin())),
                     static_cast<std::uint32_t>(wanted.size()), global});
  }
}

// The sentences of a text, stripped, without blank ones.
std::vector<std::string_view> sentences_of(std::string_view text) {
  std::vector<std::string_view> sentences;
  const std::vector<std::size_t> begins = sentence_begins(text);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : text.size();
    const std::string_view sentence = strip_white_space(text.substr(begins[i], end - begins[i]));
    if (!sentence.empty()) sentences.push_back(sentence);
  }
  return sentences;
}

// Ids of the parts, as etcmodel's folders of this task have them: those of WordPiece, whatever the
// vocabulary.
PartIds wikihop_part_ids(const Tokenizer& tokenizer) {
  PartIds ids = part_ids(tokenizer);
  if (ids.of_etcmodel) {
    ids.question = 3;
    ids.candidate = 4;
    ids.paragraph = 5;
  }
  return ids;
}

}  // namespace

std::vector<std::size_t> kept_sentences(const std::vector<std::vector<std::size_t>>& tokens,
                                        std::size_t most_sentences, std::size_t most_tokens) {
  std::vector<std::size_t> kept;
  std::size_t sentences = 0, all_tokens = 0, turn = 0;
  // Most sentences first; of equals the one that came to have as many first.
  std::set<std::tuple<std::ptrdiff_t, std::size_t, std::size_t>> queue;
  for (const std::vector<std::size_t>& support : tokens) {
    queue.emplace(-static_cast<std::ptrdiff_t>(support.size()), turn++, kept.size());
    kept.push_back(support.size());
    sentences += support.size();
    for (const std::size_t count : support) all_tokens += count;
  }
  while (sentences > 0 && (sentences > most_sentences || all_tokens > most_tokens)) {
    const std::size_t support = std::get<2>(*queue.begin());
    queue.erase(queue.begin());
    all_tokens -= tokens[support][--kept[support]];
    --sentences;
    queue.emplace(-static_cast<std::ptrdiff_t>(kept[support]), turn++, support);
  }
  return kept;
}

WikiHopTwoInputs::WikiHopTwoInputs(const Tokenizer& tokenizer, const TextEncodingOptions& encoding)
    : tokenizer_(tokenizer), encoding_(encoding), part_ids_(wikihop_part_ids(tokenizer)) {
  std::unordered_map<std::string, std::uint32_t> first;
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id)
    small_letters_.push_back(first.try_emplace(lower(tokenizer.piece(id)), id).first->second);
}

WikiHopTwoInputs::Ids WikiHopTwoInputs::ids_of(std::string_view text, UnknownTally* unknown) const {
  return encode_counted(tokenizer_, strip_white_space(text), encoding_, unknown).ids;
}

WikiHopTwoInputs::Ids WikiHopTwoInputs::in_small_letters(const Ids& ids) const {
  Ids small;
  for (const std::uint32_t id : ids) small.push_back(small_letters_[id]);
  return small;
}

EncodedWikiHop WikiHopTwoInputs::encode(const WikiHopQuestion& example, const WikiHopLimits& limits,
                                        UnknownTally* unknown) const {
  EncodedWikiHop encoded;
  QuestionInput& input = encoded.windows.emplace_back();
  const auto layout = std::make_shared<GlobalLayout>();
  // One global token with its long ones.
  const auto add = [&](std::uint32_t id, PartType type, PartType long_type,
                       std::span<const std::uint32_t> ids, std::int32_t support) {
    const std::int32_t global = layout->add_global(id, type, support < 0);
    layout->add_long(ids.size(), long_type, global, support);
    input.ids.insert(input.ids.end(), ids.begin(), ids.end());
    return global;
  };
  std::vector<Ids> candidates;  // in small letters
  for (const std::string& candidate : example.candidates) {
    const Ids ids = ids_of(lower(candidate), unknown);
    const std::size_t first = input.ids.size();
    const std::int32_t global = add(part_ids_.candidate, part_global_candidate, part_candidate, ids, -1);
    layout->mentions.push_back(
        {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(ids.size()), global});
    layout->end_part();
    encoded.candidate_marks.push_back(static_cast<std::size_t>(global));
    candidates.push_back(in_small_letters(ids));
  }
  for (const std::uint32_t id : ids_of(example.query, unknown))
    add(part_ids_.question, part_global_question, part_question, {&id, 1}, -1);
  layout->end_part();
  if (input.ids.empty() || input.ids.size() > limits.length || layout->globals.size() > limits.globals) {
    throw_usage(
        message("{}: `length` {} and {} global tokens leave no room for query and candidates, {} "
                "tokens and {} global ones",
                example.where, limits.length, limits.globals, input.ids.size(), layout->globals.size()),
        message("a larger `length`, or a model with more global tokens"));
  }

  std::vector<std::vector<Ids>> supports;
  std::vector<std::vector<std::size_t>> tokens;
  const std::size_t most_supports = limits.globals - layout->globals.size();
  for (const std::string& support : example.supports) {
    if (supports.size() == most_supports) break;
    std::vector<Ids>& sentences = supports.emplace_back();
    std::vector<std::size_t>& counts = tokens.emplace_back();
    for (const std::string_view sentence : sentences_of(support)) {
      sentences.push_back(ids_of(sentence, unknown));
      counts.push_back(sentences.back().size());
    }
  }
  const std::vector<std::size_t> kept = kept_sentences(
      tokens, std::min(limits.sentences, most_supports - supports.size()), limits.length - input.ids.size());
  std::vector<std::vector<GlobalLayout::Mention>> places(candidates.size());
  for (std::size_t s = 0; s < supports.size(); ++s) {
    const std::int32_t support = layout->add_global(part_ids_.paragraph, part_global_paragraph);
    for (std::size_t n = 0; n < kept[s]; ++n) {
      const Ids small = in_small_letters(supports[s][n]);
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        find_tokens(small, candidates[c], input.ids.size(),
                    static_cast<std::int32_t>(encoded.candidate_marks[c]), places[c]);
      }
      add(part_ids_.sentence, part_global, part_sentence, supports[s][n], support);
    }
    layout->end_part();
  }
  for (const std::vector<GlobalLayout::Mention>& of_candidate : places)
    layout->mentions.insert(layout->mentions.end(), of_candidate.begin(), of_candidate.end());
  input.globals = layout;
  return encoded;
}

}  // namespace bigbird
