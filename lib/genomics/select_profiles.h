// Which of a model's outputs are wanted, as users list them: by column number or by name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/inference/model_task.h"

namespace bigbird {

// What is written of a model's outputs.
struct PredictionColumns {
  std::vector<Profile> profiles;      // of the model
  std::vector<std::size_t> selected;  // columns of the output, in this order
};
// "0,5,125-130", or names, each standing for every profile of that name; "all" or empty: all. Error{usage}
// for what is neither, and for "none".
PredictionColumns select_profiles(const std::vector<Profile>& profiles, const std::string& list);

// Which profiles get numbers of their own in an output: the indices that a list means, ascending, each once.
// "none", or what select_profiles takes; an empty list: all of at most `all_up_to` profiles, none of more.
// Error{usage} for what is no list, or no such profile.
std::vector<std::size_t> written_profiles(const std::string& list, const std::vector<Profile>& profiles,
                                          std::size_t all_up_to);

}  // namespace bigbird
