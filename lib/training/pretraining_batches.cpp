// From samples to batches; see pretraining_batches.h.
#include "lib/training/pretraining_batches.h"

#include <utility>

#include "lib/core/error.h"

namespace bigbird {
namespace {

std::int64_t ordinary_tokens(const PretrainingObjective& objective, std::int64_t length) {
  return length - (objective.nsp ? 3 : 2);
}

}  // namespace

PretrainingObjective objective_for(const TokenShards& shards, const PretrainingObjective& asked) {
  PretrainingObjective objective = asked;
  objective.unit = shards.is_text() ? MaskingUnit::words : MaskingUnit::tokens;
  if (shards.is_text()) objective.nsp = asked.nsp && asked.nsp_of_text;
  return objective;
}

PretrainingBatches::PretrainingBatches(const TokenShards& shards, const Tokenizer& tokenizer,
                                       const ModelConfig& config, const PretrainingObjective& objective,
                                       std::int64_t length, std::uint64_t seed)
    : config_(config),
      objective_(objective_for(shards, objective)),
      seed_(seed),
      sampler_(shards, tokenizer, {length, objective_.nsp, seed}),
      masker_(tokenizer, objective.mask_probability, objective_.unit, ordinary_tokens(objective_, length)) {
  shards.require_ids_below(tokenizer.vocab_size());
  if (objective_.mlm || objective_.nsp) return;
  if (objective.nsp) {
    throw_usage(message("`no_mlm` leaves nothing to learn: text has no next sentences to predict"),
                "drop it, or ask for next sentences of text as well");
  }
  throw_usage(message("`no_mlm` and `no_nsp` together leave nothing to learn"), "drop one of them");
}

Batch PretrainingBatches::training_batch(std::uint64_t first, std::uint64_t count) const {
  Batch batch;
  for (std::uint64_t draw = first; draw < first + count; ++draw)
    append(sampler_.training_sample(draw), draw, batch, nullptr);
  return batch;
}

void PretrainingBatches::append_piece(std::uint64_t piece, Batch& batch,
                                      std::vector<std::int32_t>* left_neighbours) const {
  append(sampler_.sample(piece, piece), piece, batch, left_neighbours);
}

void PretrainingBatches::append(PretrainSample sample, std::uint64_t draw, Batch& batch,
                                std::vector<std::int32_t>* left_neighbours) const {
  const auto first_row = static_cast<std::int32_t>(batch.tokens());
  if (objective_.mlm) {
    CounterRng rng(seed_, Purpose::mlm_masking, draw);
    const std::vector<std::int32_t> original = left_neighbours ? sample.ids : std::vector<std::int32_t>();
    const MaskedTokens masked = masker_.mask(sample.ids, rng);
    for (const std::int32_t position : masked.positions) {
      batch.masked_rows.push_back(first_row + position);
      // Position 0 is [CLS], which is never masked.
      if (left_neighbours) left_neighbours->push_back(original[static_cast<std::size_t>(position - 1)]);
    }
    batch.masked_labels.insert(batch.masked_labels.end(), masked.labels.begin(), masked.labels.end());
  }
  batch.append(sample.ids, sample.types, config_.block_size, static_cast<std::int32_t>(config_.pad_token_id));
  if (objective_.nsp) batch.sequence_labels.push_back(sample.next_label);
}

BatchLimits PretrainingBatches::limits(std::int64_t sequences) const {
  return limits(config_, objective_, sampler_.options().length, sequences);
}

BatchLimits PretrainingBatches::limits(const ModelConfig& config, const PretrainingObjective& objective,
                                       std::int64_t length, std::int64_t sequences) {
  const std::int64_t padded = (length + config.block_size - 1) / config.block_size * config.block_size;
  BatchLimits limits;
  limits.tokens = sequences * padded;
  limits.sequences = sequences;
  const std::int64_t masked =
      most_masked(objective.unit, objective.mask_probability, ordinary_tokens(objective, length));
  limits.masked_tokens = objective.mlm ? sequences * masked : 0;
  limits.longest = padded;
  return limits;
}

}  // namespace bigbird
