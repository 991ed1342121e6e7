// How far back the heads of a model with spans look (lib/model/network/adaptive_span.h), out of its folder.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model_folder/model_folder.h"

namespace bigbird {

struct HeadSpan {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  float fraction = 0;       // z, of max_span
  std::int64_t tokens = 0;  // z max_span, rounded up: with a weight of 1
  std::int64_t reach = 0;   // the furthest token with any weight
};

// By layer and head. Error{bad_input} for a model without spans.
std::vector<HeadSpan> spans_of_heads(const ModelFolder& folder);

}  // namespace bigbird
