// Fine-tuning a pretrained encoder to answer questions (BigBird sections 4 and E.2): from options to
// RUN/final. What is trained on is in training_data.h. transformers loads models of squad and triviaqa too;
// the heads of the other formats are none of its own, and it says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/tasks/text/qa/answer_samples.h"
#include "lib/tasks/text/qa/question_format.h"
#include "lib/tasks/text/qa/training_data.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// The batches of the paper's base models (table 12: 32, 128 for nq, 64 for wikihop). It gives no rates and
// epochs of these: they are the first ones of its large models (table 13). squad, which the paper has no
// table for, has the batch of HotpotQA and TriviaQA, and 3e-5 and 3, those of BERT.
RunOptions question_answering_defaults(QuestionFormat format = QuestionFormat::squad);

struct QuestionFinetuneOptions : RunOptions {
  QuestionFinetuneOptions() : RunOptions(question_answering_defaults()) {}

  QuestionFormat format = QuestionFormat::squad;
  std::string train;
  std::string valid;       // may be empty
  WindowChoice windows;    // beside RunOptions::length
  bool version_2 = false;  // squad: questions may have no answer
  bool replace_invalid = false;
  TextEncodingOptions encoding;
  // As in AnswerReading (training_data.h). The validation side keeps all windows without an answer.
  std::string evidence;
  TriviaDomain domain = TriviaDomain::wikipedia;
  std::size_t max_windows = usual_document_windows;
  double keep_null = 1;
  // Instead of the model's own; the plan is random mode file's, and goes into the folders of the run.
  std::optional<RandomMode> random_mode;
  std::shared_ptr<const PlanTable> plan;
};

// Samples of a training side, as the batch counts them. All are referred to and must outlive the task;
// `valid` may be null.
SampleTask answer_task(const RunOptions& options, const ModelConfig& config, const AnswerTrainingData& train,
                       const AnswerTrainingData* valid);

// Each input is padded to its own multiple of the block size, so that nothing depends on its neighbours. The
// folders get text.json. Errors as run_training(), read_training_data() and ModelFolder; {bad_input} for a
// model of DNA; {usage} for settings out of range, and for triviaqa without `evidence`.
TrainingSummary question_finetune(const QuestionFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
