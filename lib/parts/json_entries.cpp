// Entries of JSON files; see json_entries.h.
#include "lib/parts/json_entries.h"

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {
namespace {

std::uint64_t lines_in(std::string_view entries) {
  if (entries.empty()) return 0;
  return 1 + static_cast<std::uint64_t>(std::count(entries.begin(), entries.end(), '\n'));
}

// What stands before `end`, which is removed with it; the line end between them too.
std::string_view take_until(std::string_view& text, std::string_view end) {
  // The line end before `end` closes the last entry.
  for (std::size_t at = text.find(end); at != std::string_view::npos; at = text.find(end, at + 1)) {
    if (at == 0 || text[at - 1] != '\n') continue;
    const std::string_view before = text.substr(0, at - 1);
    text.remove_prefix(at + end.size());
    return before;
  }
  throw_runtime("a text that is joined to others is not JSON with entries in lines of their own");
}

}  // namespace

const EntriesLayout& entries_layout(ChunkForm form) {
  static const std::vector<EntriesLayout> layouts = {
      {{"{\n", "}\n"}, "{}\n"},
      {{"{\"predictions\": [\n", "]}\n"}, "{\"predictions\": []}\n"},
      {{"{\n    \"answer\": {\n", "    },\n    \"sp\": {\n", "    }\n}\n"},
       "{\n    \"answer\": {},\n    \"sp\": {}\n}\n"}};
  if (form == ChunkForm::lines) throw_runtime("lines are put one after the other, without a frame");
  return layouts.at(static_cast<std::size_t>(form) - 1);
}

std::vector<std::string_view> json_entries(std::string_view text, const EntriesLayout& layout) {
  std::vector<std::string_view> sections(layout.sections());
  if (text == layout.empty) return sections;
  if (!text.starts_with(layout.frame.front())) {
    throw_runtime("a text that is joined to others does not begin as it was written");
  }
  text.remove_prefix(layout.frame.front().size());
  for (std::size_t i = 0; i < sections.size(); ++i) sections[i] = take_until(text, layout.frame[i + 1]);
  if (!text.empty()) throw_runtime("a text that is joined to others goes on after its end");
  return sections;
}

std::uint64_t json_entry_lines(std::string_view text, const EntriesLayout& layout) {
  const std::vector<std::string_view> sections = json_entries(text, layout);
  const std::uint64_t lines = lines_in(sections.front());
  for (const std::string_view section : sections) {
    if (lines_in(section) != lines) throw_runtime("the sections of a text differ in their lines");
  }
  return lines;
}

JsonEntriesJoiner::JsonEntriesJoiner(const EntriesLayout& layout, Sink sink)
    : layout_(layout), sink_(std::move(sink)), waiting_(layout.sections() - 1) {}

void JsonEntriesJoiner::add(std::size_t section, std::string_view entries) {
  if (entries.ends_with('\n')) entries.remove_suffix(1);
  if (entries.ends_with(',')) entries.remove_suffix(1);
  if (entries.empty()) return;
  if (section > 0) {
    std::string& waiting = waiting_.at(section - 1);
    if (!waiting.empty()) waiting += ",\n";
    waiting += entries;
    return;
  }
  sink_(any_ ? ",\n" : layout_.frame.front());
  sink_(entries);
  any_ = true;
}

void JsonEntriesJoiner::finish() {
  if (!any_) return sink_(layout_.empty);
  for (std::size_t section = 0; section < layout_.sections(); ++section) {
    if (section > 0) sink_(waiting_[section - 1]);
    sink_("\n");
    sink_(layout_.frame[section + 1]);
  }
}

}  // namespace bigbird
