// The names of an enumeration's values, one table each: what files store and what users type.
//
//   constexpr std::array<std::pair<NormType, const char*>, 2> norm_names{
//       {{NormType::postnorm, "postnorm"}, {NormType::prenorm, "prenorm"}}};
//   find_name(norm_names, norm)                "postnorm"
//   find_value(norm_names, text)               nothing for a text that is none of the names
//   parse_name(norm_names, text, "norm type")  Error{usage} that lists the names
#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "lib/core/error.h"

namespace bigbird {

// Every value has a row in its table; one without is a defect of the program.
template <typename Table, typename Value>
const char* find_name(const Table& table, Value value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) return name;
  }
  throw_runtime("a value without a name");
}

template <typename Table>
auto find_value(const Table& table, std::string_view name) {
  std::optional<std::remove_cvref_t<decltype(std::begin(table)->first)>> found;
  for (const auto& [entry, entry_name] : table) {
    if (name == entry_name) found = entry;
  }
  return found;
}

// "'x' is not a WHAT" as Error{usage}, with all the names as hint.
template <typename Table>
auto parse_name(const Table& table, std::string_view name, const std::string& what) {
  if (const auto found = find_value(table, name)) return *found;
  std::string known;
  for (const auto& [entry, entry_name] : table) {
    known += known.empty() ? "" : ", ";
    known += entry_name;
  }
  const bool vowel = std::string_view("aeiou").find(what.front()) != std::string_view::npos;
  throw_usage("'" + std::string(name) + (vowel ? "' is not an " : "' is not a ") + what, "one of: " + known);
}

}  // namespace bigbird
