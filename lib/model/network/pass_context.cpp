// See pass_context.h.
#include "lib/model/network/pass_context.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "lib/model/network/attention_etc.h"
#include "lib/model/network/attention_recurrent.h"
#include "lib/model/network/attention_windowed.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/token_pairs.h"

namespace bigbird {
namespace {

bool drops_probabilities(const ModelConfig& config, bool training) {
  return training && config.attention_probs_dropout_prob > 0;
}

std::vector<AttentionRun> layer_runs(const ModelConfig& config, PlanCache& plans, const Batch& batch,
                                     bool training, std::int64_t layer, const std::uint64_t* dropout_seed) {
  std::vector<AttentionRun> runs;
  bool last_drops = false;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t first = batch.token_offsets[s], rows = batch.token_offsets[s + 1] - first;
    const std::int64_t blocks = (batch.plan_length(s) + config.block_size - 1) / config.block_size;
    const bool full = plans.full_attention(blocks, batch.lengths[s]);
    const bool drops = (full || config.attention == AttentionPattern::longformer ||
                        config.attention == AttentionPattern::etc) &&
                       drops_probabilities(config, training);
    if (runs.empty() || drops != last_drops) {
      kernels::AttentionBatch call = attention_call(config);
      // What decides by tokens has rules that look back alone, and so have local heads.
      call.causal = config.causal && !decided_by_tokens(config.attention) && routed_heads(config) == 0;
      if (drops) {
        call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
        call.dropout_seed = dropout_seed;
        call.dropout_site =
            dropout_site(DropoutSite::attention_probabilities, layer, static_cast<std::int64_t>(runs.size()));
      }
      runs.emplace_back(first, call);
      last_drops = drops;
    }
    runs.back().append(rows, batch.lengths[s], full ? batch.given_length(s) : batch.lengths[s],
                       plans.plan(layer, blocks, batch.lengths[s]));
  }
  return runs;
}

// SplitMix64 (Steele, Lea and Flood 2014) over what has been added so far.
class Key {
 public:
  void add(std::uint64_t value) {
    std::uint64_t z = (state_ ^ value) + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    state_ = z ^ (z >> 31);
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

// Attention over lists of rows, by sums of features and within chunks of sorted tokens has none.
bool has_block_plans(AttentionPattern pattern) {
  return pattern != AttentionPattern::bpt && pattern != AttentionPattern::performer &&
         pattern != AttentionPattern::reformer;
}

}  // namespace

kernels::AttentionBatch attention_call(const ModelConfig& config) {
  kernels::AttentionBatch batch;
  batch.heads = config.num_attention_heads;
  batch.head_size = config.head_size();
  batch.block_size = config.block_size;
  batch.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(batch.head_size)));
  return batch;
}

void AttentionRun::append(kernels::Index rows, kernels::Index length, kernels::Index query_length,
                          const BlockPlan& plan) {
  offsets_.push_back(offsets_.back() + rows);
  lengths_.push_back(length);
  query_lengths_.push_back(query_length);
  plans_.push_back(&plan.view());
}

void AttentionRun::append_cross(kernels::Index rows, kernels::Index query_length, kernels::Index key_rows,
                                kernels::Index length, const BlockPlan& plan) {
  append(rows, length, query_length, plan);
  if (key_offsets_.empty()) key_offsets_.push_back(0);
  key_offsets_.push_back(key_offsets_.back() + key_rows);
}

void AttentionRun::append_behind(kernels::Index rows, kernels::Index query_length, kernels::Index key_rows,
                                 kernels::Index length, kernels::Index start, const BlockPlan& plan) {
  append_cross(rows, query_length, key_rows, length, plan);
  query_starts_.push_back(start);
}

kernels::AttentionBatch AttentionRun::call() const {
  kernels::AttentionBatch call = call_;
  call.sequences = static_cast<kernels::Index>(lengths_.size());
  call.token_offsets = offsets_.data();
  call.lengths = lengths_.data();
  call.query_lengths = query_lengths_.data();
  call.plans = plans_.data();
  call.key_offsets = key_offsets_.empty() ? nullptr : key_offsets_.data();
  call.query_starts = query_starts_.empty() ? nullptr : query_starts_.data();
  return call;
}

