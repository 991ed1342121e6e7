// Sides of the split; see splits.h.
#include "lib/genomics/chromatin/splits.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::int64_t grch37_chr7_length = 159'138'663;

bool is_protected_from(Split side, Split other) {
  if (side == Split::train) return other == Split::valid || other == Split::test;
  return side == Split::valid && other == Split::test;
}

}  // namespace

ChromatinSplits::ChromatinSplits(const ChromatinSplitOptions& options, const ContigNames& names)
    : names_(names) {
  if (options.preset.empty()) {
    add(Split::test, options.test);
    add(Split::valid, options.valid);
    if (!options.train.empty()) rest_ = Split::none;
    add(Split::train, options.train);
  } else {
    const bool published = options.preset == "deepsea-published";
    if (!published && options.preset != "deepsea") {
      throw_usage(message("`preset` {}: not a preset", options.preset),
                  message("deepsea or deepsea-published; or say `test`, `valid` and `train`"));
    }
    if (!options.test.empty() || !options.valid.empty() || !options.train.empty()) {
      throw_usage(message("`preset` with `test`, `valid` or `train`: a preset says all of them"),
                  message("leave out `preset`, or the others"));
    }
    const std::size_t chr7 = names.require("chr7", message("`preset` ") + options.preset);
    if (names[chr7].length != grch37_chr7_length) {
      throw_bad_input(message("`preset` {}: {} has {} bases here; the preset is of GRCh37, where it has {}",
                              options.preset, names[chr7].name, names[chr7].length, grch37_chr7_length),
                      message("say `test` and `valid` in the coordinates of this genome"));
    }
    add(Split::test, "chr8,chr9");
    add(Split::valid, "chr7:30,508,751-35,296,850");
    if (published) {
      rest_ = Split::none;
      add(Split::train,
          "chr1,chr2,chr3,chr4,chr5,chr6,chr7:1-30,508,750,chr10,chr11,chr12,chr13,chr14,chr15,"
          "chr16,chr17,chr18,chr19,chr20,chr21,chr22");
    }
  }
  check_overlaps();
}

void ChromatinSplits::add(Split split, const std::string& list) {
  if (list.empty()) return;
  for (const std::string& part : split_region_list(list)) {
    if (part.empty()) {
      throw_usage(fmt::format("{} {}: an empty name", setting_name(split_side_name(split)), list),
                  "contigs and regions, separated by commas");
    }
    try {
      const Region region = parse_region(part, names_);
      parts_.push_back({split, region, format_region(names_[region.contig].name, region.begin, region.end)});
    } catch (const Error& error) {
      throw error.with_context(setting_name(split_side_name(split)));
    }
  }
}

void ChromatinSplits::check_overlaps() const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Region &a = parts_[j].region, &b = parts_[i].region;
      if (parts_[i].split == parts_[j].split || a.contig != b.contig || a.begin >= b.end || b.begin >= a.end)
        continue;
      throw_bad_input(
          fmt::format("{} of {} and {} of {} share bases", parts_[j].text, split_side_name(parts_[j].split),
                      parts_[i].text, split_side_name(parts_[i].split)),
          "a base can be on one side of the split only");
    }
  }
}

Split ChromatinSplits::side(std::uint32_t contig, std::int64_t base) const {
  for (const Part& part : parts_) {
    if (part.region.contig == contig && base >= part.region.begin && base < part.region.end)
      return part.split;
  }
  return rest_;
}

std::vector<std::string> ChromatinSplits::regions(Split split) const {
  std::vector<std::string> texts;
  for (const Part& part : parts_) {
    if (part.split == split) texts.push_back(part.text);
  }
  return texts;
}

std::int64_t keep_sides_apart(std::vector<ChromatinBin>& bins, const ModelWindow& window,
                              std::int64_t contig_length, std::optional<std::int64_t> gap) {
  // What must not come nearer than `distance` to the same of another bin. Ascending, as the bins are.
  const std::int64_t distance = gap.value_or(0);
  const auto begin_of = [&](const ChromatinBin& bin) {
    if (gap) return bin.begin;
    return std::clamp<std::int64_t>(bin.begin - window.target_offset, 0, contig_length - window.length);
  };
  const std::int64_t size = gap ? window.target_length : window.length;
  std::vector<bool> too_near(bins.size());
  // Forwards, with the nearest bin of each side before this one; then backwards, with those behind it.
  std::array<std::optional<std::int64_t>, split_count> nearest;  // where it begins
  const auto look = [&](std::size_t i) {
    const std::int64_t begin = begin_of(bins[i]);
    for (const Split other : {Split::valid, Split::test}) {
      const auto& place = nearest[static_cast<std::size_t>(other)];
      if (!place || !is_protected_from(bins[i].split, other)) continue;
      const std::int64_t between = std::max(begin, *place) - std::min(begin, *place) - size;
      if (between < distance) too_near[i] = true;
    }
    nearest[static_cast<std::size_t>(bins[i].split)] = begin;
  };
  for (std::size_t i = 0; i < bins.size(); ++i) look(i);
  nearest.fill(std::nullopt);
  for (std::size_t i = bins.size(); i-- > 0;) look(i);
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (!too_near[i]) continue;
    bins[i].split = Split::none;
    ++moved;
  }
  return moved;
}

}  // namespace bigbird
