// See next_tokens.h.
#include "lib/training/next_tokens.h"

#include <algorithm>
#include <cstddef>

#include "lib/core/cancel.h"
#include "lib/model/attention_systems.h"
#include "lib/model/network/model.h"

namespace bigbird {

NextTokens::NextTokens(const Tokenizer& tokenizer, const ModelConfig& config)
    : block_size_(config.block_size), pad_(static_cast<std::int32_t>(config.pad_token_id)) {
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id)
    predicted_.push_back(!tokenizer.is_special(id) || id == tokenizer.special().sep);
}

void NextTokens::append(const std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& labels,
                        Batch& batch, std::vector<std::int32_t>* left_neighbours) const {
  const auto first_row = static_cast<std::int32_t>(batch.tokens());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (labels[i] == ignored_label || !predicted_[static_cast<std::size_t>(labels[i])]) continue;
    batch.masked_rows.push_back(first_row + static_cast<std::int32_t>(i));
    batch.masked_labels.push_back(labels[i]);
    if (left_neighbours != nullptr) left_neighbours->push_back(ids[i]);
  }
  batch.append(ids, {}, block_size_, pad_);
}

bool reads_streams(const ModelConfig& config) {
  return config.causal && is_recurrent(config);
}

Batch stream_batch(const StreamSampler& sampler, const NextTokens& next, kernels::IndexRange streams,
                   std::uint64_t number, std::int64_t offset, std::vector<std::int32_t>* left_neighbours) {
  Batch batch;
  for (std::int64_t stream = streams.first; stream < streams.end(); ++stream) {
    if (sampler.options().once && number >= sampler.segments_of_stream(stream)) continue;
    const StreamSegment segment = sampler.segment(stream, number);
    batch.places.streams.push_back(static_cast<std::int32_t>(stream + offset));
    batch.places.begins.push_back(segment.begins ? 1 : 0);
    next.append(segment.ids, segment.labels, batch, left_neighbours);
  }
  return batch;
}

std::vector<Batch> StreamTask::batches(std::uint64_t step, kernels::IndexRange slots) const {
  std::vector<Batch> parts;
  for (kernels::Index slot = slots.first; slot < slots.end(); ++slot)
    parts.push_back(stream_batch(train_, next_, streams({slot, 1}), step));
  return parts;
}

kernels::IndexRange StreamTask::streams(kernels::IndexRange slots) const {
  return samples_of_slots(options_, slots);
}

std::int64_t StreamTask::streams_of_model(const RunOptions& options) {
  return static_cast<std::int64_t>(options.batch) + micro_batch(options);
}

std::uint64_t StreamTask::validation_batches() const {
  if (valid_ == nullptr) return 0;
  const std::int64_t size = micro_batch(options_);
  return static_cast<std::uint64_t>((valid_->options().streams + size - 1) / size);
}

std::optional<LossSums> StreamTask::validate(Model& model, kernels::Ranks& ranks) const {
  const std::uint64_t groups = validation_batches();
  if (groups == 0) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(ranks.count());
  const std::int64_t size = micro_batch(options_);
  const std::uint64_t rounds = (groups + count - 1) / count;
  std::vector<double> mine(static_cast<std::size_t>(rounds) * LossSums::width);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto first =
        static_cast<std::int64_t>(round * count + static_cast<std::uint64_t>(ranks.rank())) * size;
    if (first >= valid_->options().streams) break;
    const kernels::IndexRange streams{first, std::min(size, valid_->options().streams - first)};
    LossSums sums;
    for (std::uint64_t number = 0;; ++number) {
      if (count == 1) throw_if_cancelled();
      // Behind the streams of training, which a validation must not touch.
      const Batch batch =
          stream_batch(*valid_, next_, streams, number, static_cast<std::int64_t>(options_.batch) - first);
      if (batch.sequences() == 0) break;
      sums.add(LossSums(model.forward(batch, {})));
    }
    const auto numbers = sums.numbers();
    std::copy(numbers.begin(), numbers.end(),
              mine.begin() + static_cast<std::ptrdiff_t>(round * LossSums::width));
  }
  return sum_in_order(ranks, mine, groups);
}

}  // namespace bigbird
