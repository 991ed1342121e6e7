// A file of questions in, files of their answers out (answer_files.h), in the order of the file: what `text
// qa predict` does. In chunks (lib/parts/chunked_outputs.h).
#pragma once

#include <string>

#include "kernels/backend.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/tasks/text/qa/answerer.h"

namespace bigbird {

struct QuestionPredictionOptions {
  std::string input;  // of SQuAD and its kin
  bool replace_invalid = false;
  std::string predictions = "-";                            // stdout
  std::string nbest;                                        // empty: not wanted
  std::string null_odds;                                    // the same
  kernels::Precision precision = kernels::Precision::fp32;  // of the answerer's backend
  ChunkedWork work;
};

// Answers the questions that are neither another shard's nor were finished before. Error{bad_input} as
// SquadReader, ChunkedOutputs, and for an input without questions.
void predict_answers(const QuestionPredictionOptions& options, QuestionAnswerer& answerer);

}  // namespace bigbird
