// The memory that running models takes, said and required before they are made, as training does
// (lib/training/memory_plan.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/network/model_limits.h"
#include "lib/tasks/sequence_runner.h"

namespace bigbird {

// Logs the plan of batches of this size, whose longest sequence has so many tokens. Error{environment} where
// there is less memory than that, with the batch that would fit.
void require_inference_memory(const std::function<std::vector<MemoryRow>(const BatchSize&)>& plan,
                              const BatchSize& batch, std::int64_t longest, const kernels::Backend& backend);

// The rows of several models that are there together: one of each name.
void add_rows(std::vector<MemoryRow>& all, const std::vector<MemoryRow>& more);

}  // namespace bigbird
