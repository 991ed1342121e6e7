// Entries of JSON objects; see json_entries.h.
#include "lib/tasks/json_entries.h"

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::string_view object_begin = "{\n";
constexpr std::string_view object_end = "\n}\n";
constexpr std::string_view empty_object = "{}\n";

}  // namespace

std::string_view json_entries(std::string_view object) {
  if (object == empty_object) return {};
  if (object.size() < object_begin.size() + object_end.size() || !object.starts_with(object_begin) ||
      !object.ends_with(object_end)) {
    throw_runtime("a text that is joined to others is no JSON object with entries in lines of their own");
  }
  object.remove_prefix(object_begin.size());
  object.remove_suffix(object_end.size());
  return object;
}

std::uint64_t json_entry_lines(std::string_view object) {
  const std::string_view entries = json_entries(object);
  if (entries.empty()) return 0;
  return 1 + static_cast<std::uint64_t>(std::count(entries.begin(), entries.end(), '\n'));
}

void JsonEntriesJoiner::add(std::string_view entries) {
  if (entries.ends_with('\n')) entries.remove_suffix(1);
  if (entries.ends_with(',')) entries.remove_suffix(1);
  if (entries.empty()) return;
  sink_(any_ ? ",\n" : object_begin);
  sink_(entries);
  any_ = true;
}

void JsonEntriesJoiner::finish() {
  sink_(any_ ? object_end : empty_object);
}

}  // namespace bigbird
