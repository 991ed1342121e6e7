// Questions through a fine-tuned model, streamed in order: windows, logits, answers. What `text qa predict`
// stands on for stretches of one text (the formats squad and, of one question at once, triviaqa).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/tasks/text/qa/decode.h"
#include "lib/tasks/text/qa/encode_question.h"
#include "lib/tasks/text/qa/example.h"
#include "lib/tasks/text/qa/predictor.h"

namespace bigbird {

// Whose rules choose the answers (decode.h).
enum class AnswerDecoding { run_qa, pipeline };

struct QuestionAnswererOptions : AnswerPredictorOptions {
  AnswerDecoding decoding = AnswerDecoding::run_qa;
  // Candidates that are kept; default 20, of the pipeline 1 (its top_k, which its scores depend on).
  std::optional<std::size_t> n_best;
  std::optional<std::size_t> max_answer;  // tokens; default 30, of the pipeline 15
  bool version_2 = false;                 // there may be no answer
  double null_threshold = 0;              // of run_qa
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

class QuestionAnswerer : public AnswerPredictor {
 public:
  // Errors as AnswerPredictor.
  QuestionAnswerer(const QuestionAnswererOptions& options, kernels::Backend& backend);

  std::map<std::string, std::string> identity() const override;

  // `done` is called once for the question, in the order of the calls of add, now or later.
  void add(QuestionExample example, std::function<void(const AnsweredQuestion&)> done);
  void finish() override;

 private:
  struct Pending;
  void decode(const Pending& pending) const;

  QuestionAnswererOptions options_;
  std::size_t n_best_ = 0;
  std::size_t max_answer_ = 0;
  QuestionEncoder encoder_;
};

}  // namespace bigbird
