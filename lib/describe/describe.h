// What a path holds, as JSON text: every kind of file and folder that a verb writes, and genomes.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/backend.h"

namespace bigbird {

struct DescribeOptions {
  std::int64_t length = 0;  // tokens of a sequence in the memory estimate; 0: the model's own
  std::int64_t batch = 1;
};

// An object whose "kind" says which, with what there is of it in its own units (rows, tokens, steps), the
// "provenance" that its header holds (null: none), and "next", what it is for, where that is one thing; of a
// model: its configuration, parameters by part, plan, tokenizer, and memory by plan_model_memory for
// inference and training. Weights and matrices are not read, their headers are; text is read to its end. A
// file without a byte is an "empty file". Error{bad_input} naming the path, and the place where a file is
// damaged or cut short; or when it is nothing that is described.
std::string describe(const std::string& path, const DescribeOptions& options,
                     const kernels::Backend& backend);

}  // namespace bigbird
