// Evaluation of pretraining; see evaluator.h.
#include "lib/training/evaluator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/core/cancel.h"
#include "lib/core/progress.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

// Piece numbers, ascending: all, or a seeded choice.
std::vector<std::uint64_t> chosen_pieces(const PretrainSampler& sampler, std::uint64_t max_samples) {
  const std::uint64_t all = sampler.size();
  const std::uint64_t count = max_samples == 0 ? all : std::min(all, max_samples);
  std::vector<std::uint64_t> pieces(static_cast<std::size_t>(count));
  const RandomPermutation order(sampler.options().seed, Purpose::pretrain_order, 0, all);
  for (std::uint64_t i = 0; i < count; ++i) pieces[static_cast<std::size_t>(i)] = count == all ? i : order(i);
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

}  // namespace

double EvaluationResult::mlm_loss() const {
  return sums.mlm_loss / static_cast<double>(sums.mlm_count);
}

double EvaluationResult::bits_per_base() const {
  return sums.mlm_loss / std::log(2.0) / static_cast<double>(bases_covered);
}

double EvaluationResult::bits_per_token() const {
  return mlm_loss() / std::log(2.0);
}

EvaluationResult evaluate_pretraining(Model& model, const PretrainingBatches& batches,
                                      const Tokenizer& tokenizer, const EvaluationOptions& options) {
  const std::vector<std::uint64_t> pieces = chosen_pieces(batches.sampler(), options.max_samples);
  std::optional<Progress> progress;
  if (options.progress) progress.emplace("evaluate", pieces.size(), "samples");
  EvaluationResult result;
  std::vector<std::int32_t> left;
  for (std::size_t begin = 0; begin < pieces.size(); begin += static_cast<std::size_t>(options.batch)) {
    throw_if_cancelled();
    const std::size_t end = std::min(pieces.size(), begin + static_cast<std::size_t>(options.batch));
    Batch batch;
    left.clear();
    for (std::size_t i = begin; i < end; ++i) batches.append_piece(pieces[i], batch, &left);
    result.sums.add(model.forward(batch, {}));
    for (const std::int64_t length : batch.lengths) result.tokens += static_cast<std::uint64_t>(length);
    for (std::size_t i = 0; i < batch.masked_labels.size(); ++i) {
      const std::int32_t label = batch.masked_labels[i];
      result.bases_covered += tokenizer.piece_length(static_cast<std::uint32_t>(label));
      if (options.keep_scored) result.scored.push_back({left[i], label});
    }
    result.samples += end - begin;
    if (progress) progress->advance(end - begin);
  }
  return result;
}

}  // namespace bigbird
