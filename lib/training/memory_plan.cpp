// The memory plan of a training run; see memory_plan.h.
#include "lib/training/memory_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/ranks/slice_sums.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model/network/layout.h"

namespace bigbird {
namespace {

// A device rounds each of a run's allocations up to a multiple of 256 bytes; they are few.
constexpr std::size_t rounding_of_allocations = 16 * 256;

// Beside those that compute: one keeps the lease of what is written, one prepares what is computed next.
constexpr int threads_that_wait = 2;

// What every process takes once it works, whatever the model: code that is read from disk meanwhile, and the
// heaps of threads, batches and writers. As measured on runs of 50 to 300 MiB; of larger ones it is nothing.
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t code_to_come = 2 * mebibyte;
constexpr std::size_t heaps_of_training = 4 * mebibyte, heaps_of_inference = mebibyte;

// Of the process: what it is now, and what comes with the work.
MemoryPlan process_as_it_is(const MemoryBefore& before, const std::string& program, const std::string& files,
                            std::size_t heaps) {
  const std::size_t mapped = before.resident.file + code_to_come;
  return {"memory",
          {{program, before.resident.anonymous},
           {files, mapped},
           {"heaps of threads, batches and writers", heaps}},
          0,
          mapped,
          before.process_limit,
          before.limit_name};
}

void sum_up(MemoryPlan& plan) {
  for (const MemoryRow& row : plan.rows) plan.total += row.bytes;
}

// The row in which the limit is passed.
const MemoryRow& row_over(const MemoryPlan& plan) {
  std::size_t sum = 0;
  for (const MemoryRow& row : plan.rows) {
    sum += row.bytes;
    if (sum > plan.limit + plan.reclaimable) return row;
  }
  return plan.rows.back();
}

// Of every group the first run that fits, in words; empty when there is none.
std::string fitting_runs(const SmallerRuns& groups, const std::function<bool(const TrainingMemory&)>& fits) {
  std::string fitting;
  for (const std::vector<SmallerRun>& group : groups) {
    for (const SmallerRun& run : group) {
      if (!fits(run.plan())) continue;
      fitting += (fitting.empty() ? "" : ", or ") + run.options;
      break;
    }
  }
  return fitting.empty() ? "not even one sequence at a time fits: use a smaller model, of fewer or narrower "
                           "layers"
                         : "would fit: " + fitting;
}

// Of a device: what its driver holds, and what it is left while the run goes on. Returns the bytes.
std::size_t add_driver_row(MemoryPlan& device, const kernels::Backend& backend) {
  const kernels::DriverMemory driver = backend.driver_memory();
  const std::size_t bytes = driver.held + driver.allowance;
  if (bytes > 0) device.rows.push_back({"driver, modules, graphs", bytes});
  return bytes;
}

bool all_fit(const TrainingMemory& memory) {
  return std::all_of(memory.places.begin(), memory.places.end(),
                     [](const MemoryPlan& plan) { return plan.fits(); });
}

}  // namespace

std::string format_bytes(std::size_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1024.0 * 1024.0);
  return mebibytes < 1024.0 ? fmt::format("{:.1f} MiB", mebibytes)
                            : fmt::format("{:.2f} GiB", mebibytes / 1024.0);
}

std::size_t device_memory_at_hand(const kernels::Backend& backend) {
  const std::size_t free = backend.free_memory();
  if (free == 0) return 0;
  kernels::AttentionLimits nothing;
  nothing.slots = 0;
  return free + backend.scratch_bytes(nothing) + backend.driver_memory().held;
}

MemoryBefore memory_before(const kernels::Backend& backend, std::size_t typed, int processes) {
  MemoryBefore before;
  before.resident = resident_memory();
  const std::size_t available = available_memory();
  if (available > 0)
    before.process_limit = available / static_cast<std::size_t>(processes) + before.resident.anonymous;
  before.device_limit = device_memory_at_hand(backend);
  if (typed > 0) (before.device_limit > 0 ? before.device_limit : before.process_limit) = typed;
  if (const std::optional<ProcessLimit> own = process_limit()) {
    const std::size_t stacks = stacks_to_come(kernels::thread_count() + threads_that_wait);
    const std::size_t bytes = own->room - std::min(own->room, stacks) + before.resident.anonymous;
    if (before.process_limit == 0 || bytes < before.process_limit) {
      before.process_limit = bytes;
      before.limit_name = own->name;
    }
  }
  return before;
}

