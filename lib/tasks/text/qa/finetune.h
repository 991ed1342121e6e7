// Fine-tuning a pretrained encoder to answer questions by stretches of a text (BigBird sections 4 and E.2):
// from options to RUN/final, which transformers loads too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/tasks/text/qa/question_format.h"
#include "lib/tasks/text/qa/training_questions.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// The batch of the paper's HotpotQA and TriviaQA runs (table 12, 32); the paper gives no rates and epochs of
// base models: 3e-5 and 3 are the ends of its large ones (table 13), and those of BERT on SQuAD.
RunOptions question_answering_defaults();

struct QuestionFinetuneOptions : RunOptions {
  QuestionFinetuneOptions() : RunOptions(question_answering_defaults()) {}

  QuestionFormat format = QuestionFormat::squad;
  std::string train;
  std::string valid;       // may be empty
  WindowChoice windows;    // beside RunOptions::length
  bool version_2 = false;  // questions may have no answer
  bool replace_invalid = false;
  TextEncodingOptions encoding;
};

// Windows of all training questions; every epoch visits each of them once, in an order that is a function of
// (seed, epoch).
class AnswerSpanTask : public TrainingTask {
 public:
  // All are referred to and must outlive the task; `valid` may be null.
  AnswerSpanTask(const RunOptions& options, const ModelConfig& config, const TrainingQuestions& train,
                 const TrainingQuestions* valid)
      : options_(options), config_(config), train_(train), valid_(valid) {}
  std::vector<Batch> batches(std::uint64_t step) const override;
  // Over all windows of the validation side.
  std::optional<LossSums> validate(Model& model) const override;

 private:
  const RunOptions& options_;
  const ModelConfig& config_;
  const TrainingQuestions& train_;
  const TrainingQuestions* valid_;
};

// Each input is padded to its own multiple of the block size, so that nothing depends on its neighbours. The
// folders get text.json. Errors as run_training(), read_training_questions() and ModelFolder; {bad_input} for
// a model of DNA; {usage} for a format without a head.
TrainingSummary question_finetune(const QuestionFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
