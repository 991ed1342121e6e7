// See residue_classes.h.
#include "lib/model/network/residue_classes.h"

#include <algorithm>
#include <numeric>

#include "lib/model/plans/patterns.h"

namespace bigbird {
namespace {

constexpr std::int32_t asks_nothing = -1, nobodys_key = -2;

// Whether a place of [begin, end), its class, has a key in reach beside its own.
bool has_company(const ResidueClasses& classes, const KeyGroup& group, std::int64_t begin, std::int64_t end,
                 std::int64_t place) {
  const std::int64_t first = group.before < 0 ? begin : std::max(begin, place - group.before);
  const std::int64_t last = group.after < 0 ? end - 1 : std::min(end - 1, place + group.after);
  for (std::int64_t other = first; other <= last; ++other) {
    if (other != place && classes.key_groups[static_cast<std::size_t>(other)] != nobodys_key) return true;
  }
  return false;
}

}  // namespace

ResidueClasses residue_classes(const std::vector<std::int64_t>& offsets,
                               const std::vector<std::int64_t>& lengths, const KeyGroup& group,
                               const std::vector<std::uint8_t>& hidden) {
  const auto rows = static_cast<std::size_t>(offsets.back());
  ResidueClasses classes;
  classes.rows.resize(rows);
  classes.places.resize(rows);
  std::iota(classes.rows.begin(), classes.rows.end(), 0);
  classes.query_groups.assign(rows, asks_nothing);
  classes.key_groups.assign(rows, nobodys_key);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const std::int64_t first = offsets[s], length = lengths[s];
    for (std::int64_t residue = 0; residue < std::min(group.step, length); ++residue) {
      const std::int64_t begin = first + residue_class_begin(length, group.step, residue);
      const std::int64_t end = first + residue_class_begin(length, group.step, residue + 1);
      for (std::int64_t place = begin; place < end; ++place) {
        const auto at = static_cast<std::size_t>(place);
        const std::int64_t row = first + residue + (place - begin) * group.step;
        classes.rows[at] = static_cast<std::int32_t>(row);
        if (!hidden.empty() && hidden[static_cast<std::size_t>(row)] != 0) continue;
        classes.query_groups[at] = classes.key_groups[at] = static_cast<std::int32_t>(residue);
      }
      for (std::int64_t place = begin; !group.itself && place < end; ++place) {
        if (!has_company(classes, group, begin, end, place))
          classes.query_groups[static_cast<std::size_t>(place)] = asks_nothing;
      }
    }
  }
  for (std::size_t place = 0; place < rows; ++place)
    classes.places[static_cast<std::size_t>(classes.rows[place])] = static_cast<std::int32_t>(place);
  return classes;
}

const BlockPlan& ResidueClassPlans::plan(const KeyGroup& group, std::int64_t block_size, std::int64_t rows,
                                         std::int64_t planned) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& plan = plans_[{group.heads, block_size, group.step, group.before, group.after, rows, planned}];
  if (plan != nullptr) return *plan;
  KeyLists lists =
      residue_class_rows(planned, group.heads, block_size, group.step, group.before, group.after);
  // Nobody asks for what blocks of padding see; a list has one block at least.
  for (auto& head : lists) {
    while (static_cast<std::int64_t>(head.size()) < rows)
      head.push_back({static_cast<std::int32_t>(head.size())});
  }
  plan = std::make_unique<BlockPlan>(lists);
  return *plan;
}

}  // namespace bigbird
