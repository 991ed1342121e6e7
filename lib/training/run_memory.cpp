// See run_memory.h.
#include "lib/training/run_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/training/run_folder.h"

namespace bigbird {
namespace {

// What a run takes that cuts its batch into micro-batches of so many sequences of at most `length` tokens.
class RunPlanner {
 public:
  RunPlanner(const TaskDescription& description, const RunOptions& options, const kernels::Backend& backend)
      : config_(description.config),
        before_(memory_before(backend, options.memory_limit, ranks_of(options.team).count_on_machine())),
        limits_(description.limits),
        backend_(&backend),
        averages_(options.average_decay > 0),
        variant_(options.optimizer.variant),
        ranks_(&ranks_of(options.team)) {
    if (options.dropout >= 0.0) config_.hidden_dropout_prob = options.dropout;
    before_.resident.file += description.mapped_bytes;
    before_.resident.anonymous -= std::min(before_.resident.anonymous, description.initial_bytes);
  }

  TrainingMemory plan(std::uint64_t parts, std::int64_t sequences, std::int64_t length,
                      bool grad_checkpoint) const {
    const auto slots = static_cast<kernels::Index>(parts / static_cast<std::uint64_t>(ranks_->count()));
    return plan_training_memory(config_, limits_(sequences, length), training_options(grad_checkpoint),
                                *backend_, before_, averages_, variant_, {ranks_, slots});
  }
  const ModelConfig& config() const { return config_; }

 private:
  ModelConfig config_;
  MemoryBefore before_;
  std::function<BatchLimits(std::int64_t, std::int64_t)> limits_;
  const kernels::Backend* backend_;
  bool averages_;
  OptimizerVariant variant_;
  const kernels::Ranks* ranks_;
};

bool fits(const TrainingMemory& memory) {
  return std::all_of(memory.places.begin(), memory.places.end(),
                     [](const MemoryPlan& plan) { return plan.fits(); });
}

// 1, 2, 4, 8, 16, 24, ...
std::vector<std::uint64_t> micro_batches_to_choose_from(std::uint64_t most) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= most; size += size < 8 ? size : 8) sizes.push_back(size);
  return sizes;
}

// The last of these that fits; the first where none does. Each is tried: smaller micro-batches are more of
// them, whose gradients wait in more arrays, so that a smaller one may take more.
std::uint64_t last_that_fits(const std::vector<std::uint64_t>& choices,
                             const std::function<bool(std::uint64_t)>& fits) {
  const auto found = std::find_if(choices.rbegin(), choices.rend(), fits);
  return found == choices.rend() ? choices.front() : *found;
}

// What the newest checkpoint of a run that goes on has of a field; nothing where there is none.
std::optional<std::uint64_t> number_of_before(const RunOptions& options, const std::string& field) {
  if (options.start != RunStart::resume || !folder_exists(options.run)) return std::nullopt;
  const RunFolder run = RunFolder::of_another(options.run);
  const std::vector<std::uint64_t> checkpoints = run.checkpoints();
  if (checkpoints.empty()) return std::nullopt;
  const TrainState state = read_train_state(run.checkpoint(checkpoints.back()));
  const auto found = state.options.find(field);
  if (found == state.options.end()) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = found->second.data() + found->second.size();
  if (std::from_chars(found->second.data(), end, number).ptr != end || number == 0) return std::nullopt;
  return number;
}

}  // namespace

