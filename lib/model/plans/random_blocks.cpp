// The published random-block plans, drawn exactly as the published code draws them (docs/specification.md 1.4
// to 1.7).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/core/error.h"
#include "lib/core/numpy_random.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {
namespace {

using Blocks = std::vector<std::int32_t>;

// The old plan only looks at the first 1024 tokens: "better in cross-validation", say its authors.
constexpr std::int64_t old_plan_reach = 1024;
constexpr std::int64_t google_max_length = 4096;

void append_range(Blocks& list, std::int64_t first, std::int64_t last) {
  for (std::int64_t block = first; block <= last; ++block) list.push_back(static_cast<std::int32_t>(block));
}

// Candidates of row i among N blocks, ascending; `last` is the last block that random attention may reach.
Blocks old_plan_candidates(std::int64_t i, std::int64_t total, std::int64_t last) {
  const std::int64_t end = std::min(last, total - 2);  // the last block is global: never a candidate
  Blocks list;
  if (i == 1) {
    append_range(list, 3, end);
  } else if (i == 2) {
    append_range(list, 4, end);
  } else if (i == total - 3 || i == total - 2 || i - 2 > last) {
    append_range(list, 1, end);
  } else if (i + 1 == last) {
    append_range(list, 1, i - 2);
  } else {
    append_range(list, 1, i - 2);
    append_range(list, i + 2, end);
  }
  return list;
}

[[noreturn]] void throw_infeasible(std::int64_t blocks, std::int64_t random_per_row, const std::string& why) {
  throw_bad_input(fmt::format("no attention plan for {} blocks with {} random blocks a row: {}", blocks,
                              random_per_row, why),
                  fmt::format("{} blocks or more always work for {} random blocks; use fewer random blocks, "
                              "a smaller block size or full attention for shorter sequences",
                              2 * random_per_row + 6, random_per_row));
}

// One row's draw from [begin, end): the whole list is permuted, then the first legal blocks are taken.
Blocks draw_from_region(NumpyLegacyRandom& rng, std::int64_t row, std::int64_t begin, std::int64_t end,
                        std::int64_t wanted, std::int64_t blocks, std::int64_t random_per_row) {
  Blocks list;
  append_range(list, begin, end - 1);
  rng.permute(list);
  const auto legal = [&](std::int64_t block) {
    if (block >= row - 1 && block <= row + 1) return false;  // the window
    if (block == 0 || block == end - 1) return false;        // global (end of the region, as published)
    if (row == 1 && block == end - 2) return false;
    if (row == end - 2 && block == 1) return false;
    return true;
  };
  Blocks chosen;
  for (const std::int32_t block : list) {
    if (static_cast<std::int64_t>(chosen.size()) == wanted) break;
    if (legal(block)) chosen.push_back(block);
  }
  // The published code assigns a slice: one legal block is broadcast over all columns, any other shortage is
  // an error.
  if (chosen.size() == 1) chosen.assign(static_cast<std::size_t>(wanted), chosen[0]);
  if (static_cast<std::int64_t>(chosen.size()) != wanted) {
    throw_infeasible(
        blocks, random_per_row,
        fmt::format("row {} finds only {} of {} blocks it may pick", row, chosen.size(), wanted));
  }
  return chosen;
}

}  // namespace

