// The memory plan of a training run; see memory_plan.h.
#include "lib/training/memory_plan.h"

#include <fmt/core.h>

#include "lib/core/error.h"
#include "lib/model/layout.h"

namespace bigbird {

std::string format_bytes(std::size_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1024.0 * 1024.0);
  return mebibytes < 1024.0 ? fmt::format("{:.1f} MiB", mebibytes)
                            : fmt::format("{:.2f} GiB", mebibytes / 1024.0);
}

MemoryPlan plan_training_memory(const ModelConfig& config, const BatchLimits& limits,
                                const ModelOptions& options, const kernels::Backend& backend,
                                const ResidentMemory& resident) {
  MemoryPlan plan;
  plan.rows.push_back({"program and sample index, as they stand", resident.anonymous});
  plan.rows.push_back({"mapped files (libraries, token shards)", resident.file});
  for (const MemoryRow& row : plan_model_memory(config, limits, options, backend)) plan.rows.push_back(row);
  const auto arena = static_cast<std::size_t>(ParameterLayout(config).count()) * sizeof(float);
  plan.rows.push_back({"moments of AdamW (2)", 2 * arena});
  plan.rows.push_back({"host copies while a checkpoint is written", 2 * arena});
  for (const MemoryRow& row : plan.rows) plan.total += row.bytes;
  plan.reclaimable = resident.file;
  return plan;
}

std::vector<std::string> memory_table(const MemoryPlan& plan, std::size_t limit) {
  std::vector<std::string> lines;
  lines.push_back("memory planned:");
  for (const MemoryRow& row : plan.rows) {
    if (row.bytes > 0) lines.push_back(fmt::format("  {:<44} {:>12}", row.what, format_bytes(row.bytes)));
  }
  lines.push_back(fmt::format("  {:<44} {:>12}", "peak to expect", format_bytes(plan.total)));
  if (limit > 0) lines.push_back(fmt::format("  {:<44} {:>12}", "limit", format_bytes(limit)));
  return lines;
}

void require_memory(const MemoryPlan& plan, std::size_t limit,
                    const std::vector<std::vector<SmallerRun>>& groups) {
  const auto fits = [limit](const MemoryPlan& candidate) {
    return candidate.total - candidate.reclaimable <= limit;
  };
  if (limit == 0 || fits(plan)) return;
  std::string fitting;
  for (const std::vector<SmallerRun>& group : groups) {
    for (const SmallerRun& run : group) {
      if (!fits(run.plan())) continue;
      fitting += (fitting.empty() ? "" : ", or ") + run.options;
      break;
    }
  }
  throw_environment(
      fmt::format("this run needs {} of memory; the limit is {}", format_bytes(plan.total - plan.reclaimable),
                  format_bytes(limit)),
      fitting.empty() ? "not even one short sequence at a time fits: use a smaller model (--layers, --width)"
                      : "would fit: " + fitting);
}

}  // namespace bigbird
