// Classification of token sequences; see window_classifier.h.
#include "lib/tasks/window_classifier.h"

#include <algorithm>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"

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

EncodedWindows encode_labelled_windows(WindowReader& windows, const std::string& where,
                                       const Tokenizer& tokenizer, std::int64_t max_tokens,
                                       const std::function<void(const Window&)>& seen) {
  EncodedWindows encoded;
  Window window;
  while (windows.next(window)) {
    throw_if_cancelled();
    if (window.label < 0) throw_bad_input(where + ": there is no label", "give labelled windows");
    if (seen) seen(window);
    ClassifiedSequence sequence;
    sequence.label = window.label;
    encoded.shortened += encode_window(tokenizer, window.sequence, max_tokens, sequence.ids) ? 1 : 0;
    encoded.longest = std::max(encoded.longest, static_cast<std::int64_t>(sequence.ids.size()));
    encoded.classes = std::max<std::int64_t>(encoded.classes, window.label + 1);
    encoded.sequences.push_back(std::move(sequence));
  }
  if (encoded.sequences.empty()) throw_bad_input(where + ": there are no examples");
  return encoded;
}

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
