// Batches on the host; see batch.h.
#include "lib/model/network/batch.h"

#include <algorithm>
#include <cstddef>

#include "lib/core/error.h"

namespace bigbird {

void Batch::append(const std::vector<std::int32_t>& sequence_ids,
                   const std::vector<std::int32_t>& sequence_types, std::int64_t multiple,
                   std::int32_t pad_id, std::int64_t pad_to) {
  if (sequence_ids.empty()) throw_runtime("a batch cannot hold a sequence without tokens");
  if (!sequence_types.empty() && sequence_types.size() != sequence_ids.size()) {
    throw_runtime("a sequence has as many token types as tokens, or none");
  }
  const std::int64_t length = static_cast<std::int64_t>(sequence_ids.size());
  const std::int64_t end = tokens() + (std::max(length, pad_to) + multiple - 1) / multiple * multiple;

  ids.insert(ids.end(), sequence_ids.begin(), sequence_ids.end());
  types.insert(types.end(), sequence_types.begin(), sequence_types.end());
  ids.resize(static_cast<std::size_t>(end), pad_id);
  types.resize(static_cast<std::size_t>(end), 0);
  token_offsets.push_back(end);
  lengths.push_back(length);
}

void TargetTokens::append(const std::vector<std::int32_t>& sequence_ids,
                          const std::vector<std::int32_t>& sequence_labels, std::int64_t multiple,
                          std::int32_t pad_id) {
  if (sequence_ids.empty()) throw_runtime("a decoder cannot read a sequence without tokens");
  if (!sequence_labels.empty() && sequence_labels.size() != sequence_ids.size())
    throw_runtime("a decoder's sequence has as many labels as tokens, or none");
  const std::int64_t length = static_cast<std::int64_t>(sequence_ids.size());
  const std::int64_t end = tokens() + (length + multiple - 1) / multiple * multiple;
  ids.insert(ids.end(), sequence_ids.begin(), sequence_ids.end());
  ids.resize(static_cast<std::size_t>(end), pad_id);
  if (!sequence_labels.empty()) {
    labels.insert(labels.end(), sequence_labels.begin(), sequence_labels.end());
    labels.resize(static_cast<std::size_t>(end), ignored_label);
  }
  token_offsets.push_back(end);
  lengths.push_back(length);
}

std::int64_t TokenTargets::answered_groups() const {
  std::int64_t count = 0;
  for (std::size_t group = 0; group + 1 < group_offsets.size(); ++group) {
    const auto end = right.begin() + group_offsets[group + 1];
    count += std::find(right.begin() + group_offsets[group], end, std::uint8_t{1}) == end ? 0 : 1;
  }
  return count;
}

void TokenTargets::open_group(std::int32_t parts) {
  if (parts != 1 || !group_parts.empty()) {
    group_parts.resize(static_cast<std::size_t>(groups()), 1);
    group_parts.push_back(parts);
  }
  group_offsets.push_back(group_offsets.back());
}

void TokenTargets::add(std::int64_t row, bool is_right) {
  if (groups() == 0) throw_runtime("a row of no group");
  rows.push_back(static_cast<std::int32_t>(row));
  right.push_back(is_right ? 1 : 0);
  ++group_offsets.back();
}

void Batch::clear() {
  *this = Batch{};
}

}  // namespace bigbird
