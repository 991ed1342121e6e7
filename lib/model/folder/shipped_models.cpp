// Where the models lie that come with the program; see shipped_models.h.
#include "lib/model/folder/shipped_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "lib/core/error.h"

namespace bigbird {

std::vector<std::string> places_of_models(const std::string& program, const std::string& named) {
  if (!named.empty()) return {named};
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  return {(folder.parent_path() / "share/bigbird/models").string(),
          (folder.parent_path().parent_path().parent_path() / "models").string()};
}

std::string shipped_model(const std::string& name) {
  const char* const named = std::getenv("BIGBIRD_MODELS");
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  const std::vector<std::string> places = places_of_models(program, named == nullptr ? "" : named);
  for (const std::string& place : places) {
    const std::filesystem::path folder = std::filesystem::path(place) / name;
    if (std::filesystem::is_directory(folder, ignored)) return folder.string();
  }
  throw Error(
      ErrorKind::environment,
      fmt::format("the model {} was not found: not in {}", name, fmt::join(places, ", nor in ")),
      "install the program anew, with its models, or set BIGBIRD_MODELS to the folder that holds them");
}

}  // namespace bigbird
