// Where the models lie that come with the program; see shipped_models.h.
#include "lib/model_folder/shipped_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

namespace {

std::vector<std::string> places_here() {
  const char* const named = std::getenv("BIGBIRD_MODELS");
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return places_of_models(program, named == nullptr ? "" : named);
}

}  // namespace

std::optional<std::string> find_shipped_model(const std::string& name) {
  const std::filesystem::path relative(name);
  const bool leads_out =
      relative.is_absolute() || std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (name.empty() || leads_out) return std::nullopt;
  std::error_code ignored;
  for (const std::string& place : places_here()) {
    const std::filesystem::path folder = std::filesystem::path(place) / relative;
    if (std::filesystem::is_directory(folder, ignored)) return folder.string();
  }
  return std::nullopt;
}

std::string shipped_model(const std::string& name) {
  if (const std::optional<std::string> folder = find_shipped_model(name)) return *folder;
  throw Error(
      ErrorKind::environment,
      fmt::format("the model {} was not found: not in {}", name, fmt::join(places_here(), ", nor in ")),
      "install the program anew, with its models, or set BIGBIRD_MODELS to the folder that holds them");
}

}  // namespace bigbird
