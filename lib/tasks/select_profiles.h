// Which of a model's outputs are wanted, as users list them: by column number or by name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/tasks/model_task.h"

namespace bigbird {

// What is written of a model's outputs.
struct PredictionColumns {
  std::vector<Profile> profiles;      // of the model
  std::vector<std::size_t> selected;  // columns of the output, in this order
};
// "0,5,125-130", or names, each standing for every profile of that name; "all" or empty: all. Error{usage}
// for what is neither, and for "none".
PredictionColumns select_profiles(const std::vector<Profile>& profiles, const std::string& list);

}  // namespace bigbird
