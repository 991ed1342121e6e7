// Files of questions to files of predictions, in the form that the data set's own script reads: what `text qa
// predict` does with the formats beside squad (predict.h). In chunks (lib/parts/chunked_outputs.h); a file
// appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/backend.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/tasks/text/qa/predictor.h"
#include "lib/tasks/text/qa/triviaqa_reader.h"

namespace bigbird {

struct DataSetPredictionOptions {
  std::string input;
  std::string output;  // - is stdout
  bool replace_invalid = false;
  std::string evidence;  // triviaqa
  TriviaDomain domain = TriviaDomain::wikipedia;
  std::optional<std::size_t> max_answer;
  std::optional<std::size_t> n_best;        // hotpotqa
  std::optional<double> support_threshold;  // hotpotqa
  ChunkedWork work;
};

// Answers the questions that are neither another shard's nor were finished before; how many they are.
// Error{bad_input} for a file without questions; errors as the readers, predictors and ChunkedOutputs.
std::uint64_t predict_data_set(QuestionFormat format, const DataSetPredictionOptions& options,
                               const AnswerPredictorOptions& model, kernels::Backend& backend);

}  // namespace bigbird
