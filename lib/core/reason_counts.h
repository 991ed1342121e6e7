// Counts under names: why records, bins or windows were left out. Every verb that leaves something out counts
// it here, so that the order in which reasons are told, and the words of a summary, are the same everywhere.
//
//   ReasonCounts dropped;
//   dropped.add("too many N");
//   dropped.add("short contig", 12);
//   log_info(dropped.text());                               // "short contig 12, too many N 1"
//   for (const auto& [reason, count] : dropped) json["dropped"][reason] = count;
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bigbird {

class ReasonCounts {
 public:
  using Entry = std::pair<std::string, std::uint64_t>;

  // Reasons stand in the order of the alphabet (by bytes); with `order`, those come first and as they are
  // listed there.
  ReasonCounts() = default;
  explicit ReasonCounts(std::vector<std::string> order) : order_(std::move(order)) {}

  // Counting 0 leaves no trace: only reasons that occurred are told.
  void add(std::string_view reason, std::uint64_t count = 1);
  // The reasons of `other` in the order of this one: counts of threads, chunks or shards add up.
  void add(const ReasonCounts& other);

  // 0 for a reason that did not occur.
  std::uint64_t count(std::string_view reason) const;
  std::uint64_t total() const;
  // The reason that occurred most often, the first in order of several; empty when there is none.
  std::string most_frequent() const;
  // "ref_mismatch 12, symbolic 3"; empty when there is none. `between` stands between a reason and its count.
  std::string text(std::string_view between = " ") const;

  // The reasons that occurred, in order.
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

 private:
  bool comes_before(std::string_view reason, std::string_view other) const;

  std::vector<std::string> order_;
  std::vector<Entry> entries_;
};

}  // namespace bigbird
