// A pretraining run from its options to RUN/final; see pretraining.h.
#include "lib/training/pretraining.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/file.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/folder/config_json.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/plan_table.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/compute_device.h"
#include "lib/training/evaluator.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

std::uint64_t ceil_divide(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Sequences of the largest micro-batch.
std::uint64_t micro_batch(const PretrainOptions& options) {
  return ceil_divide(options.batch, options.accumulate);
}

class PretrainingTask : public TrainingTask {
 public:
  PretrainingTask(const PretrainOptions& options, const PretrainingBatches& train,
                  const PretrainingBatches* valid, const Tokenizer& tokenizer)
      : options_(options), train_(train), valid_(valid), tokenizer_(tokenizer) {}

  std::vector<Batch> batches(std::uint64_t step) const override {
    std::vector<Batch> parts;
    const std::uint64_t first = step * options_.batch;
    for (std::uint64_t done = 0; done < options_.batch;) {
      const std::uint64_t count = std::min(micro_batch(options_), options_.batch - done);
      parts.push_back(train_.training_batch(first + done, count));
      done += count;
    }
    return parts;
  }

  std::optional<LossSums> validate(Model& model) const override {
    if (valid_ == nullptr) return std::nullopt;
    EvaluationOptions evaluation;
    evaluation.batch = static_cast<std::int64_t>(micro_batch(options_));
    evaluation.max_samples = options_.eval_samples;
    return evaluate_pretraining(model, *valid_, tokenizer_, evaluation).sums;
  }

 private:
  const PretrainOptions& options_;
  const PretrainingBatches& train_;
  const PretrainingBatches* valid_;
  const Tokenizer& tokenizer_;
};

void check_numbers(const PretrainOptions& options) {
  const auto positive = [](std::uint64_t value, const char* name) {
    if (value == 0) throw_usage(fmt::format("{} 0: must be at least 1", name), "see bigbird pretrain --help");
  };
  positive(options.steps, "--steps");
  positive(options.batch, "--batch");
  positive(options.accumulate, "--accumulate");
  if (options.accumulate > options.batch) {
    throw_usage(fmt::format("--accumulate {}: there are only {} sequences in a batch", options.accumulate,
                            options.batch),
                "--batch is the whole batch of one update; --accumulate cuts it into parts");
  }
  if (!(options.learning_rate > 0.0 && options.learning_rate < 1.0)) {
    throw_usage(fmt::format("--lr {}: must lie between 0 and 1", options.learning_rate),
                "the usual value is 1e-4");
  }
  if (options.warmup.value_or(0) > options.steps) {
    throw_usage(
        fmt::format("--warmup {}: longer than the {} steps of the run", *options.warmup, options.steps),
        "leave it out for 10 % of the steps");
  }
}

// The config of the run: completed from the tokenizer, or checked against it.
ModelConfig complete_config(const PretrainOptions& options, const Tokenizer& tokenizer) {
  ModelConfig config = options.config;
  const auto vocabulary = static_cast<std::int64_t>(tokenizer.vocab_size());
  if (options.init.empty()) {
    config.vocab_size = vocabulary;
    config.pad_token_id = tokenizer.special().pad;
    config.bos_token_id = tokenizer.special().cls;
    config.eos_token_id = tokenizer.special().sep;
    config.sep_token_id = tokenizer.special().sep;
    const std::int64_t block = std::max<std::int64_t>(config.block_size, 1);
    const std::int64_t positions = std::max(config.max_position_embeddings, options.length);
    config.max_position_embeddings = (positions + block - 1) / block * block;
  } else {
    check_tokenizer_agrees(config, vocabulary, tokenizer.digest(), options.init, options.tokenizer);
    if (options.length > config.max_position_embeddings) {
      throw_usage(fmt::format("--length {}: {} has {} positions", options.length, options.init,
                              config.max_position_embeddings),
                  "shorten --length, or train from the beginning without --init");
    }
  }
  if (config.random_mode == RandomMode::file && config.plan != nullptr &&
      options.length > config.plan->blocks() * config.block_size) {
    throw_usage(fmt::format("--length {}: the plan {} is for {} tokens", options.length, config.plan->where(),
                            config.plan->blocks() * config.block_size),
                "shorten --length, or give a plan for longer sequences");
  }
  config.tokenizer_digest = tokenizer.digest();
  config.head = HeadType::pretraining;
  try {
    validate(config, options.init.empty() ? "the options of the model" : options.init + "/config.json");
  } catch (const Error& error) {
    if (!options.init.empty()) throw;
    throw_usage(error.message(), "see the group Model in bigbird pretrain --help");
  }
  return config;
}

// Every option that decides the weights, as text: what must be the same when a run goes on.
std::map<std::string, std::string> identity(const PretrainOptions& options, const ModelConfig& config,
                                            const Schedule& schedule, const TokenShards& train) {
  std::map<std::string, std::string> all = config_fields(config);
  all["--train (documents, sentences, tokens)"] =
      fmt::format("{}, {}, {}", train.document_count(), train.sentence_count(), train.token_count());
  all["--length"] = std::to_string(options.length);
  all["--batch"] = std::to_string(options.batch);
  all["--accumulate"] = std::to_string(options.accumulate);
  all["--seed"] = std::to_string(options.seed);
  all.merge(update_identity(schedule, options.optimizer));
  all["--mask-probability"] = fmt::format("{}", options.objective.mask_probability);
  all["--no-mlm"] = options.objective.mlm ? "false" : "true";
  all["--no-nsp"] = options.objective.nsp ? "false" : "true";
  return all;
}

// Bytes of the token shards that the run will have touched at its end: the system maps 64 KiB around every
// first touch.
std::size_t shard_bytes_touched(std::uint64_t draws, const TokenShards& shards) {
  constexpr std::uint64_t mapped_at_once = 64 * 1024;
  return static_cast<std::size_t>(std::min(shards.token_bytes(), draws * mapped_at_once));
}

struct PlannedMemory {
  TrainingMemory memory;
  SmallerRuns smaller;
};

// What the run will take, and the options that would make it smaller.
PlannedMemory plan_memory(const PretrainOptions& options, const ModelConfig& config,
                          const kernels::Backend& backend, const TokenShards& train) {
  MemoryBefore before = memory_before(backend, options.memory_limit);
  // With pairs a sample reads from two documents.
  before.resident.file +=
      shard_bytes_touched(options.steps * options.batch * (options.objective.nsp ? 2 : 1), train);
  const auto plan = [config, before, objective = options.objective, &backend](
                        std::uint64_t sequences, std::int64_t length, bool grad_checkpoint) {
    const BatchLimits limits =
        PretrainingBatches::limits(config, objective, length, static_cast<std::int64_t>(sequences));
    return plan_training_memory(config, limits, {true, grad_checkpoint}, backend, before);
  };
  const std::uint64_t sequences_now = micro_batch(options);
  const std::int64_t length_now = options.length;
  const bool checkpointed_now = options.grad_checkpoint;
  // Every way of cutting the batch further, from large micro-batches to single sequences.
  std::vector<SmallerRun> more_parts;
  std::vector<SmallerRun> checkpointed;
  if (!checkpointed_now) {
    checkpointed.push_back({"--grad-checkpoint", [=] { return plan(sequences_now, length_now, true); }});
  }
  for (std::uint64_t sequences = sequences_now - 1; sequences > 0; --sequences) {
    const std::uint64_t parts = ceil_divide(options.batch, sequences);
    const std::string text = fmt::format("--accumulate {} ({} sequences at a time)", parts, sequences);
    more_parts.push_back({text, [=] { return plan(sequences, length_now, checkpointed_now); }});
    if (!checkpointed_now) {
      checkpointed.push_back(
          {"--grad-checkpoint " + text, [=] { return plan(sequences, length_now, true); }});
    }
  }
  std::vector<SmallerRun> shorter;
  for (const std::uint64_t sequences : {sequences_now, std::uint64_t{1}}) {
    const std::string parts =
        sequences == sequences_now ? "" : fmt::format(" --accumulate {}", options.batch);
    for (std::int64_t length = (length_now - 1) / config.block_size * config.block_size; length > 0;
         length -= config.block_size) {
      shorter.push_back({fmt::format("--length {}{}", length, parts),
                         [=] { return plan(sequences, length, checkpointed_now); }});
    }
  }
  return {plan(sequences_now, length_now, checkpointed_now),
          {std::move(more_parts), std::move(checkpointed), std::move(shorter)}};
}

std::string model_card(const PretrainOptions& options, const ModelConfig& config, const Schedule& schedule,
                       const TokenShards& train, const kernels::Backend& backend) {
  std::string tasks =
      options.objective.mlm ? fmt::format("masked tokens ({:g})", options.objective.mask_probability) : "";
  if (options.objective.nsp) tasks += tasks.empty() ? "next sentence" : " and next sentence";
  std::string card =
      "---\nlibrary_name: transformers\ntags: [bigbird, dna]\n---\n# BigBird encoder, pretrained by "
      "bigbird\n\n";
  card += fmt::format(
      "{} layers, width {}, {} heads, {} attention with blocks of {} and {} random blocks, vocabulary "
      "{}.\n\n",
      config.num_hidden_layers, config.hidden_size, config.num_attention_heads, name_of(config.attention),
      config.block_size, config.num_random_blocks, config.vocab_size);
  card += "| training | |\n|---|---|\n";
  card += fmt::format("| tasks | {} |\n", tasks);
  card += fmt::format("| data | {} documents, {} tokens |\n", train.document_count(), train.token_count());
  card +=
      fmt::format("| length, batch, steps | {}, {}, {} |\n", options.length, options.batch, options.steps);
  card +=
      fmt::format("| optimizer | AdamW ({}), rate {:g}, {} warm-up steps, {} schedule, weight decay {:g} |\n",
                  name_of(options.optimizer.variant), options.learning_rate, schedule.warmup,
                  name_of(options.schedule), options.optimizer.weight_decay);
  card += fmt::format("| computed on | {}, {} |\n", backend.name(), name_of(backend.precision()));
  card += fmt::format("| seed | {} |\n", options.seed);
  if (!options.init.empty()) card += "| begun from | " + options.init + " |\n";
  if (!options.command.empty()) card += "\n```\n" + options.command + "\n```\n";
  card +=
      "\nUse: `bigbird evaluate -m FOLDER --data SHARDS`, `bigbird forward -m FOLDER ...`; the weights carry "
      "the names of "
      "Hugging Face's BigBirdForPreTraining. Random blocks are seeded by the layer, in training and in use; "
      "Hugging "
      "Face's evaluation mode uses none (`--random-mode hf-eval` reproduces it).\n";
  return card;
}

}  // namespace

