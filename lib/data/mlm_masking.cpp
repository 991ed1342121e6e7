// Masked language modelling; see mlm_masking.h.
#include "lib/data/mlm_masking.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/error.h"

namespace bigbird {

MlmMasker::MlmMasker(const Tokenizer& tokenizer, double probability)
    : probability_(probability), mask_id_(static_cast<std::int32_t>(tokenizer.special().mask)) {
  if (!(probability > 0.0 && probability < 1.0)) {
    throw_usage(fmt::format("`mask_probability` {}: must lie between 0 and 1", probability),
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

std::int64_t masked_count(double probability, std::int64_t ordinary_tokens) {
  if (ordinary_tokens == 0) return 0;
  return std::max<std::int64_t>(1, std::llround(probability * static_cast<double>(ordinary_tokens)));
}

MaskedTokens MlmMasker::mask(std::vector<std::int32_t>& ids, CounterRng& rng) const {
  std::vector<std::int32_t> candidates;
  candidates.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ordinary_[static_cast<std::size_t>(ids[i])]) candidates.push_back(static_cast<std::int32_t>(i));
  }
  const auto wanted =
      static_cast<std::size_t>(masked_count(probability_, static_cast<std::int64_t>(candidates.size())));
  for (std::size_t i = 0; i < wanted; ++i) {
    std::swap(candidates[i], candidates[i + static_cast<std::size_t>(rng.below(candidates.size() - i))]);
  }
  candidates.resize(wanted);
  std::sort(candidates.begin(), candidates.end());

  MaskedTokens masked;
  masked.positions = std::move(candidates);
  masked.labels.reserve(wanted);
  for (const std::int32_t position : masked.positions) {
    std::int32_t& id = ids[static_cast<std::size_t>(position)];
    masked.labels.push_back(id);
    const double draw = rng.uniform();
    if (draw < 0.8) {
      id = mask_id_;
    } else if (draw < 0.9) {
      id = replacement_ids_[static_cast<std::size_t>(rng.below(replacement_ids_.size()))];
    }
  }
  return masked;
}

}  // namespace bigbird