ModelOptions training_options(bool grad_checkpoint, bool keep_activated) {
  ModelOptions options;
  options.training = true;
  options.grad_checkpoint = grad_checkpoint;
  options.keep_activated = keep_activated;
  options.logits_in_pieces = true;
  options.head_rows = true;
  return options;
}

TrainingMemory plan_training_memory(const ModelConfig& config, const BatchLimits& limits,
                                    const ModelOptions& options, const kernels::Backend& backend,
                                    const MemoryBefore& before, bool averages_weights,
                                    OptimizerVariant variant, const RankShare& share) {
  const ParameterLayout layout(config);
  const auto arena = static_cast<std::size_t>(layout.count()) * sizeof(float);
  const int ranks = share.ranks->count();
  const OptimizerMemory optimizer = optimizer_memory(layout, variant, backend, ranks);
  std::vector<MemoryRow> model = plan_model_memory(config, limits, options, backend);
  const bool factored = variant == OptimizerVariant::adafactor;
  const std::string moments =
      fmt::format("moments of {} (2){}", variant == OptimizerVariant::lamb ? "LAMB" : "AdamW",
                  ranks == 1 ? "" : fmt::format(", of 1/{} of the weights", ranks));
  model.push_back(fp32_row(factored ? "state of Adafactor" : moments, optimizer.bytes()));
  const kernels::Index levels = kernels::SlotSums::levels(share.slots);
  model.push_back(fp32_row(fmt::format("gradients of micro-batches that wait ({})", levels),
                           static_cast<std::size_t>(levels) * arena));
  const kernels::SliceSums::Memory slices = kernels::SliceSums::memory(*share.ranks, backend, layout.count());
  model.push_back(fp32_row("slices of gradients on their way (2)", slices.backend));
  if (averages_weights) model.push_back(fp32_row("average of the weights", arena));

  TrainingMemory memory;
  MemoryPlan process = process_as_it_is(before, "program and sample index, as they are",
                                        "mapped files (libraries, token shards)", heaps_of_training);
  if (before.device_limit > 0) {
    model.push_back({"rounding of allocations", rounding_of_allocations});
    MemoryPlan device{"memory of " + backend.name(), std::move(model), 0, 0, before.device_limit};
    const std::size_t driver = add_driver_row(device, backend);
    sum_up(device);
    memory.reserve = device.total - driver - backend.scratch_bytes(attention_limits(config, limits, options));
    memory.places.push_back(std::move(device));
  } else {
    process.rows.insert(process.rows.end(), model.begin(), model.end());
  }
  // In the program's own memory a checkpoint is written from where the numbers are, but for the weights whose
  // place their average takes. Of a device's, the weights are copied first, and the state when they are done.
  // Of several ranks the moments are brought together then.
  const std::size_t state = factored ? static_cast<std::size_t>(optimizer.state) * sizeof(float) : 2 * arena;
  const bool brought_together = ranks > 1 && !factored;
  const std::size_t copied =
      backend.in_host_memory() ? (brought_together ? state : 0) : std::max(arena, state);
  process.rows.push_back(
      fp32_row("host copies while a checkpoint is written", copied + (averages_weights ? arena : 0)));
  process.rows.push_back(fp32_row("slices on their way, on the host (2)", slices.host));
  sum_up(process);
  memory.places.push_back(std::move(process));
  return memory;
}

TrainingMemory plan_inference_memory(std::vector<MemoryRow> model, const kernels::Backend& backend,
                                     const MemoryBefore& before) {
  TrainingMemory memory;
  MemoryPlan process =
      process_as_it_is(before, "program, as it is", "mapped files (libraries)", heaps_of_inference);
  if (before.device_limit > 0) {
    MemoryPlan device{"memory of " + backend.name(), std::move(model), 0, 0, before.device_limit};
    add_driver_row(device, backend);
    sum_up(device);
    memory.places.push_back(std::move(device));
  } else {
    process.rows.insert(process.rows.end(), model.begin(), model.end());
  }
  sum_up(process);
  memory.places.push_back(std::move(process));
  return memory;
}

