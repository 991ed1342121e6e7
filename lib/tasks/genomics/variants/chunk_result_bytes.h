// What is kept of a chunk of scored variants while the run is not finished (lib/tasks/chunks.h).
#pragma once

#include <string>
#include <string_view>

#include "lib/tasks/genomics/variants/chunk_scorer.h"

namespace bigbird {

std::string to_bytes(const ChunkResult& result);
// What to_bytes gave; `path` names the bytes in the Error{bad_input} for any other.
ChunkResult chunk_result_from_bytes(std::string_view bytes, const std::string& path);

}  // namespace bigbird
