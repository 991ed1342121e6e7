// Answers in their context, as one HTML page that needs nothing beside it: no script, no picture, no font.
#pragma once

#include <string>
#include <vector>

#include "lib/text/qa/evaluate.h"

namespace bigbird {

// The answers of `evaluation.worst`, in their order, below the metrics: question, prediction, gold answers,
// and the passages with both marked. Long passages are cut to what stands around the marks. `title` opens the
// page: the name of the predictions.
std::string answers_html(const AnswerEvaluation& evaluation, const std::string& title);

}  // namespace bigbird