std::string memory_line(const MemoryPlan& plan) {
  std::string line = fmt::format("{} planned: {}", plan.where, format_bytes(plan.total));
  if (plan.limit > 0) {
    line += fmt::format(", the limit is {}{}", format_bytes(plan.limit),
                        plan.limit_name.empty() ? "" : " (" + plan.limit_name + ")");
  }
  return line;
}

void log_memory(const TrainingMemory& memory) {
  for (const MemoryPlan& plan : memory.places) {
    log_info(memory_line(plan));
    for (const std::string& line : memory_table(plan)) log_debug(line);
  }
}

std::vector<std::string> memory_table(const MemoryPlan& plan) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("parts of the {}:", plan.where));
  for (const MemoryRow& row : plan.rows) {
    if (row.bytes == 0) continue;
    const std::string types = row.number_types();
    lines.push_back(fmt::format("  {:<44} {:>12}{}", row.what, format_bytes(row.bytes),
                                types.empty() ? "" : "  " + types));
  }
  lines.push_back(fmt::format("  {:<44} {:>12}", "peak to expect", format_bytes(plan.total)));
  if (plan.limit > 0) {
    lines.push_back(fmt::format("  {:<44} {:>12}{}", "limit", format_bytes(plan.limit),
                                plan.limit_name.empty() ? "" : "  " + plan.limit_name));
  }
  return lines;
}

std::string memory_tsv(const TrainingMemory& memory, std::size_t used) {
  std::string text = "where\tpart\tbytes\tnumbers\n";
  const auto row = [&](const MemoryPlan& plan, const std::string& part, std::size_t bytes,
                       const std::string& types = "") {
    if (bytes > 0)
      text += fmt::format("{}\t{}\t{}\t{}\n", plan.where, part, bytes, types.empty() ? "NA" : types);
  };
  for (const MemoryPlan& plan : memory.places) {
    for (const MemoryRow& part : plan.rows) row(plan, part.what, part.bytes, part.number_types());
    row(plan, "peak to expect", plan.total);
    row(plan, "limit", plan.limit);
  }
  row(memory.places.back(), "used at the most", used);
  return text;
}

void require_memory(const TrainingMemory& memory, const SmallerRuns& smaller) {
  for (const MemoryPlan& plan : memory.places) {
    if (plan.fits()) continue;
    const MemoryRow& row = row_over(plan);
    const std::string name = plan.limit_name.empty() ? "" : " (" + plan.limit_name + ")";
    throw_environment(fmt::format("this run needs {} of {}; the limit is {}{}, passed by {} ({})",
                                  format_bytes(plan.total - plan.reclaimable), plan.where,
                                  format_bytes(plan.limit), name, row.what, format_bytes(row.bytes)),
                      fitting_runs(smaller, all_fit) +
                          (plan.limit_name.empty() ? "" : ", or raise the limit of the process"));
  }
}

void run_in_memory(kernels::Backend& backend, const TrainingMemory& memory, const SmallerRuns& smaller,
                   const std::function<void()>& work) {
  log_memory(memory);
  require_memory(memory, smaller);
  try {
    if (memory.reserve > 0) backend.reserve(memory.reserve);
    work();
  } catch (const kernels::OutOfMemory& error) {
    // Someone else took memory meanwhile, or the device keeps more for itself than it said.
    TrainingMemory left = memory;
    MemoryPlan& device = left.places.front();
    const std::size_t missing = error.asked() > error.free() ? error.asked() - error.free() : 1;
    device.limit = device.total > missing ? device.total - missing : 1;
    const auto fits = [&](const TrainingMemory& candidate) {
      return candidate.places.front().total <= device.limit && candidate.places.back().fits();
    };
    const MemoryRow& row = row_over(device);
    throw_environment(
        fmt::format("{}: this run needs {} of {}, passed by {} ({})", error.what(),
                    format_bytes(device.total), device.where, row.what, format_bytes(row.bytes)),
        fitting_runs(smaller, fits));
  }
}

}  // namespace bigbird
