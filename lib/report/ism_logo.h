// The effects of substitutions as a logo (sequence_logo.h), with a title that says what they are.
#pragma once

#include <cstddef>

#include "lib/report/sequence_logo.h"
#include "lib/tasks/genomics/ism.h"

namespace bigbird {

// Of one of the selected profiles of a result.
SequenceLogo ism_logo(const IsmResult& result, std::size_t selected, IsmValue value);

}  // namespace bigbird
