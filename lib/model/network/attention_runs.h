// How a batch is cut for attention: the calls of every layer, made before the first of them runs, because a
// device wants to know the block lists and lengths beforehand.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/types.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model_limits.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {

// A run of neighbouring sequences that one kernel call serves. Rows and offsets are counted from its own
// first row.
class AttentionRun {
 public:
  // call: all but the slot and the sequences.
  AttentionRun(kernels::Index first_row, const kernels::AttentionBatch& call)
      : first_row_(first_row), call_(call) {}

  void append(kernels::Index rows, kernels::Index length, kernels::Index query_length, const BlockPlan& plan);
  // A sequence whose keys are of other rows: `key_rows` of them, `length` real. In a run all are or none.
  void append_cross(kernels::Index rows, kernels::Index query_length, kernels::Index key_rows,
                    kernels::Index length, const BlockPlan& plan);
  void set_slot(kernels::Index slot) { call_.slot = slot; }
  // Its arrays are the run's, at the same address every time.
  kernels::AttentionBatch call() const;
  kernels::Index first_row() const { return first_row_; }

 private:
  kernels::Index first_row_;
  std::vector<kernels::Index> offsets_{0};
  std::vector<kernels::Index> lengths_;
  std::vector<kernels::Index> query_lengths_;
  std::vector<kernels::Index> key_offsets_;  // none where keys are the queries' own rows
  std::vector<const kernels::BlockPlanView*> plans_;
  kernels::AttentionBatch call_;
};

// All of a call but the slot and the sequences: the heads and blocks of `config`, scores over sqrt(D), no
// dropout.
kernels::AttentionBatch attention_call(const ModelConfig& config);

// [layer][run]; every run has a slot of its own, from first_slot on (AttentionBatch::slot). Dropout of
// attention probabilities exists in full attention only, and a short sequence takes full attention beside
// long ones that do not: in training a batch is cut where that changes. Without it the whole batch is one
// run. dropout_seed is a device pointer.
std::vector<std::vector<AttentionRun>> attention_runs(const ModelConfig& config, PlanCache& plans,
                                                      const Batch& batch, bool training,
                                                      const std::uint64_t* dropout_seed,
                                                      kernels::Index first_slot);
// The most runs that a layer can have.
std::int64_t most_attention_runs(const ModelConfig& config, const BatchLimits& limits, bool training);

}  // namespace bigbird
