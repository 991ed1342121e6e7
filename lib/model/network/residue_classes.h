// Tokens of every sequence in the order of their residue classes modulo a step: those of numbers 0, step, 2
// step, then 1, step + 1 and so on. In that order a window that takes every step-th token is a plain window,
// and a stride is a class that sees itself whole: attention of plans and rules that are there, between a
// gather of rows and another one back (Child et al. 2019, strided; Beltagy et al. 2020, dilated windows).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/types.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/token_pairs.h"

namespace bigbird {

// Of a ragged batch. Padding stays where it is, behind the tokens of its sequence.
struct ResidueClasses {
  std::vector<std::int32_t> rows;    // [T] the row that a place has
  std::vector<std::int32_t> places;  // [T] the place that a row has: its inverse
  // [T] by place: numbers of classes, so that these do not meet (kernels::PairRule).
  std::vector<std::int32_t> query_groups;
  std::vector<std::int32_t> key_groups;
};
// Of groups that leave a query's own key out, a query without another key in reach asks nothing: by the
// kernels' rule it would see its own. hidden: rows, 1 each, that ask nothing and are nobody's key; empty:
// none.
ResidueClasses residue_classes(const std::vector<std::int64_t>& offsets,
                               const std::vector<std::int64_t>& lengths, const KeyGroup& group,
                               const std::vector<std::uint8_t>& hidden);

// Lists of blocks for such calls, by the blocks of a sequence. Thread-safe; a plan lives as long as this.
class ResidueClassPlans {
 public:
  // rows: blocks of the sequence with its padding; planned: those with tokens.
  const BlockPlan& plan(const KeyGroup& group, std::int64_t block_size, std::int64_t rows,
                        std::int64_t planned);

 private:
  std::mutex mutex_;
  std::map<std::array<std::int64_t, 7>, std::unique_ptr<BlockPlan>> plans_;
};

}  // namespace bigbird
