// What the predictors of all data sets of questions share: the folder and its head, the inputs as they were
// in training, the model, and what a user should know in the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/folder/model_folder.h"
#include "lib/tasks/sequence_runner.h"
#include "lib/tasks/text/qa/question_format.h"
#include "lib/tasks/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird {

struct AnswerPredictorOptions {
  std::string model;        // folder with the head of the format and a tokenizer of text
  std::int64_t length = 0;  // most tokens of an input; 0: prediction_length()
  WindowChoice windows;     // the rest as in training: prediction_windows()
  BatchSize batch;
};

// What comes out of a question is a function of the question, its texts and the model alone: not of batch,
// threads or neighbours. Questions are held until their last input has run: at most those of a batch, and the
// one at hand.
class AnswerPredictor {
 public:
  virtual ~AnswerPredictor();
  AnswerPredictor(const AnswerPredictor&) = delete;
  AnswerPredictor& operator=(const AnswerPredictor&) = delete;

  const ModelFolder& folder() const { return folder_; }
  const TextSettings& settings() const { return settings_; }
  const WindowOptions& windows() const { return windows_; }
  QuestionFormat format() const { return format_; }
  std::uint64_t questions() const { return questions_; }
  // Inputs that were run.
  std::uint64_t inputs() const { return inputs_; }

  // What the answers depend on besides the model, by the names of the settings.
  virtual std::map<std::string, std::string> identity() const;

  // Runs what is left.
  virtual void finish();
  // What a user should know of the questions of `path`, in the log.
  virtual void say(const std::string& path) const;

 protected:
  // Error{bad_input}: as ModelFolder, for a model of DNA or without the format's head, for text.json of
  // another task. Error{usage}: settings that contradict each other, a length that the model does not take.
  AnswerPredictor(QuestionFormat format, const AnswerPredictorOptions& options, kernels::Backend& backend);

  const Tokenizer& tokenizer() const { return folder_.tokenizer(); }
  // `result` is called once, in the order of the calls of run, now or later.
  void run(const std::vector<std::uint32_t>& ids, const std::vector<std::uint32_t>& types,
           std::function<void(const SequenceResult&)> result);
  void count_question(bool was_cut);
  UnknownTally& unknown() { return unknown_; }

 private:
  QuestionFormat format_;
  ModelFolder folder_;
  TextSettings settings_;
  WindowOptions windows_;
  std::unique_ptr<SequenceRunner> runner_;
  UnknownTally unknown_;
  std::uint64_t questions_ = 0;
  std::uint64_t cut_questions_ = 0;
  std::uint64_t inputs_ = 0;
};

// A copy of what a head gave one input: results live for a call alone.
inline std::vector<float> kept_logits(std::span<const float> logits) {
  return {logits.begin(), logits.end()};
}

}  // namespace bigbird
