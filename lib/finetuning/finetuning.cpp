// The shared part of fine-tuning; see finetuning.h.
#include "lib/finetuning/finetuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

std::int64_t whole_blocks(std::int64_t tokens, std::int64_t block) {
  return (tokens + block - 1) / block * block;
}

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

std::int64_t input_length(const RunOptions& options, const ModelConfig& config, std::int64_t longest) {
  const std::int64_t most = config.max_position_embeddings;
  if (options.length == 0) return std::min(whole_blocks(longest, config.block_size), most);
  if (options.length < 3 || options.length > most) {
    throw_usage(message("`length` {}: must be between 3 and the model's {} positions", options.length, most));
  }
  return whole_blocks(options.length, config.block_size);
}

void choose_pooling(const std::optional<HeadPooling>& pooling, bool fresh_head, ModelConfig& config) {
  if (!pooling) return;
  config.pooling = *pooling;
  if (fresh_head && config.pools()) config.head_form = HeadForm::bigbird;
}

std::vector<Draw> draws_of_run(std::uint64_t seed, std::uint64_t samples, std::uint64_t first,
                               std::uint64_t count) {
  std::vector<Draw> draws;
  draws.reserve(static_cast<std::size_t>(count));
  std::optional<RandomPermutation> order;
  std::uint64_t order_epoch = 0;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const std::uint64_t epoch = number / samples;
    if (!order || epoch != order_epoch) {
      order.emplace(seed, Purpose::finetune_order, epoch, samples);
      order_epoch = epoch;
    }
    draws.push_back({number, (*order)(number % samples)});
  }
  return draws;
}

SampleTask task_of_samples(const RunOptions& options, std::uint64_t samples,
                           std::function<void(const Draw&, Batch&)> append_draw, std::uint64_t valid_samples,
                           std::function<void(std::size_t, Batch&)> append_valid) {
  const auto train = [seed = options.seed, samples, append = std::move(append_draw)](std::uint64_t first,
                                                                                     std::uint64_t count) {
    Batch batch;
    for (const Draw& draw : draws_of_run(seed, samples, first, count)) append(draw, batch);
    return batch;
  };
  const auto valid = [append = std::move(append_valid)](std::uint64_t first, std::uint64_t count) {
    Batch batch;
    for (std::uint64_t i = first; i < first + count; ++i) append(static_cast<std::size_t>(i), batch);
    return batch;
  };
  return {options, train, valid_samples, valid};
}

BatchLimits padded_limits(const ModelConfig& config, std::int64_t sequences) {
  return {sequences * config.input_length, sequences, 0, config.input_length};
}

void describe_ragged_inputs(TaskDescription& task, const ModelConfig& config, std::int64_t longest) {
  const std::int64_t length = whole_blocks(longest, config.block_size);
  task.limits = [length](std::int64_t sequences, std::int64_t) {
    return BatchLimits{sequences * length, sequences, 0, length};
  };
  task.length = length;
}

TaskDescription describe_finetuning(const RunOptions& options, LoadedModel& loaded) {
  leave_int8(loaded);
  TaskDescription task;
  task.columns.mlm = false;
  task.config = loaded.config;
  if (options.rate_choices.size() > 1) {  // each begins with them
    task.initial_parameters = [&loaded] { return loaded.parameters; };
  } else {
    task.initial_parameters = [&loaded] { return std::move(loaded.parameters); };
    task.initial_bytes = loaded.parameters.size() * sizeof(float);
  }
  task.limits = [&loaded](std::int64_t sequences, std::int64_t) {
    return padded_limits(loaded.config, sequences);
  };
  task.length = loaded.config.input_length;
  task.identity["init"] = options.init;
  if (options.fresh_head) task.identity["fresh_head"] = "true";
  task.extras.tokenizer_folder = options.init;
  return task;
}

ModelCard finetune_card(const RunOptions& options, const ModelConfig& config, const Schedule& schedule,
                        const kernels::Backend& backend, const std::string& title,
                        const std::vector<std::string>& tags,
                        const std::vector<std::pair<std::string, std::string>>& data_rows) {
  ModelCard card;
  card.tags = tags;
  card.title = title;
  card.table = "training";
  card.rows.emplace_back("begun from", options.init);
  card.rows.insert(card.rows.end(), data_rows.begin(), data_rows.end());
  if (config.input_length > 0) {
    card.rows.emplace_back("tokens of a window",
                           fmt::format("{}, padded or cut at the right end", config.input_length));
  }
  card.rows.emplace_back("batch, steps, rate",
                         fmt::format("{}, {}, {:g}", options.batch, schedule.total, options.learning_rate));
  card.rows.emplace_back("state", options.final_state == FinalState::best
                                      ? "of lowest validation loss; the last where nothing was validated"
                                      : "after the last step");
  card.rows.emplace_back("seed", std::to_string(options.seed));
  card.rows.emplace_back("computed on", fmt::format("{}, {}", backend.name(), name_of(backend.precision())));
  card.command = options.command;
  return card;
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
