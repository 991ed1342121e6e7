// What is looked at of classes of texts and of answers: the confusion table of a classifier as a picture;
// answers in their context, as one HTML page that needs nothing else: no script, no picture, no font.
#pragma once

#include <string>
#include <vector>

#include "lib/text/classify/evaluate.h"
#include "lib/text/qa/evaluate.h"

namespace bigbird {

// SVG: a row for each gold class, a column for each predicted one, shaded by the fraction of the row, with
// counts.
// Error{bad_input} where texts have several labels or numbers, or more than 100 classes.
std::string confusion_svg(const ScoredTexts& scored);

// The answers of `evaluation.worst`, in their order, below the metrics: question, prediction, gold answers,
// and the passages with both marked. Long passages are cut to what stands around the marks. `title` opens the
// page: the name of the predictions.
std::string answers_html(const AnswerEvaluation& evaluation, const std::string& title);

}  // namespace bigbird