RandomBlocks random_blocks_old(std::int64_t blocks, std::int64_t block_size, std::int64_t heads,
                               std::int64_t random_per_row, std::uint32_t seed, std::int64_t max_length,
                               std::uint64_t* draws) {
  const std::int64_t total = max_length / block_size;
  if (total < blocks || blocks < 4) {
    throw_infeasible(blocks, random_per_row, fmt::format("the plan is drawn for 4 to {} blocks", total));
  }
  const std::int64_t last = old_plan_reach > 2 * block_size ? old_plan_reach / block_size - 1 : total - 1;
  if (const std::int64_t reach = std::min(last, total - 2); reach >= blocks) {
    throw_infeasible(blocks, random_per_row,
                     fmt::format("at block size {} the plan reaches to block {}", block_size, reach));
  }
  NumpyLegacyRandom rng(seed);
  RandomBlocks plan(static_cast<std::size_t>(heads));
  // Heads are the outer loop, and every row is drawn, also those past the sequence's end.
  for (auto& head : plan) {
    for (std::int64_t row = 1; row <= total - 2; ++row) {
      Blocks list = old_plan_candidates(row, total, last);
      rng.permute(list);
      if (static_cast<std::int64_t>(list.size()) < random_per_row) {
        throw_infeasible(
            blocks, random_per_row,
            fmt::format("row {} has only {} candidates at block size {}", row, list.size(), block_size));
      }
      if (row > blocks - 2) continue;
      list.resize(static_cast<std::size_t>(random_per_row));
      head.push_back(std::move(list));
    }
  }
  if (draws != nullptr) *draws = rng.draws();
  return plan;
}

RandomBlocks random_blocks_plan(std::int64_t blocks, std::int64_t heads, std::int64_t random_per_row,
                                std::uint32_t seed, std::uint64_t* draws) {
  if (blocks < 3) throw_infeasible(blocks, random_per_row, "fewer than 3 blocks");
  NumpyLegacyRandom rng(seed);
  RandomBlocks plan(static_cast<std::size_t>(heads),
                    std::vector<Blocks>(static_cast<std::size_t>(blocks - 2)));
  // Rows are the outer loop, heads the inner one; row n-1 is drawn and thrown away, as published.
  const auto draw_rows = [&](std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
                             std::int64_t wanted) {
    if (wanted == 0) return;
    for (std::int64_t row = first; row <= last; ++row) {
      for (auto& head : plan) {
        const Blocks chosen = draw_from_region(rng, row, begin, end, wanted, blocks, random_per_row);
        if (row > blocks - 2) continue;
        Blocks& target = head[static_cast<std::size_t>(row - 1)];
        target.insert(target.end(), chosen.begin(), chosen.end());
      }
    }
  };
  const std::int64_t r = random_per_row;
  if (2 * r + 5 < blocks) {
    const std::int64_t p = 2 * r + 5;
    draw_rows(1, blocks - 1, 0, p, r);
  } else if (r + 5 < blocks) {
    const std::int64_t p = r + 5;
    const std::int64_t r1 = r / 2, r2 = r - r1;
    draw_rows(1, p - 1, 0, p, r1);
    draw_rows(1, p - 1, p, blocks, r2);
    draw_rows(p, blocks - 1, 0, p, r1);
    draw_rows(p, blocks - 1, p, blocks, r2);
  } else {
    draw_rows(1, blocks - 1, 0, blocks, r);
  }
  if (draws != nullptr) *draws = rng.draws();
  return plan;
}

RandomBlocks random_blocks(std::int64_t blocks, std::int64_t block_size, std::int64_t heads,
                           std::int64_t random_per_row, std::uint32_t seed, RandomMode mode,
                           std::int64_t max_position_embeddings) {
  const std::int64_t r = mode == RandomMode::none ? 0 : random_per_row;
  if (r == 0 || mode == RandomMode::hf_eval) {
    return RandomBlocks(static_cast<std::size_t>(heads),
                        std::vector<Blocks>(static_cast<std::size_t>(std::max<std::int64_t>(blocks - 2, 0)),
                                            Blocks(static_cast<std::size_t>(r), 0)));
  }
  const std::int64_t length = blocks * block_size;
  bool old_plan = length == 1024 || length == 2048 || length == 3072 || length == 4096;
  if (mode == RandomMode::hf_train && length == 2048) old_plan = false;
  if (!old_plan) return random_blocks_plan(blocks, heads, r, seed);
  const std::int64_t drawn_for = mode == RandomMode::hf_train ? max_position_embeddings : google_max_length;
  return random_blocks_old(blocks, block_size, heads, r, seed, drawn_for);
}

}  // namespace bigbird
