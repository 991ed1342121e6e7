// Classification of token sequences; see classification_task.h.
#include "lib/finetuning/classification_task.h"

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

SampleTask classification_task(const RunOptions& options, const ModelConfig& config,
                               const std::vector<ClassifiedSequence>& train,
                               const std::vector<ClassifiedSequence>& valid, RemakeSequence remake) {
  const auto append_draw = [&config, &train, remake = std::move(remake)](const Draw& draw, Batch& batch) {
    const std::optional<ClassifiedSequence> remade = remake ? remake(draw) : std::nullopt;
    append(batch, config, remade ? *remade : train[static_cast<std::size_t>(draw.sample)]);
  };
  return task_of_samples(options, train.size(), append_draw, valid.size(),
                         [&](std::size_t i, Batch& batch) { append(batch, config, valid[i]); });
}

}  // namespace bigbird
