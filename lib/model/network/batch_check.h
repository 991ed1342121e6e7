// One pass over the host side of a batch before it runs, so that no kernel ever reads outside a table.
#pragma once

#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model_limits.h"

namespace bigbird {

// `whole_blocks`: each sequence must have rows for whole blocks (Model::wants_whole_blocks).
//
// Error{bad_input} for ids, types, labels and positions that the model does not know, and for sequences
// longer than its positions; Error{runtime} for a batch over the limits or whose parts do not agree in their
// sizes.
void check_batch(const Batch& batch, const ModelConfig& config, const BatchLimits& limits, bool whole_blocks);

}  // namespace bigbird
