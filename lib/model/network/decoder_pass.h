// The decoder's side of a pass: its sizes, what it reads, and how its attention is called. Made with the
// encoder's, before anything runs (pass_context.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/attention_runs.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {

// The config that a layer of the decoder sees: the encoder's, with the decoder's layers, heads and inner
// width, and without token types.
ModelConfig decoder_config(const ModelConfig& config);

// Block lists of a decoder, whose attention is never sparse (paper, section 4.1): those that causal attention
// needs, and all. Thread-safe; a plan lives as long as the cache.
class DecoderPlans {
 public:
  explicit DecoderPlans(std::int64_t heads) : heads_(heads) {}
  const BlockPlan& causal(std::int64_t blocks);
  const BlockPlan& cross(std::int64_t query_blocks, std::int64_t key_blocks);

 private:
  const BlockPlan& plan(std::int64_t query_blocks, std::int64_t key_blocks);  // 0 key blocks: causal

  std::int64_t heads_;
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::unique_ptr<BlockPlan>> plans_;
};

struct DecoderPass {
  ModelConfig config;                                 // decoder_config()
  Batch batch;                                        // the targets; empty when the encoder runs alone
  std::vector<std::vector<AttentionRun>> runs;        // [layer][0], causal
  std::vector<std::vector<AttentionRun>> cross_runs;  // [layer][0], over the rows of the encoder

  bool runs_at_all() const { return batch.sequences() > 0; }
  // As a layer of the decoder sees it, where `encoder` is the encoder's.
  PassContext context(const PassContext& encoder) const;
};

// config is the model's. Every run has a slot of its own from first_slot on.
DecoderPass decoder_pass(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                         const std::uint64_t* dropout_seed, kernels::Index first_slot);

}  // namespace bigbird
