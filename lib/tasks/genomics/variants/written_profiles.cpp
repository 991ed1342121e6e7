// Lists of profiles with numbers of their own; see written_profiles.h.
#include "lib/tasks/genomics/variants/written_profiles.h"

#include <set>

#include "lib/tasks/select_profiles.h"

namespace bigbird {

std::vector<std::size_t> written_profiles(const std::string& list, const std::vector<Profile>& profiles,
                                          std::size_t all_up_to) {
  if (list == "none" || (list.empty() && profiles.size() > all_up_to)) return {};
  const std::vector<std::size_t> selected = select_profiles(profiles, list).selected;
  const std::set<std::size_t> written(selected.begin(), selected.end());
  return {written.begin(), written.end()};
}

}  // namespace bigbird