TrainingSummary pretrain(const PretrainOptions& options, kernels::Backend& backend) {
  check_numbers(options);
  RunFolder::check(options.run, options.start);
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(options.tokenizer);
  const ModelConfig config = complete_config(options, *tokenizer);
  const TokenShards train_shards(options.train);
  train_shards.require_tokenizer(tokenizer->digest(), tokenizer->vocab_size());
  const PretrainingBatches train_batches(train_shards, *tokenizer, config, options.objective, options.length,
                                         options.seed);
  std::optional<TokenShards> valid_shards;
  std::optional<PretrainingBatches> valid_batches;
  if (!options.valid.empty()) {
    valid_shards.emplace(options.valid);
    valid_shards->require_tokenizer(tokenizer->digest(), tokenizer->vocab_size());
    valid_batches.emplace(*valid_shards, *tokenizer, config, options.objective, options.length, options.seed);
  }
  log_info(fmt::format("{} documents, {} tokens, {} samples an epoch; the run sees {:.2f} epochs",
                       train_shards.document_count(), train_shards.token_count(),
                       train_batches.sampler().size(),
                       static_cast<double>(options.steps * options.batch) /
                           static_cast<double>(train_batches.sampler().size())));

  const Schedule schedule{options.schedule, options.learning_rate,
                          options.warmup.value_or(default_warmup(options.steps)), options.steps};
  TrainerOptions trainer;
  trainer.steps = options.steps;
  trainer.schedule = schedule;
  trainer.seed = options.seed;
  trainer.save_every = options.save_every;
  trainer.eval_every = valid_batches ? options.eval_every : 0;
  trainer.keep_last = options.keep_last;
  trainer.keep_best = valid_batches ? options.keep_best : 0;
  trainer.task_name = "pretrain";
  trainer.sequence_name = "nsp";
  trainer.comments = options.comments;
  trainer.identity = identity(options, config, schedule, train_shards);
  trainer.extras = {options.tokenizer, model_card(options, config, schedule, train_shards, backend)};
  trainer.debug_nan = options.debug_nan;

  const PlannedMemory planned = plan_memory(options, config, backend, train_shards);
  watch_device_memory(trainer, planned.memory, backend);
  TrainingSummary summary;
  run_in_memory(backend, planned.memory, planned.smaller, [&] {
    const RunFolder run(options.run, options.start);
    const auto [checkpoint, state] = resumption(run, trainer.identity, backend);

    Model model(backend, config, train_batches.limits(static_cast<std::int64_t>(micro_batch(options))),
                {true, options.grad_checkpoint});
    Optimizer optimizer(backend, model.layout(), options.optimizer);
    if (!checkpoint.empty()) {
      load_checkpoint(checkpoint, model, optimizer);
      log_info(fmt::format("going on from {}", checkpoint));
    } else if (!options.init.empty()) {
      model.set_parameters(load_model(options.init, HeadType::pretraining, options.seed).parameters);
    } else {
      model.set_parameters(initial_parameters(model.layout(), config, options.seed));
    }
    write_text_atomic(run.file("config.toml"), options.config_toml);

    const PretrainingTask task(options, train_batches, valid_batches ? &*valid_batches : nullptr, *tokenizer);
    summary = train(model, optimizer, task, run, trainer, state);
  });
  return summary;
}

}  // namespace bigbird
