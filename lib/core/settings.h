// The settings that messages name, and how their user knows them.
//
//   throw_usage(message("`batch` {}: must be at least 1", batch), "the usual values are 32 to 256");
//
// lib calls a setting by its field, in backticks, and knows no command line. A program tells once what its
// user calls them (set_setting_names(): --batch); a message has these words from the moment it is made, as
// gettext has it with languages. Until then it has the fields.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace bigbird {

constexpr bool is_setting(std::string_view word) {
#define BIGBIRD_SETTING(name) \
  if (word == #name) return true;
#include "lib/core/settings.inc"
#undef BIGBIRD_SETTING
  return false;
}

// A single lower-case word in backticks is a setting ("`clip_norm`"); "`bigbird check`" is a command. In
// `text` from `at` on: its place with the backticks, and size 0 where there is none.
struct SettingPlace {
  std::size_t begin;
  std::size_t size;
};
constexpr SettingPlace next_setting(std::string_view text, std::size_t at) {
  while (true) {
    const std::size_t open = text.find('`', at);
    const std::size_t close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return {text.size(), 0};
    const std::string_view word = text.substr(open + 1, close - open - 1);
    if (!word.empty() && word.front() >= 'a' && word.front() <= 'z' &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == word.npos) {
      return {open, close + 1 - open};
    }
    at = close + 1;
  }
}

void no_such_setting_in_settings_inc();  // what the compiler says of one that is misspelt

// A text that stands in the program, for message(): does not compile where it names a setting that
// settings.inc does not have, or where fmt could not format it.
template <typename... Args>
struct MessageFormat {
  template <std::size_t size>
  consteval MessageFormat(const char (&literal)[size]) : text(literal), format(literal) {
    for (SettingPlace at = next_setting(text, 0); at.size > 0; at = next_setting(text, at.begin + at.size)) {
      if (!is_setting(text.substr(at.begin + 1, at.size - 2))) no_such_setting_in_settings_inc();
    }
  }
  std::string_view text;
  fmt::format_string<Args...> format;
};

// The literal, formatted as fmt::format does, with the words of the user for the settings that it names.
// Whatever the arguments hold stays as it is.
std::string format_message(std::string_view text, fmt::format_args args);
template <typename... Args>
std::string message(MessageFormat<std::type_identity_t<Args>...> text, Args&&... args) {
  return format_message(text.text, fmt::make_format_args(args...));
}

// The user's word for a field whose name is a value of the program's.
std::string setting_name(std::string_view field);

// Whoever runs the library says what its user calls the fields; nothing takes it back. Before any work
// starts.
void set_setting_names(std::function<std::string(std::string_view)> names);

}  // namespace bigbird
