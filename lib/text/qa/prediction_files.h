// Files of predictions as the official scripts of the data sets take them, read for scoring.
//
//   squad, triviaqa, wikihop   {id: text}
//   squad's null odds          {id: number}
//   hotpotqa                   {"answer": {id: text}, "sp": {id: [[title, n], ...]}}
//   nq                         {"predictions": [{"example_id", "long_answer": {...}, "long_answer_score",
//                              "short_answers": [{...}], "short_answers_score", "yes_no_answer"}]}
//
// Error{bad_input} "FILE:LINE:COLUMN: ...": what JsonRecords refuses; no object, or more behind it; an id
// twice; a value of another type, naming its id.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/metrics/metric_list.h"
#include "lib/metrics/natural_questions.h"
#include "lib/metrics/answer_metrics.h"

namespace bigbird {

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
