// JSON files whose entries have lines to themselves, as Python's json.dumps(indent=4) writes them and
// answer_files.h does: several of them as one, without parsing.
//
//   {                       frame[0], "{" and a line end; the entries, with "," and a line end between them;
//       "q1": "blue",       a line end and frame[1], "}" and a line end
//       "q2": "red"
//   }
//
// A file may hold several such sections, with another piece of the frame between two of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bigbird {

// Every piece is of whole lines, and none of its lines is one that an entry can have.
struct EntriesLayout {
  std::vector<std::string_view> frame;  // before, between and behind the sections: at least two
  std::string_view empty;               // the file without entries
  std::size_t sections() const { return frame.size() - 1; }
};

// How the texts of chunks become one text.
enum class ChunkForm {
  lines,                  // one behind the other, after a head ("##" lines and the names of columns) where
                          // there is one; the others are JSON with entries: one with all of them
  json_object,            // {id: ...}, as above
  json_predictions,       // {"predictions": [...]}, of Natural Questions
  json_answers_and_facts  // {"answer": {id: text}, "sp": {id: [...]}}, of HotpotQA: each question has a line
                          // in both sections
};
// Error{runtime} for lines, which have none.
const EntriesLayout& entries_layout(ChunkForm form);

// The entries of each section of such a file, without the comma and the line end behind the last; all empty
// for one without entries. Error{runtime} for a text that is none. Views into `text`.
std::vector<std::string_view> json_entries(std::string_view text, const EntriesLayout& layout);

// How many lines a section has, which is the same in all of them: Error{runtime}.
std::uint64_t json_entry_lines(std::string_view text, const EntriesLayout& layout);

// The entries of several files as one file. Those of the first section go out as they come; those of others
// wait in memory for finish().
class JsonEntriesJoiner {
 public:
  using Sink = std::function<void(std::string_view)>;
  // The layout must outlive it.
  JsonEntriesJoiner(const EntriesLayout& layout, Sink sink);

  // Whole entries of one section, or none; what stands behind the last, a comma or a line end, does not
  // matter.
  void add(std::size_t section, std::string_view entries);
  // Closes the file; once, after the last entry.
  void finish();

 private:
  const EntriesLayout& layout_;
  Sink sink_;
  bool any_ = false;
  std::vector<std::string> waiting_;  // of the sections behind the first
};

}  // namespace bigbird
