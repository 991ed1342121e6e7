// lib/genomics/chromatin holds profiles of chromatin: peaks to labelled bins, data sets, DeepSEA's import,
// fine-tuning, prediction, evaluation, calibration. Bins are integers on a grid, the same on every machine.
//
// Labels of bins on a grid: how much of a bin peaks must cover, and which bins are worth keeping. Integers
// throughout: a bin at the threshold falls on the same side on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/genomics/chromatin/peaks.h"
#include "lib/inference/model_task.h"

namespace bigbird {

// The fewest bases of a bin of `bin` bp that its peaks must cover: more than `share` of it, or at least that
// much. `share` is a decimal as typed ("0.5"), which is taken exactly. Error{usage}: no decimal of [0, 1], or
// a rule that every bin (at least 0) or none (more than 1) fulfils.
std::int64_t least_overlap(std::string_view share, std::int64_t bin, bool at_least);

// Bytes of a row of packed labels.
inline std::size_t label_stride(std::size_t profiles) {
  return (profiles + 7) / 8;
}

// A stretch of neighbouring bins of one contig.
struct BinStretch {
  std::uint32_t contig = 0;
  std::int64_t begin = 0;  // of its first bin
  std::int64_t bins = 0;
  std::int64_t bin = 200;  // bp
};

// Sets bit `profile` of the row of each bin of which at least `least` bases lie in the union of `merged`
// (sorted, disjoint). rows: [stretch.bins, stride] bytes.
void mark_bins(std::span<const GenomeInterval> merged, const BinStretch& stretch, std::int64_t least,
               std::size_t profile, std::size_t stride, std::span<std::uint8_t> rows);

// Which bins are kept, by their labels. Text: "all", or terms of which one must hold, separated by commas; a
// term is conditions that must all hold, joined by '+'; a condition is a group's name in any case, or "any"
// for all profiles, with ":N" behind it for at least N labels instead of one. "tf" is DeepSEA's rule.
class KeepRule {
 public:
  // Error{usage}: a malformed text; Error{bad_input}: a group that no profile has.
  KeepRule(const std::string& text, const std::vector<Profile>& profiles);
  bool keeps(std::span<const std::uint8_t> row) const;

 private:
  struct Condition {
    std::vector<std::uint8_t> mask;  // of its profiles, packed as the labels are
    int least = 1;
  };
  std::vector<std::vector<Condition>> terms_;  // empty: every bin
};

}  // namespace bigbird
