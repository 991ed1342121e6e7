// lib/text/qa holds answers to questions, five data sets behind one interface: windows, labels, decoding,
// prediction, fine-tuning, evaluation. Answers are those of the official scripts.
//
// Files of answers, in the form of the data sets' own scripts: JSON with the entries of a question in lines
// of their own (lib/parts/json_entries.h), in the order of the input. Text is as Python's
// json.dumps(indent=4) writes it: four blanks of indentation, ASCII with \u escapes.
//
// Entries go out as they come, so that nothing but the answer at hand is held. What the bytes become - a file
// that appears whole or not at all - is the caller's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/parts/side_file.h"

namespace bigbird {

// What one question adds to a file: a text for each section of its form, without the comma and the line end
// behind it.
using AnswerEntry = std::vector<std::string>;

// '    "id": ' and the JSON of a value, whose own lines are indented as deep; `depth`: of the key.
std::string keyed_entry(const std::string& id, std::string_view json, int depth = 1);
// A string as JSON.
std::string json_string(const std::string& text);
// Of ChunkForm::json_object: {id: text}.
AnswerEntry text_entry(const std::string& id, const std::string& text);

class AnswerFile {
 public:
  using Sink = std::function<void(std::string_view)>;
  // A form of JSON.
  AnswerFile(ChunkForm form, Sink sink)
      : layout_(&entries_layout(form)), sink_(std::move(sink)), later_(layout_->sections()) {}

  // Sections behind the first wait in memory until finish().
  void add(const AnswerEntry& entry);
  // Closes the file; once, after the last answer.
  void finish();

 private:
  const EntriesLayout* layout_;
  Sink sink_;
  std::vector<std::string> later_;  // by section
  bool any_ = false;
};

}  // namespace bigbird
