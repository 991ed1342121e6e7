// What a path holds, as JSON text: a model folder, a tokenizer, token shards, a training run, a chromatin
// data set, documents (BED12) or a genome.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/backend.h"

namespace bigbird {

struct DescribeOptions {
  std::int64_t length = 0;  // tokens of a sequence in the memory estimate; 0: the model's own
  std::int64_t batch = 1;
};

// An object whose "kind" says which; of a model: its configuration, parameters by part, plan, tokenizer,
// provenance, and memory by plan_model_memory for inference and training. Reads indexes and headers, not the
// weights. Error{bad_input} naming the path when it is none of them.
std::string describe(const std::string& path, const DescribeOptions& options,
                     const kernels::Backend& backend);

}  // namespace bigbird
