// Attention of the CUDA backend: places for prepared batches, and the workspace of a call.
#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/cuda_backend.h"

namespace bigbird::kernels::cuda {

namespace {

// Of exactly this batch.
AttentionLimits limits_of(const AttentionBatch& batch, bool training) {
  AttentionLimits limits;
  limits.sequences = batch.sequences;
  limits.tokens = batch.token_offsets[batch.sequences];
  for (Index s = 0; s < batch.sequences; ++s)
    limits.longest = std::max(limits.longest, batch.token_offsets[s + 1] - batch.token_offsets[s]);
  limits.heads = batch.heads;
  limits.head_size = batch.head_size;
  limits.block_size = batch.block_size;
  limits.training = training;
  return limits;
}

}  // namespace

void CudaBackend::reserve_place(Index place, Index sequences) {
  if (place >= static_cast<Index>(places_.size())) places_.resize(static_cast<std::size_t>(place) + 1);
  Place& kept = places_[static_cast<std::size_t>(place)];
  if (kept.most_sequences >= sequences) return;
  // A place that holds a batch moves when the next one is larger, not before: the batch may still be needed.
  if (kept.filled) return;
  kept.memory = DevicePiece(AttentionPlace::bytes(sequences));
  kept.most_sequences = sequences;
  kept.place = AttentionPlace(kept.memory.data(), sequences);
}

Index CudaBackend::own_places(Index count, Index sequences) {
  Index first = 0;  // of the first gap that is wide enough
  for (Index place = 0; place < static_cast<Index>(places_.size()) && place < first + count; ++place) {
    if (places_[static_cast<std::size_t>(place)].owned) first = place + 1;
  }
  for (Index place = first; place < first + count; ++place) reserve_place(place, sequences);
  for (Index place = first; place < first + count; ++place)
    places_[static_cast<std::size_t>(place)].owned = true;
  return first;
}

// The memory stays for the next owner.
void CudaBackend::release_places(Index first, Index count) noexcept {
  for (Index place = first; place < first + count; ++place) {
    Place& kept = places_[static_cast<std::size_t>(place)];
    kept.owned = false;
    kept.filled = false;
  }
}

void CudaBackend::prepare_attention(const AttentionBatch& batch) {
  if (const std::string why = attention_refusal(batch.head_size, batch.block_size); !why.empty())
    throw DeviceError(why);
  if (batch.place >= static_cast<Index>(places_.size())) reserve_place(batch.place, batch.sequences);
  if (Place& kept = places_[static_cast<std::size_t>(batch.place)]; batch.sequences > kept.most_sequences) {
    recordings_.clear();  // they name its address
    synchronize();
    kept.filled = false;
    reserve_place(batch.place, batch.sequences);
  }
  Place& kept = places_[static_cast<std::size_t>(batch.place)];
  kept.place.fill(batch, schedules_, stream_);
  upload(kept.memory.data(), kept.place.image().data(), kept.place.image().size());
  kept.filled = true;
}

AttentionCall CudaBackend::attention_call(const AttentionBatch& batch, bool training) {
  if (batch.place >= static_cast<Index>(places_.size()) ||
      !places_[static_cast<std::size_t>(batch.place)].filled)
    throw std::logic_error("attention over a batch that was not prepared");
  const AttentionPlace& place = places_[static_cast<std::size_t>(batch.place)].place;
  // Of this batch alone: the places of partial results follow from its shape, which a recording repeats.
  const AttentionWorkspace layout(limits_of(batch, training), options_.deterministic);
  return {batch,
          place,
          options_.precision == Precision::tf32 ? FloatProducts::tf32 : FloatProducts::fp32,
          layout,
          workspace(layout.bytes),
          stream_};
}

void CudaBackend::attention_forward(const AttentionBatch& batch, const QueryKeyValue& inputs, Rows out,
                                    float* log_sum_exp) {
  cuda::attention_forward(attention_call(batch, false), inputs, out, log_sum_exp);
}

void CudaBackend::attention_backward(const AttentionBatch& batch, const QueryKeyValue& inputs, ConstRows out,
                                     const float* log_sum_exp, ConstRows dout,
                                     const QueryKeyValueGradients& gradients) {
  cuda::attention_backward(attention_call(batch, true), inputs, out, log_sum_exp, dout, gradients,
                           options_.deterministic);
}

}  // namespace bigbird::kernels::cuda
