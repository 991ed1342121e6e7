// Lists of outputs; see select_profiles.h.
#include "lib/genomics/select_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// A column number below `count`, or nothing.
std::optional<std::size_t> column_number(const std::string& text, std::size_t count) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number >= count) return std::nullopt;
  return number;
}

}  // namespace

PredictionColumns select_profiles(const std::vector<Profile>& profiles, const std::string& list) {
  PredictionColumns columns{profiles, {}};
  if (list.empty() || list == "all") {
    for (std::size_t i = 0; i < profiles.size(); ++i) columns.selected.push_back(i);
    return columns;
  }
  if (list == "none")
    throw_usage(message("`profiles` none: leaves nothing to write"), "name at least one, or take all");
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t before = columns.selected.size();
    const std::size_t dash = word.find('-');
    if (const auto one = column_number(word, profiles.size())) {
      columns.selected.push_back(*one);
    } else if (dash != std::string::npos) {
      const auto first = column_number(word.substr(0, dash), profiles.size());
      const auto last = column_number(word.substr(dash + 1), profiles.size());
      for (std::size_t i = first.value_or(1); first && last && i <= *last; ++i) columns.selected.push_back(i);
    }
    for (std::size_t i = 0; columns.selected.size() == before && i < profiles.size(); ++i) {
      if (profiles[i].name != word) continue;
      for (std::size_t k = i; k < profiles.size(); ++k) {
        if (profiles[k].name == word) columns.selected.push_back(k);
      }
    }
    if (columns.selected.size() == before) {
      throw_usage(
          message("`profiles` {}: there is no profile {}", list, word),
          fmt::format("the model has profiles 0 to {}: give numbers, ranges such as 0-3, or names of its "
                      "profiles.tsv",
                      profiles.size() - 1));
    }
  }
  return columns;
}

std::vector<std::size_t> written_profiles(const std::string& list, const std::vector<Profile>& profiles,
                                          std::size_t all_up_to) {
  if (list == "none" || (list.empty() && profiles.size() > all_up_to)) return {};
  const std::vector<std::size_t> selected = select_profiles(profiles, list).selected;
  const std::set<std::size_t> written(selected.begin(), selected.end());
  return {written.begin(), written.end()};
}

}  // namespace bigbird
