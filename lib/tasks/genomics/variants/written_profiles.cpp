// Lists of profiles with numbers of their own; see written_profiles.h.
#include "lib/tasks/genomics/variants/written_profiles.h"

#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <set>
#include <string_view>

#include "lib/core/error.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

// The items of "0,5,10-19".
std::set<std::size_t> listed_profiles(std::string_view list, std::size_t profiles, const std::string& where) {
  std::set<std::size_t> listed;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const std::size_t dash = item.find('-');
    const std::int64_t first = parse_integer(item.substr(0, dash), where, "a profile's index");
    const std::int64_t last = dash == std::string_view::npos
                                  ? first
                                  : parse_integer(item.substr(dash + 1), where, "a profile's index");
    if (first < 0 || last < first || last >= static_cast<std::int64_t>(profiles)) {
      throw_usage(fmt::format("{}: the model has profiles 0 to {}", where, profiles - 1));
    }
    for (std::int64_t profile = first; profile <= last; ++profile) {
      listed.insert(static_cast<std::size_t>(profile));
    }
    if (comma == std::string_view::npos) return listed;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::size_t> written_profiles(const std::string& list, std::size_t profiles,
                                          std::size_t all_up_to) {
  std::vector<std::size_t> written;
  if (list == "all" || (list.empty() && profiles <= all_up_to)) {
    written.resize(profiles);
    std::iota(written.begin(), written.end(), std::size_t{0});
    return written;
  }
  if (list.empty() || list == "none") return written;
  try {
    const std::set<std::size_t> listed = listed_profiles(list, profiles, "`profiles` " + list);
    written.assign(listed.begin(), listed.end());
  } catch (const Error& error) {
    throw_usage(error.message(), error.hint().empty() ? "all, none, or indices: 0,5,10-19" : error.hint());
  }
  return written;
}

}  // namespace bigbird
