// Questions of TriviaQA through a fine-tuned model, streamed in order. Documents that come one after another
// under one id compete (decode_triviaqa.h).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/tasks/text/qa/decode_triviaqa.h"
#include "lib/tasks/text/qa/encode_question.h"
#include "lib/tasks/text/qa/predictor.h"
#include "lib/tasks/text/qa/triviaqa_reader.h"

namespace bigbird {

inline constexpr std::size_t usual_document_answer = 16;  // words (BigBird, appendix E.2)

struct TriviaPrediction {
  std::string id;
  std::string text;
  double probability = 0;  // among the best answers of the documents
};

class TriviaPredictor : public AnswerPredictor {
 public:
  using Done = std::function<void(const TriviaPrediction&)>;
  // `max_answer`: words. `done` is called once for every id, in the order in which they come first.
  TriviaPredictor(const AnswerPredictorOptions& options, std::size_t max_answer, kernels::Backend& backend,
                  Done done);

  std::map<std::string, std::string> identity() const override;
  // Documents of one id follow each other.
  void add(const TriviaExample& example);
  void finish() override;

 private:
  struct Pending;
  void take(const std::string& id, const std::optional<DocumentAnswer>& answer);
  void close();

  std::size_t max_answer_;
  QuestionEncoder encoder_;
  Done done_;
  std::string last_id_;  // of add
  // The id whose documents come back from the model, their best answers' scores, and the best of these.
  std::optional<std::string> id_;
  std::vector<double> scores_;
  DocumentAnswer best_;
};

}  // namespace bigbird
