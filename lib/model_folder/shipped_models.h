// Where the models lie that come with the program.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bigbird {

// Folders that may hold them, in the order in which they are asked. `program`: the path of the running
// program; `named`: what BIGBIRD_MODELS says, which then is the only one. Of an installed
// PREFIX/bin/bigbird it is PREFIX/share/bigbird/models; of a program in build/PRESET/bin, models/ of the
// checkout.
std::vector<std::string> places_of_models(const std::string& program, const std::string& named);

// The folder of the model of this name ("yeast-r64", "yeast-r64/tracks"); nothing where there is none.
std::optional<std::string> find_shipped_model(const std::string& name);
// The same. Error{environment} naming the folders that lack it.
std::string shipped_model(const std::string& name);

}  // namespace bigbird
