// JSON objects whose entries have lines to themselves, as Python's json.dumps(indent=4) writes them and
// AnswerFileWriter does: several of them as one, without parsing.
//
//   {                       "{" and a line end, the entries with "," and a line end between them,
//       "q1": "blue",       a line end and "}" and a line end; without entries "{}" and a line end
//       "q2": "red"
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace bigbird {

// The lines between the braces of such an object; empty for one without entries. Error{runtime} for a text
// that is none. A view into `object`.
std::string_view json_entries(std::string_view object);

// How many lines they are.
std::uint64_t json_entry_lines(std::string_view object);

class JsonEntriesJoiner {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit JsonEntriesJoiner(Sink sink) : sink_(std::move(sink)) {}

  // Whole entries, or none; what stands behind the last, a comma or a line end, does not matter.
  void add(std::string_view entries);
  // Closes the object; once, after the last entry.
  void finish();

 private:
  Sink sink_;
  bool any_ = false;
};

}  // namespace bigbird
