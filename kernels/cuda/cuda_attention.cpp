// Attention of the CUDA backend: slots for prepared batches, and the workspace of a call.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/padding.h"
#include "kernels/cuda/cuda_backend.h"

namespace bigbird::kernels::cuda {

namespace {

// Of exactly this batch.
AttentionLimits limits_of(const AttentionBatch& batch, bool training) {
  AttentionLimits limits;
  limits.sequences = batch.sequences;
  for (const Index* offsets : {batch.token_offsets, batch.key_offsets}) {
    if (offsets == nullptr) continue;
    limits.tokens = std::max(limits.tokens, offsets[batch.sequences]);
    for (Index s = 0; s < batch.sequences; ++s)
      limits.longest = std::max(limits.longest, offsets[s + 1] - offsets[s]);
  }
  limits.heads = batch.heads;
  limits.head_size = batch.head_size;
  limits.block_size = batch.block_size;
  if (batch.relative != nullptr) limits.labels = batch.relative->labels;
  limits.training = training;
  return limits;
}

// Labels that are met lie below the number of them, and links that decide are there.
void require_labels(const AttentionBatch& batch) {
  if (batch.rule != nullptr &&
      (batch.rule->link_columns > most_link_columns || batch.rule->needed_links > batch.rule->link_columns))
    throw std::logic_error("attention of more links than there are");
  if (batch.query_starts != nullptr && batch.key_offsets == nullptr)
    throw std::logic_error("attention of queries that stand behind no other rows");
  if (batch.relative == nullptr) return;
  const RelativeTerm& term = *batch.relative;
  if (term.behind && (term.by_links || term.query_parts != nullptr))
    throw std::logic_error("attention of labels behind beside those of links or parts");
  const Index around = 2 * term.most + (term.by_links ? 2 : term.query_parts != nullptr ? 3 : 0);
  if (term.labels <= (term.behind ? term.most : around) || term.labels > most_labels)
    throw std::logic_error("attention of more labels than there are rows");
  if (term.by_links && (batch.rule == nullptr || batch.rule->link_columns == 0))
    throw std::logic_error("attention of labels by links without links");
}

// What attention_call() was asked for beside it.
void* behind_workspace(const AttentionCall& call) {
  return static_cast<std::byte*>(call.workspace_memory) + call.workspace.bytes;
}

}  // namespace

void CudaBackend::attend_rows(const RowAttention& batch, const QueryKeyValue& inputs, Rows out,
                              float* log_sum_exp) {
  if (const std::string why = attention_refusal(batch.head_size, 16); !why.empty()) throw DeviceError(why);
  cuda::attend_rows(batch, inputs, out, log_sum_exp, stream_);
}

void CudaBackend::attend_rows_backward(const RowAttention& batch, const RowsByKey& by_key,
                                       const QueryKeyValue& inputs, ConstRows out, const float* log_sum_exp,
                                       ConstRows dout, const RowAttentionGradients& gradients) {
  if (const std::string why = attention_refusal(batch.head_size, 16); !why.empty()) throw DeviceError(why);
  cuda::attend_rows_backward(batch, by_key, inputs, out, log_sum_exp, dout, gradients, stream_);
}

void CudaBackend::feature_attention_forward(const FeatureBatch&, const QueryKeyValue&, Rows) {
  throw DeviceError(feature_refusal);
}

void CudaBackend::feature_attention_backward(const FeatureBatch&, const QueryKeyValue&, ConstRows, ConstRows,
                                             const QueryKeyValueGradients&) {
  throw DeviceError(feature_refusal);
}

void CudaBackend::sort_by_hash(const ClusterBatch&, const TokenHash&, ConstRows, std::int32_t*) {
  throw DeviceError(cluster_refusal);
}

void CudaBackend::cluster_attention_forward(const ClusterBatch&, const std::int32_t*, ConstRows, ConstRows,
                                            Rows, float*) {
  throw DeviceError(cluster_refusal);
}

void CudaBackend::cluster_attention_backward(const ClusterBatch&, const std::int32_t*, ConstRows, ConstRows,
                                             ConstRows, const float*, ConstRows, Rows, Rows) {
  throw DeviceError(cluster_refusal);
}

void CudaBackend::make_centroids(Index, Index, Index, const float*, const float*, float*) {
  throw DeviceError(routing_refusal);
}

void CudaBackend::route_tokens(const RoutingBatch&, const float*, ConstRows, const RoutedTokens&) {
  throw DeviceError(routing_refusal);
}

void CudaBackend::route_tokens_backward(const RoutingBatch&, const float*, const std::int32_t*, ConstRows,
                                        const float*, Rows, float*, float*) {
  throw DeviceError(routing_refusal);
}

void CudaBackend::routed_attention_forward(const RoutingBatch&, const RoutedPair&, const QueryKeyValue&, Rows,
                                           float*) {
  throw DeviceError(routing_refusal);
}

void CudaBackend::routed_attention_backward(const RoutingBatch&, const RoutedPair&, const QueryKeyValue&,
                                            const float*, ConstRows, const QueryKeyValueGradients&) {
  throw DeviceError(routing_refusal);
}

void CudaBackend::reserve_slot(Index slot, const PreparedSize& size) {
  if (slot >= static_cast<Index>(slots_.size())) slots_.resize(static_cast<std::size_t>(slot) + 1);
  Slot& kept = slots_[static_cast<std::size_t>(slot)];
  if (kept.most.covers(size)) return;
  // A slot that holds a batch moves when the next one is larger, not before: the batch may still be needed.
  if (kept.filled) return;
  const PreparedSize most = kept.most.with(size);
  kept.memory = DevicePiece(most.bytes());
  kept.most = most;
  kept.prepared = PreparedBatch(kept.memory.data(), most);
}

Index CudaBackend::own_slots(Index count, const PreparedSize& size) {
  Index first = 0;  // of the first gap that is wide enough
  for (Index slot = 0; slot < static_cast<Index>(slots_.size()) && slot < first + count; ++slot) {
    if (slots_[static_cast<std::size_t>(slot)].owned) first = slot + 1;
  }
  for (Index slot = first; slot < first + count; ++slot) reserve_slot(slot, size);
  for (Index slot = first; slot < first + count; ++slot) slots_[static_cast<std::size_t>(slot)].owned = true;
  return first;
}

// The memory stays for the next owner.
void CudaBackend::release_slots(Index first, Index count) noexcept {
  for (Index slot = first; slot < first + count; ++slot) {
    Slot& kept = slots_[static_cast<std::size_t>(slot)];
    kept.owned = false;
    kept.filled = false;
  }
}

void CudaBackend::prepare_attention(const AttentionBatch& batch) {
  if (const std::string why = attention_refusal(batch.head_size, batch.block_size, is_paired(batch),
                                                batch.relative != nullptr ? batch.relative->labels : 0);
      !why.empty()) {
    throw DeviceError(why);
  }
  require_labels(batch);
  const AttentionPadding padding(batch.head_size, batch.block_size);
  // Masks are counted over the rows of the batch, four neighbours at a time.
  if (padding.pads_blocks() && batch.drop_probability > 0.0f) {
    throw DeviceError("CUDA attention drops probabilities with blocks of a multiple of 16 tokens, not " +
                      std::to_string(batch.block_size));
  }
  // A slot that nobody reserved may be for training.
  const bool known = batch.slot < static_cast<Index>(slots_.size());
  const bool training = !known || slots_[static_cast<std::size_t>(batch.slot)].most.serves_training();
  const PreparedSize size = PreparedSize::of(padding.limits(limits_of(batch, training)));
  if (!known) reserve_slot(batch.slot, size);
  if (Slot& kept = slots_[static_cast<std::size_t>(batch.slot)]; !kept.most.covers(size)) {
    synchronize();        // one may still run
    recordings_.clear();  // they name its address
    kept.filled = false;
    reserve_slot(batch.slot, size);
  }
  Slot& kept = slots_[static_cast<std::size_t>(batch.slot)];
  if (padding.needed()) {
    kept.prepared.fill(PaddedBatch(batch, padding).batch(), schedules_, stream_);
  } else {
    kept.prepared.fill(batch, schedules_, stream_);
  }
  upload(kept.memory.data(), kept.prepared.image().data(), kept.prepared.image().size());
  // The list is made of what has arrived.
  if (gathering_) {
    unlisted_.push_back(batch.slot);
  } else {
    kept.prepared.list_work(stream_);
  }
  kept.filled = true;
}

void CudaBackend::gather_uploads() {
  transfers_.gather();
  gathering_ = true;
}

void CudaBackend::bring_uploads() {
  transfers_.bring();
  gathering_ = false;
  for (const Index slot : unlisted_) slots_[static_cast<std::size_t>(slot)].prepared.list_work(stream_);
  unlisted_.clear();
}

void CudaBackend::forget_uploads() noexcept {
  transfers_.forget();
  gathering_ = false;
  for (const Index slot : unlisted_) slots_[static_cast<std::size_t>(slot)].filled = false;
  unlisted_.clear();
}

AttentionCall CudaBackend::attention_call(const AttentionBatch& batch, bool training, std::size_t behind) {
  if (batch.slot >= static_cast<Index>(slots_.size()) || !slots_[static_cast<std::size_t>(batch.slot)].filled)
    throw std::logic_error("attention over a batch that was not prepared");
  const PreparedBatch& prepared = slots_[static_cast<std::size_t>(batch.slot)].prepared;
  // Of this batch alone: the slots of partial results follow from its shape, which a recording repeats.
  const AttentionWorkspace layout(limits_of(batch, training), options_.deterministic);
  return {batch,
          prepared,
          options_.precision == Precision::tf32 ? FloatProducts::tf32 : FloatProducts::fp32,
          layout,
          workspace(layout.bytes + behind),
          stream_,
          0,
          warpgroups_};
}

bool CudaBackend::choose_warpgroups() {
  std::string asked = options_.attention;
  if (asked.empty()) {
    const char* const environment = std::getenv("BIGBIRD_ATTENTION");
    asked = environment != nullptr && *environment != '\0' ? environment : "auto";
  }
  if (asked == "auto" || asked == "mma") return false;
  if (asked != "wgmma") throw DeviceError("BIGBIRD_ATTENTION is auto, mma or wgmma, and not '" + asked + "'");
  if (const std::string why = warpgroup_refusal(device_); !why.empty())
    throw DeviceError("BIGBIRD_ATTENTION=wgmma: " + why);
  if (options_.precision != Precision::bf16) return false;
  constexpr double rounding = 1e-2;  // of results in bf16, by sums in another order
  const double difference = warpgroup_difference(stream_);
  if (difference < rounding) return true;
  if (options_.remark) {
    options_.remark("attention by wgmma differs from mma by " + std::to_string(difference) +
                    " of the largest number; mma is used");
  }
  return false;
}

void CudaBackend::merge_attention(const AttentionPart& first, const AttentionPart& second, Rows out,
                                  float* log_sum_exp, Index rows, Index heads, Index head_size) {
  cuda::merge_attention(first, second, out, log_sum_exp, rows, heads, head_size, stream_);
}

void CudaBackend::attention_forward(const AttentionBatch& batch, const QueryKeyValue& inputs, Rows out,
                                    float* log_sum_exp) {
  const AttentionPadding padding(batch.head_size, batch.block_size);
  if (!padding.needed()) {
    cuda::attention_forward(attention_call(batch, false), inputs, out, log_sum_exp);
    return;
  }
  const PaddedBatch padded(batch, padding);
  AttentionCall call =
      attention_call(padded.batch(), false, attention_padding_bytes(limits_of(batch, false), element_type()));
  call.label_columns = batch.head_size;
  padded_attention_forward(batch, call, behind_workspace(call), inputs, out, log_sum_exp);
}

void CudaBackend::attention_backward(const AttentionBatch& batch, const QueryKeyValue& inputs, ConstRows out,
                                     const float* log_sum_exp, ConstRows dout,
                                     const QueryKeyValueGradients& gradients) {
  const AttentionPadding padding(batch.head_size, batch.block_size);
  if (!padding.needed()) {
    cuda::attention_backward(attention_call(batch, true), inputs, out, log_sum_exp, dout, gradients,
                             options_.deterministic);
    return;
  }
  const PaddedBatch padded(batch, padding);
  AttentionCall call =
      attention_call(padded.batch(), true, attention_padding_bytes(limits_of(batch, true), element_type()));
  call.label_columns = batch.head_size;
  padded_attention_backward(batch, call, behind_workspace(call), inputs, out, log_sum_exp, dout, gradients,
                            options_.deterministic);
}

}  // namespace bigbird::kernels::cuda
