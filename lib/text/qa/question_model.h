// A fine-tuned model that answers questions: the folder and its head, inputs as they were in training, runs,
// and what a user should know in the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/sequence_runner.h"
#include "lib/model/folder/model_folder.h"
#include "lib/parts/side_file.h"
#include "lib/text/qa/encode_question.h"
#include "lib/text/qa/logits.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/windows.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird {

struct QuestionModelOptions {
  std::string model;        // folder with the head of the data set and a tokenizer of text
  std::int64_t length = 0;  // most tokens of an input; 0: prediction_length()
  WindowChoice windows;     // the rest as in training: prediction_windows()
  BatchSize batch;
};

// A question as inputs of the model.
struct QuestionInputs {
  std::vector<QuestionInput> inputs;  // at least one
  bool question_was_cut = false;
};

// What comes out of a question is a function of the question, its texts and the model alone: not of batch,
// threads or neighbours.
class QuestionModel {
 public:
  // Error{bad_input}: as ModelFolder, for a model of DNA or without the head, for text.json of another task.
  // Error{usage}: settings that contradict each other, a length that the model does not take.
  QuestionModel(const QuestionTask& task, const QuestionModelOptions& options, kernels::Backend& backend);

  const ModelFolder& folder() const { return folder_; }
  const Tokenizer& tokenizer() const { return folder_.tokenizer(); }
  const TextSettings& settings() const { return settings_; }
  const WindowOptions& windows() const { return windows_; }
  // Pieces that the vocabulary lacks; encoders count them.
  UnknownTally* unknown() { return &unknown_; }

  // What a run over a file depends on: the model, and how inputs are cut.
  RunIdentity identity() const;

  // The inputs of one question. `done` is called once, in the order of the calls of run, now or later, with
  // the logits of each; it is held until then. At most a batch of inputs waits, and those of the question at
  // hand.
  void run(const QuestionInputs& question, std::function<void(const std::vector<InputLogits>&)> done);
  // Runs what is left.
  void finish() { runner_->finish(); }

  std::uint64_t questions() const { return questions_; }
  // Inputs that were run.
  std::uint64_t inputs() const { return inputs_; }
  // In the log, of the questions of `path`: those that were cut, and unknown pieces.
  void say(const std::string& path) const;

 private:
  std::string name_;
  ModelFolder folder_;
  TextSettings settings_;
  WindowOptions windows_;
  kernels::Precision precision_;
  std::unique_ptr<SequenceRunner> runner_;
  UnknownTally unknown_;
  std::uint64_t questions_ = 0;
  std::uint64_t cut_questions_ = 0;
  std::uint64_t inputs_ = 0;
};

// A question about one text as the windows of its context.
struct QuestionWindows {
  EncodedQuestion question;
  std::vector<ContextWindow> windows;
};
// Encodes and cuts it as the model takes it, and appends the inputs.
QuestionWindows encode_windows(const QuestionExample& question, QuestionEncoder& encoder,
                               QuestionModel& model, QuestionInputs& inputs);

}  // namespace bigbird
