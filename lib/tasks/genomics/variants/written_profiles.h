// Which profiles get numbers of their own in the output of `variants`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/tasks/model_task.h"

namespace bigbird {

// The indices that a list means, ascending, each once: "none", or what select_profiles takes; an empty list:
// all of at most `all_up_to` profiles, none of more. Error{usage} for what is no list, or no such profile.
std::vector<std::size_t> written_profiles(const std::string& list, const std::vector<Profile>& profiles,
                                          std::size_t all_up_to);

}  // namespace bigbird
