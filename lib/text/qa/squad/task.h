// SQuAD, and every question about one text: a file of them (question_task.h), or one that is answered at
// once, by a model of triviaqa too.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/text/qa/predict.h"
#include "lib/text/qa/squad/questions.h"

namespace bigbird {

struct SquadAnswer {
  std::optional<DecodedAnswer> decoded;  // of run_qa
  std::vector<ScoredAnswer> scored;      // of the pipeline, best first

  // The answer; empty: none.
  const std::string& text() const;
  const TextSpan& span() const;  // code points of the context
  double probability() const;
};

// The decoding that the options ask for. Error{usage} for settings out of range, or of the other decoding.
class SquadDecoder {
 public:
  explicit SquadDecoder(const QuestionPredictionOptions& options);

  SquadAnswer decode(const QuestionExample& question, const QuestionWindows& encoded,
                     const std::vector<InputLogits>& logits) const;
  RunIdentity identity() const;

 private:
  bool pipeline_;
  SpanDecoding decoding_;
};

// {id: [{"start_logit", "end_logit", "text", "probability", "start", "end"}]}, best first; start and end are
// code points of the context and not in run_qa's files; candidates of the pipeline have no logits.
AnswerEntry candidates_entry(const std::string& id, const SquadAnswer& answer);
// {id: score of the empty answer minus that of the best other}.
AnswerEntry null_odds_entry(const std::string& id, float odds);

// One question about one text, at once, by a model with the head of squad.
SquadAnswer answer_question(const QuestionPredictionOptions& options, const std::string& question,
                            const std::string& context, kernels::Backend& backend);

}  // namespace bigbird
