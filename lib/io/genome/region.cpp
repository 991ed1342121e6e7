// Region parsing; see region.h.
#include "lib/io/genome/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// "1,000" -> 1000; nothing when it is no number. Commas count only between digits.
std::optional<std::int64_t> position_of(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && i > 0 && i + 1 < text.size()) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    digits += text[i];
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool is_group_of_digits(const std::string& text) {
  // "508" or "751-35" of "30,508,751-35,296,850"; "000-2500" of "1,000-2500"
  if (text.size() < 3 || (text.size() > 3 && text[3] != '-')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

std::vector<std::string> split_region_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    if (!parts.empty() && parts.back().find(':') != std::string::npos && is_group_of_digits(part)) {
      parts.back() += "," + part;
    } else {
      parts.push_back(std::move(part));
    }
    begin = end + 1;
  }
  return parts;
}

std::vector<Region> parse_regions(const std::string& text, const ContigNames& contigs) {
  if (const auto whole = contigs.find(text)) return {{*whole, 0, contigs[*whole].length}};
  std::vector<Region> regions;
  for (const std::string& part : split_region_list(text)) regions.push_back(parse_region(part, contigs));
  return regions;
}

Region parse_region(std::string_view text, const ContigNames& contigs) {
  const std::string where = fmt::format("region {}", text);
  if (const auto whole = contigs.find(text)) return {*whole, 0, contigs[*whole].length};
  if (const auto parts = split_region_list(std::string(text)); parts.size() > 1 && !parts[1].empty()) {
    throw_bad_input(
        fmt::format("{}: {} regions, where one is taken", where, parts.size()),
        "give one region; three digits after a comma belong to a position, as in chr1:1,000-2,000");
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return {contigs.require(text, where), 0, 0};  // throws: the name is not known
  const std::string_view range = text.substr(colon + 1);
  const std::size_t dash = range.find('-');
  const auto first = position_of(range.substr(0, dash));
  const bool open_ended = dash == std::string_view::npos;
  const auto last = open_ended ? std::optional<std::int64_t>(0) : position_of(range.substr(dash + 1));
  if (!first || !last) {
    throw_bad_input(fmt::format("{}: not of the form CONTIG:START-END", where),
                    "positions are 1-based and closed, for instance chr1:1,000-2,000");
  }
  const std::size_t index = contigs.require(text.substr(0, colon), where);
  const Contig& contig = contigs[index];
  const std::int64_t end = open_ended ? contig.length : *last;
  if (*first < 1 || *first > contig.length || end > contig.length) {
    throw_bad_input(
        fmt::format("{}: outside of {}, which has positions 1-{}", where, contig.name, contig.length),
        "positions are 1-based; check that the reference is the assembly you mean");
  }
  if (*first > end) {
    throw_bad_input(fmt::format("{}: start is after end", where),
                    "positions are 1-based and closed: chr1:3-6 is four bases");
  }
  return {index, *first - 1, end};
}

std::string format_region(const std::string& contig, std::int64_t begin, std::int64_t end) {
  return fmt::format("{}:{}-{}", contig, begin + 1, end);
}

}  // namespace bigbird
