// Sides of a split by place; see genome_sides.h.
#include "lib/genomics/genome_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<Split, const char*>, split_count> split_names{
    {{Split::none, "none"}, {Split::train, "train"}, {Split::valid, "valid"}, {Split::test, "test"}}};

}  // namespace

const char* split_side_name(Split split) {
  return find_name(split_names, split);
}

Split parse_split_side(std::string_view word, const std::string& where) {
  if (const auto side = find_value(split_names, word)) return *side;
  throw_bad_input(fmt::format("{}: not a side of a split: {}", where, word.substr(0, 40)),
                  "sides are train, valid, test and none");
}

GenomeSides::GenomeSides(const SideLists& lists, const ContigNames& names) : names_(names) {
  add(Split::test, lists.test);
  add(Split::valid, lists.valid);
  if (!lists.train.empty()) rest_ = Split::none;
  add(Split::train, lists.train);
  check_overlaps();
}

void GenomeSides::add(Split split, const std::string& list) {
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

void GenomeSides::check_overlaps() const {
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

Split GenomeSides::side(std::size_t contig, std::int64_t base) const {
  for (const Part& part : parts_) {
    if (part.region.contig == contig && base >= part.region.begin && base < part.region.end)
      return part.split;
  }
  return rest_;
}

std::vector<std::string> GenomeSides::regions(Split split) const {
  std::vector<std::string> texts;
  for (const Part& part : parts_) {
    if (part.split == split) texts.push_back(part.text);
  }
  return texts;
}

std::vector<Region> GenomeSides::elsewhere(Split split, std::size_t contig) const {
  const std::int64_t length = names_[contig].length;
  std::vector<Region> own, others;
  for (const Part& part : parts_) {
    if (part.region.contig == contig) (part.split == split ? own : others).push_back(part.region);
  }
  const auto by_place = [](const Region& a, const Region& b) { return a.begin < b.begin; };
  if (split == rest_) {
    std::sort(others.begin(), others.end(), by_place);
    return others;
  }
  std::sort(own.begin(), own.end(), by_place);
  std::vector<Region> gaps;
  std::int64_t at = 0;
  for (const Region& region : own) {
    if (at < region.begin) gaps.push_back({contig, at, region.begin});
    at = std::max(at, region.end);
  }
  if (at < length) gaps.push_back({contig, at, length});
  return gaps;
}

bool apart_from(const std::vector<Region>& stretches, std::int64_t begin, std::int64_t end) {
  return std::none_of(stretches.begin(), stretches.end(),
                      [&](const Region& stretch) { return begin < stretch.end && stretch.begin < end; });
}

}  // namespace bigbird
