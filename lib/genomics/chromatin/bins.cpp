// Bins and their labels; see bins.h.
#include "lib/genomics/chromatin/bins.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"

namespace bigbird {
namespace {

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

std::int64_t least_overlap(std::string_view share, std::int64_t bin, bool at_least) {
  const auto refuse = [&](const std::string& what) {
    throw_usage(
        message("`min_overlap` {}: {}", share, what),
        message(
            "a decimal between 0 and 1, for instance 0.5: more than half; with `at_least`, half is enough"));
  };
  // numerator / denominator = share
  std::int64_t numerator = 0, denominator = 1;
  bool after_point = false, digits = false;
  for (const char letter : share) {
    if (letter == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (letter < '0' || letter > '9') refuse("not a decimal");
    if (denominator >= 1'000'000'000 || numerator > 1'000'000'000) refuse("too many digits");
    numerator = numerator * 10 + (letter - '0');
    if (after_point) denominator *= 10;
    digits = true;
  }
  if (!digits) refuse("not a decimal");
  if (numerator > denominator) refuse("more than the whole bin");
  const std::int64_t scaled = numerator * bin;
  const std::int64_t least = at_least ? (scaled + denominator - 1) / denominator : scaled / denominator + 1;
  if (least < 1) refuse(message("every bin has that much with `at_least`"));
  if (least > bin) refuse(message("no bin has more than the whole of it; add `at_least`"));
  return least;
}

void mark_bins(std::span<const GenomeInterval> merged, const BinStretch& stretch, std::int64_t least,
               std::size_t profile, std::size_t stride, std::span<std::uint8_t> rows) {
  const std::int64_t stretch_end = stretch.begin + stretch.bins * stretch.bin;
  auto interval = std::partition_point(merged.begin(), merged.end(), [&](const GenomeInterval& one) {
    return one.contig < stretch.contig || (one.contig == stretch.contig && one.end <= stretch.begin);
  });
  const auto bit = static_cast<std::uint8_t>(1u << (profile % 8));
  std::int64_t current = -1;  // the bin that `covered` is of
  std::int64_t covered = 0;
  for (; interval != merged.end() && interval->contig == stretch.contig && interval->begin < stretch_end;
       ++interval) {
    const std::int64_t begin = std::max<std::int64_t>(interval->begin, stretch.begin);
    const std::int64_t end = std::min<std::int64_t>(interval->end, stretch_end);
    for (std::int64_t index = (begin - stretch.begin) / stretch.bin;; ++index) {
      const std::int64_t bin_begin = stretch.begin + index * stretch.bin;
      if (bin_begin >= end) break;
      if (index != current) covered = 0;
      current = index;
      covered += std::min(end, bin_begin + stretch.bin) - std::max(begin, bin_begin);
      if (covered >= least) rows[static_cast<std::size_t>(index) * stride + profile / 8] |= bit;
    }
  }
}

KeepRule::KeepRule(const std::string& text, const std::vector<Profile>& profiles) {
  if (lower_ascii(text) == "all") return;
  std::set<std::string> groups;
  for (const Profile& profile : profiles) groups.insert(profile.group);
  for (const std::string_view term : split_at(text, ',')) {
    std::vector<Condition>& conditions = terms_.emplace_back();
    for (const std::string_view part : split_at(term, '+')) {
      const std::size_t colon = part.rfind(':');
      const std::string group = lower_ascii(part.substr(0, colon));
      Condition condition{std::vector<std::uint8_t>(label_stride(profiles.size())), 1};
      bool malformed = group.empty();
      if (colon != std::string_view::npos) {
        const std::string_view number = part.substr(colon + 1);
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), condition.least);
        malformed |= error != std::errc() || end != number.data() + number.size() || condition.least < 1;
      }
      if (malformed) {
        throw_usage(
            message("`keep` {}: not a rule: {}", text, part),
            "all, any, a group such as tf, tf:2 for two labels of it, tf+dhs for both, tf,dhs for either");
      }
      int members = 0;
      for (std::size_t k = 0; k < profiles.size(); ++k) {
        if (group != "any" && lower_ascii(profiles[k].group) != group) continue;
        condition.mask[k / 8] |= static_cast<std::uint8_t>(1u << (k % 8));
        ++members;
      }
      if (members < condition.least) {
        throw_bad_input(message("`keep` {}: {} of the profiles are of group {}", text, members, group),
                        message("the groups of the list are: {}; or `keep` any", fmt::join(groups, ", ")));
      }
      conditions.push_back(std::move(condition));
    }
  }
}

bool KeepRule::keeps(std::span<const std::uint8_t> row) const {
  const auto holds = [&](const Condition& condition) {
    int labels = 0;
    for (std::size_t byte = 0; byte < row.size(); ++byte) {
      labels += std::popcount(static_cast<unsigned>(row[byte] & condition.mask[byte]));
      if (labels >= condition.least) return true;
    }
    return false;
  };
  return terms_.empty() || std::any_of(terms_.begin(), terms_.end(), [&](const auto& conditions) {
           return std::all_of(conditions.begin(), conditions.end(), holds);
         });
}

}  // namespace bigbird