std::vector<std::vector<AttentionRun>> attention_runs(const ModelConfig& config, PlanCache& plans,
                                                      const Batch& batch, bool training,
                                                      const std::uint64_t* dropout_seed,
                                                      kernels::Index first_slot) {
  std::vector<std::vector<AttentionRun>> layers;
  kernels::Index slot = first_slot;
  if (!has_block_plans(config.attention)) return layers;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    layers.push_back(layer_runs(config, plans, batch, training, layer, dropout_seed));
    for (AttentionRun& run : layers.back()) run.set_slot(slot++);
  }
  return layers;
}

std::int64_t most_attention_runs(const ModelConfig& config, const BatchLimits& limits, bool training) {
  if (!has_block_plans(config.attention)) return 0;
  if (!drops_probabilities(config, training)) return 1;
  const std::int64_t longest = limits.longest / config.block_size;
  const bool full = full_attention_reason(config, 1).empty();
  for (std::int64_t blocks = 2; blocks <= longest; ++blocks) {
    if (full_attention_reason(config, blocks).empty() != full) return limits.sequences;
  }
  return 1;
}

std::int64_t masked_rows_of_pass(const kernels::Backend& backend, std::int64_t masked, std::int64_t tokens) {
  if (!backend.asynchronous()) return masked;
  constexpr std::int64_t unit = 64;
  return std::min((masked + unit - 1) / unit * unit, tokens);
}

std::uint64_t pass_key(const PassContext& pass, std::uint64_t model, Phase phase) {
  const Batch& batch = pass.batch;
  Key key;
  key.add(model);
  key.add(static_cast<std::uint64_t>(phase));
  key.add(static_cast<std::uint64_t>(pass.training));
  key.add(static_cast<std::uint64_t>(pass.scale_known));
  key.add(static_cast<std::uint64_t>(!batch.embedding_offsets.empty()));
  key.add(batch.sequences());
  key.add(batch.outputs());
  for (const std::int64_t offset : batch.token_offsets) key.add(offset);
  // Block lists that are of the tokens alone.
  for (std::size_t s = 0; system_of(pass.config.attention).by_own_length && s < batch.lengths.size(); ++s)
    key.add(planned_blocks(pass.config, batch.plan_length(s) / pass.config.block_size, batch.lengths[s]));
  if (pass.windowed != nullptr) {
    for (const std::int64_t offset : pass.windowed->offsets) key.add(offset);
  }
  if (pass.recurrent != nullptr) add_to_key(*pass.recurrent, [&](std::int64_t value) { key.add(value); });
  if (pass.etc != nullptr) add_to_key(*pass.etc, batch, [&](std::int64_t value) { key.add(value); });
  key.add(batch.span_nodes);
  key.add(static_cast<std::int64_t>(batch.sentence_pairs.contexts.size()));
  key.add(pass.masked_rows);
  for (const std::int64_t offset : batch.documents.sentence_offsets) key.add(offset);
  for (const std::int64_t offset : batch.targets.token_offsets) key.add(offset);
  const bool labels[] = {!batch.masked_labels.empty(), !batch.sequence_labels.empty(),
                         !batch.sequence_targets.empty(), !batch.start_positions.empty(),
                         !batch.targets.labels.empty()};
  for (const bool given : labels) key.add(static_cast<std::uint64_t>(given));
  if (pass.smoothing.epsilon > 0.0) {
    key.add(std::bit_cast<std::uint64_t>(pass.smoothing.epsilon));
    key.add(static_cast<std::uint64_t>(pass.smoothing.form));
  }
  for (const std::uint8_t dropped : pass.dropped) key.add(std::uint64_t{2} + dropped);
  for (const TokenTargets& targets : batch.token_targets) key.add(1 + targets.groups());
  // The tokens that compete for the ends of an answer.
  for (std::size_t s = 0; !batch.start_positions.empty() && s < batch.lengths.size(); ++s) {
    key.add(batch.given_length(s));
  }
  return key.value();
}

}  // namespace bigbird
