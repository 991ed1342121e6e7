// See inference_memory.h.
#include "lib/tasks/inference_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lib/core/log.h"
#include "lib/training/memory_plan.h"

namespace bigbird {

void require_inference_memory(const std::function<std::vector<MemoryRow>(const BatchSize&)>& plan,
                              const BatchSize& batch, std::int64_t longest, const kernels::Backend& backend) {
  const MemoryBefore before = memory_before(backend, 0);
  const TrainingMemory memory = plan_inference_memory(plan(batch), backend, before);
  for (const MemoryPlan& place : memory.places) {
    for (const std::string& line : memory_table(place)) log_info(line);
  }
  SmallerRuns smaller(1);
  if (batch.sequences > 0) {
    for (std::int64_t sequences = batch.sequences / 2; sequences > 0; sequences /= 2) {
      smaller[0].push_back({fmt::format("`batch` {}", sequences), [&plan, &backend, before, sequences] {
                              return plan_inference_memory(plan({0, sequences}), backend, before);
                            }});
    }
  } else {
    for (std::int64_t tokens = batch.tokens / 2; 2 * tokens > longest; tokens /= 2) {
      smaller[0].push_back({fmt::format("`batch_tokens` {}", tokens), [&plan, &backend, before, tokens] {
                              return plan_inference_memory(plan({tokens, 0}), backend, before);
                            }});
    }
  }
  require_memory(memory, smaller);
}

void add_rows(std::vector<MemoryRow>& all, const std::vector<MemoryRow>& more) {
  for (const MemoryRow& row : more) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const MemoryRow& candidate) { return candidate.what == row.what; });
    if (same == all.end()) {
      all.push_back(row);
      continue;
    }
    same->bytes += row.bytes;
    same->fp32_bytes += row.fp32_bytes;
    same->bf16_bytes += row.bf16_bytes;
  }
}

}  // namespace bigbird
