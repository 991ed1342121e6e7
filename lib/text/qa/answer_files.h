// lib/text/qa holds answers to questions, five data sets behind one interface: windows, labels, decoding,
// prediction, fine-tuning, evaluation. Answers are those of the official scripts.
//
// Files of answers, in the form of the data sets' own scripts, as they are written and as they are read for
// scoring:
//
//   squad, triviaqa, wikihop   {id: text}
//   squad's null odds          {id: number}
//   hotpotqa                   {"answer": {id: text}, "sp": {id: [[title, n], ...]}}
//   nq                         {"predictions": [{"example_id", "long_answer": {...}, "long_answer_score",
//                              "short_answers": [{...}], "short_answers_score", "yes_no_answer"}]}
//
// Written, the entries of a question stand in lines of their own (lib/parts/json_entries.h), in the order of
// the input. Text is as Python's json.dumps(indent=4) writes it: four blanks of indentation, ASCII with \u
// escapes. Entries go out as they come, so that nothing but the answer at hand is held. What the bytes become
// - a file that appears whole or not at all - is the caller's.
//
// Read, Error{bad_input} "FILE:LINE:COLUMN: ...": what JsonRecords refuses; no object, or more behind it; an
// id twice; a value of another type, naming its id.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/metrics/answer_metrics.h"
#include "lib/metrics/metric_list.h"
#include "lib/metrics/natural_questions.h"
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

AnswerTexts read_answer_texts(const std::string& path);
// That of one question; nothing where there is none.
std::optional<std::string> predicted_text(const AnswerTexts& predictions, const std::string& id);
// In the order of the file, which decides between equal ones.
NoAnswerScores read_null_odds(const std::string& path);
// A part that is missing is empty, as in the official script.
HotpotPredictions read_hotpot_predictions(const std::string& path);
// Streamed. Both forms of a span may leave out bytes or tokens: -1 then.
std::vector<NqPrediction> read_nq_predictions(const std::string& path);

}  // namespace bigbird
