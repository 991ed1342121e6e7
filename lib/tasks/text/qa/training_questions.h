// Questions with their answers as fine-tuning needs them: cut into windows, every window with the tokens of
// the answer, as prepare_train_features of Hugging Face's run_qa.py has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/tasks/reason_counts.h"
#include "lib/tasks/text/qa/answer_samples.h"
#include "lib/tasks/text/qa/squad_reader.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

// All windows of one side. Tokens of a context are held once, however many questions and windows are of it.
class TrainingQuestions : public AnswerTrainingData {
 public:
  // A sample is a window.
  std::size_t size() const override { return windows_.size(); }
  std::size_t inputs() const override { return windows_.size(); }
  std::int64_t most_inputs() const override { return 1; }
  std::size_t windows() const { return windows_.size(); }
  // Windows that hold the answer, and not [CLS] for its label.
  std::uint64_t answered_windows() const { return answered_windows_; }
  std::uint64_t questions() const override { return questions_; }
  std::uint64_t unanswerable() const override { return unanswerable_; }
  std::uint64_t cut_questions() const { return cut_questions_; }
  std::uint64_t outside() const { return outside_; }
  // In percent: the exact match of a model that puts every label right.
  double ceiling() const { return ceiling_; }
  // Questions that were left out, and what was read as it is.
  const ReasonCounts& skipped() const { return skipped_; }
  const ReasonCounts& noted() const { return noted_; }
  const UnknownTally& unknown() const { return unknown_; }
  // Tokens of the longest input.
  std::int64_t longest() const override { return longest_; }

  // Appends window number `index` with its label; `config` says how it is padded.
  void append(std::size_t index, const ModelConfig& config, Batch& batch) const override;
  // What was skipped, the ceiling of the labels, questions that were cut to `max_question` tokens, characters
  // that the vocabulary lacks.
  void say(const std::string& path) const override;

 private:
  friend TrainingQuestions read_training_questions(const std::string& path, const SquadOptions& options,
                                                   const Tokenizer& tokenizer,
                                                   const TextEncodingOptions& encoding,
                                                   const WindowOptions& windows);
  struct Window {
    std::uint32_t question = 0;
    ContextWindow window;
    SpanLabel label;
  };
  struct Question {
    std::vector<std::uint32_t> ids;
    std::shared_ptr<const std::vector<std::uint32_t>> context;
  };

  std::vector<Window> windows_;
  std::vector<Question> kept_;
  std::uint32_t cls_ = 0;
  std::uint32_t sep_ = 0;
  std::uint64_t questions_ = 0;
  std::uint64_t unanswerable_ = 0;
  std::uint64_t answered_windows_ = 0;
  std::uint64_t cut_questions_ = 0;
  std::size_t max_question_ = 0;
  std::uint64_t outside_ = 0;
  double ceiling_ = 100;
  std::int64_t longest_ = 0;
  ReasonCounts skipped_;
  ReasonCounts noted_;
  UnknownTally unknown_;
};

// Reads a file to its end. Error{bad_input}: what SquadReader refuses, no questions.
TrainingQuestions read_training_questions(const std::string& path, const SquadOptions& options,
                                          const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                                          const WindowOptions& windows);

}  // namespace bigbird
