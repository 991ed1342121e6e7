// Questions through a fine-tuned model, streamed in order: windows, logits, answers. What `text qa predict`
// stands on. What comes out of a question is a function of the question, its context and the model alone: not
// of batch, threads or neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/folder/model_folder.h"
#include "lib/tasks/sequence_runner.h"
#include "lib/tasks/text/qa/decode.h"
#include "lib/tasks/text/qa/encode_question.h"
#include "lib/tasks/text/qa/example.h"
#include "lib/tasks/text/qa/question_format.h"
#include "lib/tasks/text/text_settings.h"

namespace bigbird {

// Whose rules choose the answers (decode.h).
enum class AnswerDecoding { run_qa, pipeline };

struct QuestionAnswererOptions {
  std::string model;        // folder with a question answering head and a tokenizer of text
  std::int64_t length = 0;  // most tokens of an input; 0: prediction_length()
  WindowChoice windows;
  AnswerDecoding decoding = AnswerDecoding::run_qa;
  // Candidates that are kept; default 20, of the pipeline 1 (its top_k, which its scores depend on).
  std::optional<std::size_t> n_best;
  std::optional<std::size_t> max_answer;  // tokens; default 30, of the pipeline 15
  bool version_2 = false;                 // there may be no answer
  double null_threshold = 0;              // of run_qa
  BatchSize batch;
};

// One question's answers, for the call.
struct AnsweredQuestion {
  const QuestionExample& example;
  // Of run_qa, else nullptr.
  const DecodedAnswer* decoded = nullptr;
  // Of the pipeline, best first; empty with `decoded`.
  const std::vector<ScoredAnswer>& scored;

  // The answer; empty: none.
  const std::string& text() const;
  const TextSpan& span() const;  // code points of the context
  double probability() const;
};

class QuestionAnswerer {
 public:
  // Error{bad_input}: as ModelFolder, for a model of DNA or without the head, for text.json of another task.
  // Error{usage}: settings that contradict each other, a length that the model does not take.
  QuestionAnswerer(const QuestionAnswererOptions& options, kernels::Backend& backend);
  ~QuestionAnswerer();
  QuestionAnswerer(const QuestionAnswerer&) = delete;
  QuestionAnswerer& operator=(const QuestionAnswerer&) = delete;

  const ModelFolder& folder() const { return folder_; }
  const TextSettings& settings() const { return settings_; }
  const WindowOptions& windows() const { return windows_; }
  // What the answers depend on besides the model, by the names of the settings.
  std::map<std::string, std::string> identity() const;
  std::uint64_t questions() const { return questions_; }
  // Inputs that were run.
  std::uint64_t inputs() const { return inputs_; }

  // `done` is called once for the question, in the order of the calls of add, now or later. Questions are
  // held until their last window has run: at most those of a batch, and the one at hand.
  void add(QuestionExample example, std::function<void(const AnsweredQuestion&)> done);
  void finish();

  // What a user should know of the questions of `path`, in the log.
  void say(const std::string& path) const;

 private:
  struct Pending;
  void decode(const Pending& pending) const;

  QuestionAnswererOptions options_;
  ModelFolder folder_;
  TextSettings settings_;
  WindowOptions windows_;
  std::size_t n_best_ = 0;
  std::size_t max_answer_ = 0;
  std::unique_ptr<QuestionEncoder> encoder_;
  std::unique_ptr<SequenceRunner> runner_;
  std::uint64_t questions_ = 0;
  std::uint64_t inputs_ = 0;
};

}  // namespace bigbird
