// Fractions of changed tokens; see token_change.h. E. W. Myers, "An O(ND) difference algorithm and its
// variations", Algorithmica 1 (1986): the shortest edit script without the script itself.
#include "lib/tasks/genomics/variants/token_change.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bigbird {
namespace {

// Tokens to delete and to insert, at least, to turn one sequence into the other.
std::int64_t edit_distance(std::span<const std::int32_t> before, std::span<const std::int32_t> after) {
  const auto rows = static_cast<std::int64_t>(before.size());
  const auto columns = static_cast<std::int64_t>(after.size());
  // furthest[k]: the furthest row on diagonal row - column = k that so many edits reach.
  std::vector<std::int64_t> places(static_cast<std::size_t>(2 * (rows + columns) + 3), 0);
  const auto furthest = [&](std::int64_t diagonal) -> std::int64_t& {
    return places[static_cast<std::size_t>(diagonal + rows + columns + 1)];
  };
  for (std::int64_t edits = 0;; ++edits) {
    for (std::int64_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const bool insert =
          diagonal == -edits || (diagonal != edits && furthest(diagonal - 1) < furthest(diagonal + 1));
      std::int64_t row = insert ? furthest(diagonal + 1) : furthest(diagonal - 1) + 1;
      while (row < rows && row - diagonal < columns &&
             before[static_cast<std::size_t>(row)] == after[static_cast<std::size_t>(row - diagonal)]) {
        ++row;
      }
      furthest(diagonal) = row;
      if (row >= rows && row - diagonal >= columns) return edits;
    }
  }
}

}  // namespace

double changed_token_share(std::span<const std::int32_t> before, std::span<const std::int32_t> after) {
  const std::size_t longer = std::max(before.size(), after.size());
  if (longer == 0) return 0;
  // Every token that is not common is one edit.
  const double edits = static_cast<double>(edit_distance(before, after));
  const double common = (static_cast<double>(before.size() + after.size()) - edits) / 2;
  return 1 - common / static_cast<double>(longer);
}

}  // namespace bigbird
