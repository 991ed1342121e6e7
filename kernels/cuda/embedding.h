// Embedding tables: rows looked up and summed, and their gradients without atomics. Launchers of
// embedding.cu, plain C++. Semantics are those of the operations of the same name in kernels/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// The tables have one type: that of y, or fp32. position may be null.
void embedding_forward(const std::int32_t* ids, const std::int32_t* types, const std::int32_t* positions,
                       ConstValues word, ConstValues type, ConstValues position, float word_scale, Values y,
                       Index tokens, Index width, Stream stream);

// Device memory for add_rows_by_key, in bytes: about 10, and 1/32 of a row in fp32, for each token.
std::size_t rows_by_key_workspace(Index tokens, Index width, Index key_count);

// table[keys[t]] += scale * dy[t] for every token t, in fp32 and in an order fixed by the keys: the tokens
// are sorted by key, cut into even pieces, and each run of equal keys is summed in order. Keys are below
// key_count; a token with a negative key adds nothing. One call per table; the workspace serves one after
// another.
void add_rows_by_key(ConstValues dy, const std::int32_t* keys, float scale, float* table, Index tokens,
                     Index width, Index key_count, void* workspace, Stream stream);

}  // namespace bigbird::kernels::cuda
