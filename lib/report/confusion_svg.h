// The confusion table of a classifier as a picture.
#pragma once

#include <string>

#include "lib/text/classify/evaluate.h"

namespace bigbird {

// SVG: a row for each gold class, a column for each predicted one, shaded by the fraction of the row, with
// counts.
// Error{bad_input} where texts have several labels or numbers, or more than 100 classes.
std::string confusion_svg(const ScoredTexts& scored);

}  // namespace bigbird
