// The names of an enumeration's values, one table each: what files store and what users type.
//
//   constexpr std::array<std::pair<NormType, const char*>, 2> norm_names{
//       {{NormType::postnorm, "postnorm"}, {NormType::prenorm, "prenorm"}}};
//   find_name(norm_names, norm)                "postnorm"
//   parse_name(norm_names, text, "norm type")  Error{usage} that lists the names
#pragma once

#include <string>

#include "lib/core/error.h"

namespace bigbird {

// Every value has a row in its table; one without is a defect of the program.
template <typename Table, typename Value>
std::string find_name(const Table& table, Value value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) return name;
  }
  throw_runtime("a value without a name");
}

// "'x' is no WHAT" as Error{usage}, with all the names as hint.
template <typename Table>
auto parse_name(const Table& table, const std::string& name, const std::string& what) {
  std::string known;
  for (const auto& [entry, entry_name] : table) {
    if (name == entry_name) return entry;
    known += known.empty() ? "" : ", ";
    known += entry_name;
  }
  throw_usage("'" + name + "' is no " + what, "one of: " + known);
}

}  // namespace bigbird
