// Masked language modelling; see mlm_masking.h.
#include "lib/data/mlm_masking.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lib/core/error.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
MlmMasker::MlmMasker(const Tokenizer& tokenizer, double probability)
    : probability_(probability),
      mask_id_(static_cast<std::int32_t>(tokenizer.special().mask)),
      unknown_id_(static_cast<std::int32_t>(tokenizer.special().unknown)) {
  if (!(probability > 0.0 && probability < 1.0)) {
    throw_usage(message("`mask_probability` {}: must be between 0 and 1", probability),
                "the usual value is 0.15");
  }
  const SpecialIds& special = tokenizer.special();
  ordinary_.resize(tokenizer.vocab_size());
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    ordinary_[id] = !tokenizer.is_special(id) && id != special.pad && id != special.unknown &&
                    id != special.cls && id != special.sep && id != special.mask;
    if (ordinary_[id]) replacement_ids_.push_back(static_cast<std::int32_t>(id));
  }
  if (replacement_ids_.empty())
    throw_bad_input("the tokenizer has special pieces only", "train it with bigbird train-bpe");
}

MlmMasker::MlmMasker(const Tokenizer& tokenizer, double probability, MaskingUnit unit,
                     std::int64_t ordinary_tokens, Masks masks)
    : MlmMasker(tokenizer, probability) {
  unit_ = unit;
  masks_ = masks;
  most_ = most_masked(unit, probability, ordinary_tokens);
  if (unit == MaskingUnit::words) starts_word_ = word_starts(tokenizer);
}

std::int64_t masked_count(double probability, std::int64_t ordinary_tokens) {
  if (ordinary_tokens == 0) return 0;
  return std::max<std::int64_t>(1, std::llround(probability * static_cast<double>(ordinary_tokens)));
}

std::int64_t most_masked(MaskingUnit unit, double probability, std::int64_t ordinary_tokens) {
  const std::int64_t usual = masked_count(probability, ordinary_tokens);
  if (unit == MaskingUnit::tokens) return usual;
  return std::min(ordinary_tokens, std::max(2 * usual, 2 * longest_word));
}

std::vector<std::int32_t> MlmMasker::draw_tokens(const std::vector<std::int32_t>& ids,
                                                 CounterRng& rng) const {
  std::vector<std::int32_t> candidates;
  candidates.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ordinary_[static_cast<std::size_t>(ids[i])]) candidates.push_back(static_cast<std::int32_t>(i));
  }
  const auto wanted =
      static_cast<std::size_t>(masked_count(probability_, static_cast<std::int64_t>(candidates.size())));
  draw_to_front(candidates, wanted, rng);
  candidates.resize(wanted);
  return candidates;
}

std::vector<std::int32_t> MlmMasker::draw_words(const std::vector<std::int32_t>& ids, CounterRng& rng) const {
  std::vector<std::int32_t> places;  // of ordinary tokens
  std::vector<std::size_t> begins;   // of words, in `places`
  bool inside = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    if (!ordinary_[id]) {
      inside = inside && ids[i] == unknown_id_;
      continue;
    }
    if (!inside || starts_word_[id]) begins.push_back(places.size());
    inside = true;
    places.push_back(static_cast<std::int32_t>(i));
  }
  struct Word {
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Word> words;
  words.reserve(begins.size());
  for (std::size_t w = 0; w < begins.size(); ++w) {
    const std::size_t end = w + 1 < begins.size() ? begins[w + 1] : places.size();
    if (end - begins[w] <= static_cast<std::size_t>(longest_word)) {
      words.push_back({begins[w], end});
      continue;
    }
    for (std::size_t piece = begins[w]; piece < end; ++piece) words.push_back({piece, piece + 1});
  }
  const auto wanted =
      static_cast<std::size_t>(masked_count(probability_, static_cast<std::int64_t>(words.size())));
  draw_to_front(words, wanted, rng);

  std::vector<std::int32_t> drawn;
  for (std::size_t w = 0; w < wanted; ++w) {
    const auto [begin, end] = words[w];
    if (drawn.size() + (end - begin) > static_cast<std::size_t>(most_)) continue;
    for (std::size_t piece = begin; piece < end; ++piece) drawn.push_back(places[piece]);
  }
  return drawn;
}

MaskedTokens MlmMasker::mask(std::vector<std::int32_t>& ids, CounterRng& rng) const {
  MaskedTokens masked;
  masked.positions = unit_ == MaskingUnit::words ? draw_words(ids, rng) : draw_tokens(ids, rng);
  std::sort(masked.positions.begin(), masked.positions.end());
  masked.labels.reserve(masked.positions.size());
  for (const std::int32_t position : masked.positions) {
    std::int32_t& id = ids[static_cast<std::size_t>(position)];
    masked.labels.push_back(id);
    const double draw = masks_ == Masks::all ? 0.0 : rng.uniform();
    if (draw < 0.8) {
      id = mask_id_;
    } else if (draw < 0.9) {
      id = replacement_ids_[static_cast<std::size_t>(rng.below(replacement_ids_.size()))];
    }
  }
  return masked;
}

std::vector<bool> word_starts(const Tokenizer& tokenizer) {
  std::vector<bool> starts(tokenizer.vocab_size());
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    starts[id] = !tokenizer.is_special(id) && tokenizer.begins_word(id);
  }
  if (std::find(starts.begin(), starts.end(), true) == starts.end()) {
    throw_bad_input("no piece of the tokenizer begins a word (opens with the sign of a blank)",
                    "whole words need a text vocabulary: take the one that the text shards were made with");
  }
  return starts;
}

}  // namespace bigbird
