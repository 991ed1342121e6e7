// The most likely next tokens of some rows: what a search for text needs of the logits, and all that then
// leaves the device.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/types.h"

namespace bigbird {

inline constexpr std::int64_t most_top_tokens = kernels::most_top_columns;

// Of each row the `count` best, [rows, count] one row behind the other, of equal logits the lower token
// first.
struct TopTokens {
  std::span<const float> log_probabilities;
  std::span<const std::int32_t> tokens;
  std::int64_t count = 0;

  TopTokens rows(std::size_t first, std::size_t number) const {
    const auto each = static_cast<std::size_t>(count);
    return {log_probabilities.subspan(first * each, number * each),
            tokens.subspan(first * each, number * each), count};
  }
};

}  // namespace bigbird
