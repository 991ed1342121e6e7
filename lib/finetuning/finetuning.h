// lib/finetuning holds what every fine-tuning shares: the model that a run starts from, its options, the
// folder that it leaves, and classifiers of token sequences. Readers of examples stay with their tasks.
//
// What every fine-tuning task shares beside the run itself (lib/training/training_run.h): the length of a
// sequence, the order of the samples, and the model card; and classifiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/network/model_limits.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/model_card.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"
#include "lib/training/training_run.h"
#include "lib/training/training_task.h"

namespace bigbird {

// The tokens every sequence will have: as asked for, or `longest`, in whole blocks and at most what the model
// takes. Error{usage} for a length outside 3 .. max_position_embeddings.
std::int64_t input_length(const RunOptions& options, const ModelConfig& config, std::int64_t longest);

// What a head of classes is to read, where that is asked for. A head in RoBERTa's form reads one row: a fresh
// one that is to read more takes BigBird's form.
void choose_pooling(const std::optional<HeadPooling>& pooling, bool fresh_head, ModelConfig& config);

// One draw of the run: its number from the first update on, and the sample that it is.
struct Draw {
  std::uint64_t number = 0;
  std::uint64_t sample = 0;
};
// The draws [first, first + count). Every epoch visits every one of `samples` samples once, in an order that
// is a function of (seed, epoch) (Purpose::finetune_order).
std::vector<Draw> draws_of_run(std::uint64_t seed, std::uint64_t samples, std::uint64_t first,
                               std::uint64_t count);

// A task whose samples are appended to its batches one by one: a draw of `samples` training samples, or a
// validation sample by its number.
SampleTask task_of_samples(const RunOptions& options, std::uint64_t samples,
                           std::function<void(const Draw&, Batch&)> append_draw, std::uint64_t valid_samples,
                           std::function<void(std::size_t, Batch&)> append_valid);

// The largest batch of `sequences` sequences when every one is padded to config.input_length.
BatchLimits padded_limits(const ModelConfig& config, std::int64_t sequences);

// What the fine-tuning of `loaded`, whose config is the run's, says of itself, but for what is the task's
// own: name, columns, samples, validates, files, and what names its data. `loaded` is referred to and must
// outlive the description; the run takes its parameters.
TaskDescription describe_finetuning(const RunOptions& options, LoadedModel& loaded);

// Instead of inputs that are all padded to config.input_length: inputs of at most `longest` tokens, each
// padded to its own multiple of the block size.
void describe_ragged_inputs(TaskDescription& task, const ModelConfig& config, std::int64_t longest);

// How the model was made, as its card says it: the title, the tags and the rows on its data are the
// task's, and so is card.use, which is left empty.
ModelCard finetune_card(const RunOptions& options, const ModelConfig& config, const Schedule& schedule,
                        const kernels::Backend& backend, const std::string& title,
                        const std::vector<std::string>& tags,
                        const std::vector<std::pair<std::string, std::string>>& data_rows);

// Fine-tuning a classifier over token sequences: the task behind `promoter finetune` and `text classify
// finetune`. What it has learned is run by sequence_scorer.h and text/classify/predict.h.
//
// One encoded example: special tokens included, and its class; of several labels, or a number to be learned
// (ProblemType), its targets instead.
struct ClassifiedSequence {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types = {};  // empty: all 0
  std::int32_t label = 0;
  std::vector<float> targets = {};  // [num_labels], or empty: there is one class
};

// What a draw is in place of the training sequence; nothing: the sequence itself. May be called from another
// thread than validate().
using RemakeSequence = std::function<std::optional<ClassifiedSequence>(const Draw&)>;
// All are referred to and must outlive the task.
SampleTask classification_task(const RunOptions& options, const ModelConfig& config,
                               const std::vector<ClassifiedSequence>& train,
                               const std::vector<ClassifiedSequence>& valid, RemakeSequence remake = {});

}  // namespace bigbird
