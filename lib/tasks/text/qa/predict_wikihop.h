// Questions of WikiHop through a fine-tuned model, streamed in order. A candidate's logits are summed over
// the inputs of its question, as Longformer's wikihop.py does (its paper says that they are averaged, which
// ranks them alike); the first of the highest sum is the answer.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lib/tasks/text/qa/predictor.h"
#include "lib/tasks/text/qa/wikihop.h"

namespace bigbird {

// The number of the candidate: `windows` are the logits of the candidates' marks, [candidates] each.
// Error{runtime} with `where` where one is not finite.
std::size_t best_candidate(std::span<const std::vector<float>> windows, std::size_t candidates,
                           const std::string& where);

class WikiHopPredictor : public AnswerPredictor {
 public:
  WikiHopPredictor(const AnswerPredictorOptions& options, kernels::Backend& backend);

  // `done` is called once for the question with its id and the candidate as it is written there, in the order
  // of the calls of add, now or later.
  void add(WikiHopExample example, std::function<void(const std::string&, const std::string&)> done);

 private:
  WikiHopEncoder encoder_;
};

}  // namespace bigbird
