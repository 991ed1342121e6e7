// The words of the user for settings; see settings.h.
#include "lib/core/settings.h"

#include <utility>

namespace bigbird {
namespace {

std::function<std::string(std::string_view)>& names_of_user() {
  static std::function<std::string(std::string_view)> names;
  return names;
}

}  // namespace

std::string format_message(std::string_view text, fmt::format_args args) {
  std::string format;
  std::size_t done = 0;
  for (SettingPlace at = next_setting(text, 0); at.size > 0; at = next_setting(text, done)) {
    format += text.substr(done, at.begin - done);
    format += setting_name(text.substr(at.begin + 1, at.size - 2));
    done = at.begin + at.size;
  }
  format += text.substr(done);
  return fmt::vformat(format, args);
}

std::string setting_name(std::string_view field) {
  return names_of_user() ? names_of_user()(field) : "`" + std::string(field) + "`";
}

void set_setting_names(std::function<std::string(std::string_view)> names) {
  names_of_user() = std::move(names);
}

}  // namespace bigbird
