// Classification of token sequences; see window_classifier.h.
#include "lib/tasks/window_classifier.h"

#include <utility>

namespace bigbird {
namespace {

void append(Batch& batch, const ModelConfig& config, const ClassifiedSequence& sequence) {
  batch.append(sequence.ids, sequence.types, config.block_size,
               static_cast<std::int32_t>(config.pad_token_id), config.input_length);
  if (sequence.targets.empty()) {
    batch.sequence_labels.push_back(sequence.label);
  } else {
    batch.sequence_targets.insert(batch.sequence_targets.end(), sequence.targets.begin(),
                                  sequence.targets.end());
  }
}

}  // namespace

ClassificationTask::ClassificationTask(const RunOptions& options, const ModelConfig& config,
                                       const std::vector<ClassifiedSequence>& train,
                                       const std::vector<ClassifiedSequence>& valid, Remake remake)
    : options_(options), config_(config), train_(train), valid_(valid), remake_(std::move(remake)) {}

std::vector<Batch> ClassificationTask::batches(std::uint64_t step, kernels::IndexRange slots) const {
  std::vector<Batch> result;
  for (const Draw& draw : draws_of_slots(options_, train_.size(), step, slots)) {
    if (result.empty() || result.back().sequences() == micro_batch(options_)) result.emplace_back();
    const std::optional<ClassifiedSequence> remade = remake_ ? remake_(draw) : std::nullopt;
    append(result.back(), config_, remade ? *remade : train_[static_cast<std::size_t>(draw.sample)]);
  }
  return result;
}

std::uint64_t ClassificationTask::validation_batches() const {
  return batches_of(options_, valid_.size());
}

Batch ClassificationTask::validation_batch(std::uint64_t number) const {
  Batch batch;
  const kernels::IndexRange samples = samples_of_batch(options_, valid_.size(), number);
  for (kernels::Index i = samples.first; i < samples.end(); ++i)
    append(batch, config_, valid_[static_cast<std::size_t>(i)]);
  return batch;
}

}  // namespace bigbird