PlannedMemory plan_run_memory(const TaskDescription& description, const RunOptions& options,
                              const kernels::Backend& backend) {
  const auto count = static_cast<std::uint64_t>(ranks_of(options.team).count());
  const RunPlanner planner(description, options, backend);
  const auto plan = [planner, batch = options.batch](std::int64_t sequences, std::int64_t length,
                                                     bool grad_checkpoint) {
    const auto size = static_cast<std::uint64_t>(sequences);
    return planner.plan((batch + size - 1) / size, sequences, length, grad_checkpoint);
  };
  const std::int64_t sequences_now = micro_batch(options);
  const std::int64_t length_now = description.length;
  const bool checkpointed_now = options.grad_checkpoint;
  // Every way of cutting the batch further, from large micro-batches to single sequences.
  std::vector<SmallerRun> more_parts, checkpointed, shorter;
  if (!checkpointed_now) {
    checkpointed.push_back(
        {message("`grad_checkpoint`"), [=] { return plan(sequences_now, length_now, true); }});
  }
  for (std::int64_t sequences = sequences_now - 1; sequences > 0; --sequences) {
    const auto size = static_cast<std::uint64_t>(sequences), parts = (options.batch + size - 1) / size;
    // Ranks share parts that are equal, 2, 4, 8, ...
    if (count > 1 && (parts * size != options.batch || (parts & (parts - 1)) != 0)) continue;
    const std::string text = message("`accumulate` {} ({} sequences at a time)", parts / count, sequences);
    more_parts.push_back({text, [=] { return plan(sequences, length_now, checkpointed_now); }});
    if (checkpointed_now) continue;
    checkpointed.push_back(
        {message("`grad_checkpoint` ") + text, [=] { return plan(sequences, length_now, true); }});
  }
  for (const std::int64_t sequences : {sequences_now, std::int64_t{1}}) {
    if (!description.may_be_shorter) break;
    const std::string parts =
        sequences == sequences_now ? "" : message(" `accumulate` {}", options.batch / count);
    const std::int64_t block = planner.config().block_size;
    for (std::int64_t length = (length_now - 1) / block * block; length > 0; length -= block) {
      shorter.push_back({message("`length` {}{}", length, parts),
                         [=] { return plan(sequences, length, checkpointed_now); }});
    }
  }
  return {plan(sequences_now, length_now, checkpointed_now),
          {std::move(more_parts), std::move(checkpointed), std::move(shorter)}};
}

void choose_batch(RunOptions& options, const TaskDescription& description, const kernels::Backend& backend) {
  if (is_batch_chosen(options)) return;
  const RunPlanner planner(description, options, backend);
  const auto fits_in_parts = [&](std::uint64_t parts, std::uint64_t sequences) {
    return fits(planner.plan(parts, static_cast<std::int64_t>(sequences), description.length,
                             options.grad_checkpoint));
  };
  const bool is_batch = options.batch == chosen_by_memory;
  const std::string field = is_batch ? "batch" : "accumulate";
  std::uint64_t& number = is_batch ? options.batch : options.accumulate;
  const std::optional<std::uint64_t> before = number_of_before(options, field);
  std::string why = "as in the part of the run that it goes on from";
  if (before) {
    number = *before;
  } else if (is_batch) {
    const std::uint64_t parts = options.accumulate;
    const std::uint64_t most = std::min(most_automatic_batch, std::max(description.samples, parts));
    const std::vector<std::uint64_t> sizes =
        micro_batches_to_choose_from(std::max<std::uint64_t>(most / parts, 1));
    const std::uint64_t size =
        last_that_fits(sizes, [&](std::uint64_t each) { return fits_in_parts(parts, each); });
    number = parts * size;
    why = fmt::format("{} sequences at a time are {}", size,
                      size == sizes.back() ? "the most that are chosen" : "the most that fit");
  } else {
    std::vector<std::uint64_t> sizes;  // of micro-batches, ascending
    for (std::uint64_t size = 1; size <= options.batch; ++size) {
      if (options.batch % size == 0) sizes.push_back(size);
    }
    const std::uint64_t size =
        last_that_fits(sizes, [&](std::uint64_t each) { return fits_in_parts(options.batch / each, each); });
    number = options.batch / size;
    why = fmt::format("{} sequences at a time are the most that fit and divide the batch of {}", size,
                      options.batch);
  }
  log_info(fmt::format("{} chosen: {} ({})", field, number, why));
  check_options(options);
  if (options.batch_chosen) options.batch_chosen(options);
}

}  // namespace bigbird
