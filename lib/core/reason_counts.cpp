// Counts under names; see reason_counts.h. There are a few reasons in a run, so that they are looked for one
// by one.
#include "lib/core/reason_counts.h"

#include <fmt/format.h>

#include <algorithm>

namespace bigbird {

bool ReasonCounts::comes_before(std::string_view reason, std::string_view other) const {
  const auto place = std::find(order_.begin(), order_.end(), reason);
  const auto other_place = std::find(order_.begin(), order_.end(), other);
  return place == other_place ? reason < other : place < other_place;
}

void ReasonCounts::add(std::string_view reason, std::uint64_t count) {
  if (count == 0) return;
  for (Entry& entry : entries_) {
    if (entry.first != reason) continue;
    entry.second += count;
    return;
  }
  const auto next = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return comes_before(reason, entry.first); });
  entries_.emplace(next, reason, count);
}

void ReasonCounts::add(const ReasonCounts& other) {
  for (const auto& [reason, count] : other.entries_) add(reason, count);
}

std::uint64_t ReasonCounts::count(std::string_view reason) const {
  for (const auto& [name, count] : entries_) {
    if (name == reason) return count;
  }
  return 0;
}

std::uint64_t ReasonCounts::total() const {
  std::uint64_t sum = 0;
  for (const auto& entry : entries_) sum += entry.second;
  return sum;
}

std::string ReasonCounts::most_frequent() const {
  const auto most = std::max_element(entries_.begin(), entries_.end(),
                                     [](const Entry& a, const Entry& b) { return a.second < b.second; });
  return most == entries_.end() ? std::string() : most->first;
}

std::string ReasonCounts::text(std::string_view between) const {
  std::string text;
  for (const auto& [reason, count] : entries_) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", reason, between, count);
  }
  return text;
}

}  // namespace bigbird
