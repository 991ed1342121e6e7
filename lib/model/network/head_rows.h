// The rows of the last layer that a head reads: masked tokens and first tokens. With ModelOptions::head_rows
// the layer is computed at these alone behind its attention, and so is a final LayerNorm: of a sequence of
// 4,096 tokens with 15 % masked a sixth of the rows. They lie one after another, masked ones first, as the
// head's own rows do; dropout masks are those of the tokens, so that each row holds the bits that it would
// hold among all.
#pragma once

#include <cstdint>

#include "lib/model/network/memory.h"
#include "lib/model/network/model_limits.h"
#include "lib/model/network/pass_context.h"

namespace bigbird {

// How many rows there may be of such batches; 0 where all tokens are computed: nobody asked for less, the
// head reads them all, or it reads so many rows that nothing is saved.
std::int64_t most_head_rows(const ModelConfig& config, const BatchLimits& limits, const ModelOptions& options,
                            const kernels::Backend& backend);

// What a pass does behind the attention of its last layer; the pass itself where all tokens are computed.
PassContext at_head_rows(const PassContext& pass, const HeadRowActivations& kept);

// Numbers of the rows that the head reads, for it to find them in what it is given: [masked_rows] and
// [sequences], on the host.
struct HeadRowNumbers {
  std::vector<std::int32_t> masked;
  std::vector<std::int32_t> first;
};
// In the last hidden state of this model.
HeadRowNumbers head_row_numbers(const PassContext& pass, const HeadRowActivations& kept);

void head_rows_stage(const PassContext& pass, const HeadRowActivations& kept);

// to[i] = from[row i], [R, C].
void gather_head_rows(const PassContext& pass, const HeadRowActivations& kept, kernels::ConstValues from,
                      kernels::Values to);
// all[T, C] = zeros, with rows[R, C] added where they belong. A token that is masked and the first has two.
void spread_head_rows(const PassContext& pass, const HeadRowActivations& kept, kernels::ConstValues rows,
                      kernels::Values all);

}  // namespace bigbird
