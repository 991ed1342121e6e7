// Files of questions to files of predictions, in the form that the data set's own script reads: what `text qa
// predict` does with the formats beside squad. A file appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/backend.h"
#include "lib/tasks/text/qa/predictor.h"
#include "lib/tasks/text/qa/triviaqa_reader.h"

namespace bigbird::apps {

struct QuestionFile {
  std::string input;
  std::string output;  // - is stdout
  bool replace_invalid = false;
  std::string evidence;  // triviaqa
  TriviaDomain domain = TriviaDomain::wikipedia;
  std::optional<std::size_t> max_answer;
  std::optional<std::size_t> n_best;        // hotpotqa
  std::optional<double> support_threshold;  // hotpotqa
};

// The number of questions that were answered. Error{bad_input} for a file without any; errors as the readers
// and predictors.
std::uint64_t predict_question_file(QuestionFormat format, const QuestionFile& file,
                                    const AnswerPredictorOptions& options, kernels::Backend& backend);

}  // namespace bigbird::apps
