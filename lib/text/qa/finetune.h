// Fine-tuning a pretrained encoder to answer questions (BigBird sections 4 and E.2): from options to
// RUN/final. What is trained on is in answer_samples.h. transformers loads models of squad and triviaqa too;
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
#include "lib/text/qa/answer_samples.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/windows.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// The batches of the paper's base models (table 12: 32, 128 for nq, 64 for wikihop). It gives no rates and
// epochs of these: they are the first ones of its large models (table 13). squad, which the paper has no
// table for, has the batch of HotpotQA and TriviaQA, and 3e-5 and 3, those of BERT.
RunOptions question_answering_defaults(const QuestionTask& task = squad_task(),
                                       Recipe recipe = Recipe::standard);

// The validation side keeps all windows without an answer.
struct QuestionFinetuneOptions : RunOptions, SampleChoice {
  QuestionFinetuneOptions() : RunOptions(question_answering_defaults()) {}

  const QuestionTask* task = &squad_task();
  std::string train;
  std::string valid;     // may be empty
  WindowChoice windows;  // beside RunOptions::length
  // Instead of the model's own; the plan is random mode file's, and goes into the folders of the run.
  std::optional<RandomMode> random_mode;
  std::shared_ptr<const PlanTable> plan;
};

// Samples of a training side, as the batch counts them. All are referred to and must outlive the task;
// `valid` may be null.
SampleTask answer_task(const RunOptions& options, const ModelConfig& config, const AnswerSamples& train,
                       const AnswerSamples* valid);

// Each input is padded to its own multiple of the block size, so that nothing depends on its neighbours. The
// folders get text.json. Errors as run_training(), read_samples() and ModelFolder; {bad_input} for a
// model of DNA; {usage} for settings out of range, and for triviaqa without `evidence`.
TrainingSummary question_finetune(const QuestionFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
