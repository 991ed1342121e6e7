// Natural Questions through a fine-tuned model, streamed in order: one page at a time is held, and those
// whose windows wait for their batch.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "lib/tasks/text/qa/decode_natural_questions.h"
#include "lib/tasks/text/qa/predictor.h"

namespace bigbird {

inline constexpr std::size_t usual_page_answer = 38;  // words (BigBird, appendix E.2)

class PagePredictor : public AnswerPredictor {
 public:
  // `max_answer`: words of a short answer.
  PagePredictor(const AnswerPredictorOptions& options, std::size_t max_answer, kernels::Backend& backend);

  std::map<std::string, std::string> identity() const override;
  // `done` is called once for the question, in the order of the calls of add, now or later.
  void add(PageQuestion example, std::function<void(const NqPrediction&)> done);

 private:
  std::size_t max_answer_;
  PageEncoder encoder_;
};

}  // namespace bigbird
