// What one side of a split could tell about another: an independent check of labelled windows as they were
// written, whoever split them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/inference/windows.h"

namespace bigbird {

enum class Leak {
  shared_promoter,      // the same promoter on two sides, by its id
  parted_negative,      // a negative on another side than its promoter
  equal_sequence,       // a sequence of another side
  reverse_complement,   // the other strand of a sequence of another side
  overlapping_windows,  // a window that overlaps one of another side, on either strand
};
inline constexpr std::size_t leak_kinds = 5;
const char* leak_name(Leak leak);  // "shared promoter", ...

struct LeakReport {
  std::int64_t examples = 0;                      // looked at
  std::array<std::int64_t, leak_kinds> counts{};  // examples with such a counterpart on another side
  std::array<std::string, leak_kinds> first{};    // the first pair of each kind: "train A, test B"
  std::int64_t count(Leak leak) const { return counts[static_cast<std::size_t>(leak)]; }
  bool any() const;
  // "3 overlapping windows (train A, test B), 1 equal sequence (...)".
  std::string text() const;
};

// Collects the examples of each side, in memory that grows with their number, not with their length: a
// sequence is kept as 64-bit keys of both of its strands. Windows without a place (chrom ".") are compared by
// sequence alone.
class LeakCheck {
 public:
  // Negatives are named after their promoter (negative_id(), negatives.h).
  void add(const std::string& side, const Window& window);
  // Reads a whole file.
  void add_all(const std::string& side, WindowReader& windows);
  LeakReport report() const;

 private:
  struct Example {
    std::uint8_t side;
    std::uint32_t chrom;
    std::int64_t begin;
    std::int64_t end;
    std::uint64_t forward;
    std::uint64_t reverse;
    std::string id;
  };
  static constexpr std::uint32_t no_place = 0;
  std::string name_of(const Example& example) const { return sides_[example.side] + " " + example.id; }

  std::vector<std::string> sides_;
  std::unordered_map<std::string, std::uint32_t> chroms_;
  std::vector<Example> examples_;
};

// A key of a sequence that is equal for its reverse complement.
std::uint64_t sequence_key(std::string_view sequence);

}  // namespace bigbird
