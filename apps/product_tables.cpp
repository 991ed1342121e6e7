// See product_tables.h.
#include "apps/product_tables.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "lib/core/environment.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"

namespace bigbird::apps {
namespace {

namespace fs = std::filesystem;

// "NVIDIA H200" as a part of a file's name: "nvidia-h200".
std::string name_part(const std::string& text) {
  std::string part;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0 || letter == '.') {
      part += static_cast<char>(std::tolower(byte));
    } else if (!part.empty() && part.back() != '-') {
      part += '-';
    }
  }
  return part;
}

bool is_of(const kernels::ProductTable& table, const std::string& device, const std::string& library) {
  return table.device == device && table.library == library;
}

}  // namespace

std::string product_table_path(const std::string& device, const std::string& library) {
  const char* const named = std::getenv("BIGBIRD_PRODUCT_TABLE");
  if (named != nullptr && *named != '\0') return std::string_view(named) == "none" ? "" : named;
  const std::string folder = user_cache_folder([](const char* name) { return std::getenv(name); });
  if (folder.empty()) return {};
  return fmt::format("{}/products-{}-{}.tsv", folder, name_part(device), name_part(library));
}

kernels::ProductTable read_product_table(const std::string& device, const std::string& library) {
  const std::string path = product_table_path(device, library);
  std::error_code ignored;
  if (path.empty() || !fs::exists(path, ignored)) return {};
  // A table that the user has named is theirs to trust.
  const char* const named = std::getenv("BIGBIRD_PRODUCT_TABLE");
  if ((named == nullptr || *named == '\0') && !may_be_trusted(path)) {
    log_warning(path + ": written by another user, or everybody may write it: not used; cuBLASLt chooses");
    return {};
  }
  kernels::ProductTable table;
  try {
    table = kernels::parse_product_table(read_file(path));
  } catch (const std::invalid_argument& error) {
    throw_bad_input(path + ": " + error.what(),
                    "`bigbird devices --tune` measures it again; without the file cuBLASLt chooses");
  }
  if (is_of(table, device, library)) return table;
  log_warning(fmt::format("{}: measured on {} with {}, not on {} with {}: cuBLASLt chooses", path,
                          table.device, table.library, device, library));
  return {};
}

std::string write_product_table(const kernels::ProductTable& table) {
  const std::string path = product_table_path(table.device, table.library);
  if (path.empty())
    throw_environment("there is no folder for the table of products", "set HOME, or XDG_CACHE_HOME");
  kernels::ProductTable all = table;
  std::error_code error;
  if (fs::exists(path, error)) {
    try {
      const kernels::ProductTable before = kernels::parse_product_table(read_file(path));
      if (is_of(before, table.device, table.library))
        all.choices.insert(before.choices.begin(), before.choices.end());  // keeps what was measured now
    } catch (const std::invalid_argument& broken) {
      log_warning(fmt::format("{}: {}: written anew", path, broken.what()));
    }
  }
  fs::create_directories(fs::path(path).parent_path(), error);  // a failure is told by what opens the file
  OutputStream out(path);
  out.write(all.text());
  out.close();
  return path;
}

}  // namespace bigbird::apps
