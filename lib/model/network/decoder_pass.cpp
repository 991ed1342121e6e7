// See decoder_pass.h.
#include "lib/model/network/decoder_pass.h"

#include <cstddef>
#include <numeric>

#include "lib/model/network/dropout_site.h"

namespace bigbird {
namespace {

// One run over the whole batch, with no sequences yet.
AttentionRun decoder_run(const ModelConfig& config, bool causal, DropoutSite site, std::int64_t layer,
                         bool training, const std::uint64_t* dropout_seed) {
  kernels::AttentionBatch call = attention_call(config);
  call.causal = causal;
  if (training && config.attention_probs_dropout_prob > 0) {
    call.drop_probability = static_cast<float>(config.attention_probs_dropout_prob);
    call.dropout_seed = dropout_seed;
    call.dropout_site = dropout_site(site, layer);
  }
  return {0, call};
}

}  // namespace

ModelConfig decoder_config(const ModelConfig& config) {
  ModelConfig of_decoder = config;
  of_decoder.num_hidden_layers = config.decoder.num_hidden_layers;
  of_decoder.num_attention_heads = config.decoder.num_attention_heads;
  of_decoder.intermediate_size = config.decoder.intermediate_size;
  of_decoder.type_vocab_size = 0;
  return of_decoder;
}

const BlockPlan& DecoderPlans::plan(std::int64_t query_blocks, std::int64_t key_blocks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& slot = plans_[{query_blocks, key_blocks}];
  if (slot) return *slot;
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(query_blocks));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row].resize(key_blocks > 0 ? static_cast<std::size_t>(key_blocks) : row + 1);
    std::iota(rows[row].begin(), rows[row].end(), 0);
  }
  slot = std::make_unique<BlockPlan>(std::vector(static_cast<std::size_t>(heads_), rows), key_blocks);
  return *slot;
}

const BlockPlan& DecoderPlans::causal(std::int64_t blocks) {
  return plan(blocks, 0);
}

const BlockPlan& DecoderPlans::cross(std::int64_t query_blocks, std::int64_t key_blocks) {
  return plan(query_blocks, key_blocks);
}

PassContext DecoderPass::context(const PassContext& encoder) const {
  PassContext pass{encoder.backend, config, batch, runs, 0, encoder.training, encoder.dropout_seed};
  pass.first_layer = encoder.config.num_hidden_layers;
  pass.smoothing = encoder.smoothing;
  pass.dropped = encoder.dropped;
  return pass;
}

DecoderPass decoder_pass(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                         const std::uint64_t* dropout_seed, kernels::Index first_slot) {
  DecoderPass pass;
  pass.config = decoder_config(config);
  pass.batch.ids = batch.targets.ids;
  pass.batch.types.assign(batch.targets.ids.size(), 0);
  pass.batch.token_offsets = batch.targets.token_offsets;
  pass.batch.lengths = batch.targets.lengths;
  if (!pass.runs_at_all()) return pass;
  const auto blocks = [&](std::int64_t rows) { return (rows + config.block_size - 1) / config.block_size; };
  kernels::Index slot = first_slot;
  for (std::int64_t layer = 0; layer < config.decoder.num_hidden_layers; ++layer) {
    const std::int64_t number = config.num_hidden_layers + layer;
    AttentionRun self =
        decoder_run(pass.config, true, DropoutSite::attention_probabilities, number, training, dropout_seed);
    AttentionRun cross = decoder_run(pass.config, false, DropoutSite::cross_attention_probabilities, number,
                                     training, dropout_seed);
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      const std::int64_t rows = batch.targets.token_offsets[s + 1] - batch.targets.token_offsets[s];
      const std::int64_t key_rows = batch.token_offsets[s + 1] - batch.token_offsets[s];
      const std::int64_t length = batch.targets.lengths[s];
      self.append(rows, length, length, plans.causal(blocks(rows)));
      cross.append_cross(rows, length, key_rows, batch.lengths[s],
                         plans.cross(blocks(rows), blocks(key_rows)));
    }
    self.set_slot(slot++);
    cross.set_slot(slot++);
    pass.runs.push_back({std::move(self)});
    pass.cross_runs.push_back({std::move(cross)});
  }
  return pass;
}

}  // namespace bigbird
