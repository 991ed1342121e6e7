// Embedding tables: rows looked up and summed, and their gradients without atomics. Launchers of
// embedding.cu, plain C++. Semantics are those of the operations of the same name in kernels/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// The tables as they are read: working copies, of the type of y, or the parameters in fp32.
struct TableValues {
  ConstValues word;
  ConstValues type;
  ConstValues position;  // may be null
};
void embedding_forward(const EmbeddingIndices& indices, const TableValues& tables, float word_scale, Values y,
                       Index width, Stream stream);

// Rows of a table, one for each token. Keys are below key_count; a negative one means no row.
struct TokenKeys {
  const std::int32_t* keys = nullptr;
  Index tokens = 0;
  Index key_count = 0;
};

// Device memory for add_rows_by_key, in bytes: about 10, and 1/32 of a row in fp32, for each token.
std::size_t rows_by_key_workspace(Index tokens, Index width, Index key_count);

// table[keys[t]] += scale * dy[t] for every token t, in fp32 and in an order fixed by the keys: the tokens
// are sorted by key, cut into even pieces, and each run of equal keys is summed in order. One call per table;
// the workspace serves one after another.
void add_rows_by_key(ConstValues dy, const TokenKeys& by, float scale, float* table, Index width,
                     void* workspace, Stream stream);

}  // namespace bigbird::kernels::cuda
