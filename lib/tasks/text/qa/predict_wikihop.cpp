// WikiHop through a model; see predict_wikihop.h.
#include "lib/tasks/text/qa/predict_wikihop.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/tasks/text/qa/finite_logits.h"

namespace bigbird {

std::size_t best_candidate(std::span<const std::vector<float>> windows, std::size_t candidates,
                           const std::string& where) {
  std::vector<double> sums(candidates, 0.0);
  for (const std::vector<float>& logits : windows) {
    require_finite_logits({logits}, candidates, where);
    for (std::size_t i = 0; i < candidates; ++i) sums[i] += static_cast<double>(logits[i]);
  }
  return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

WikiHopPredictor::WikiHopPredictor(const AnswerPredictorOptions& options, kernels::Backend& backend)
    : AnswerPredictor(QuestionFormat::wikihop, options, backend),
      encoder_(tokenizer(), settings().encoding) {}

void WikiHopPredictor::add(WikiHopExample example,
                           std::function<void(const std::string&, const std::string&)> done) {
  struct Pending {
    WikiHopExample example;
    std::vector<std::size_t> marks;
    std::size_t inputs = 0;
    std::vector<std::vector<float>> logits;  // of the inputs that have run
    std::function<void(const std::string&, const std::string&)> done;
  };
  const auto pending = std::make_shared<Pending>();
  pending->example = std::move(example);
  pending->done = std::move(done);
  const WikiHopInputs encoded = encoder_.encode(pending->example, windows().length, &unknown());
  count_question(false);
  pending->marks = encoded.candidate_marks;
  pending->inputs = encoded.windows.size();
  for (const WikiHopInput& input : encoded.windows) {
    run(input.ids, input.types, [pending](const SequenceResult& result) {
      std::vector<float>& logits = pending->logits.emplace_back();
      for (const std::size_t mark : pending->marks) logits.push_back(result.token_logits.at(0)[mark]);
      if (pending->logits.size() < pending->inputs) return;
      const WikiHopExample& question = pending->example;
      const std::size_t best = best_candidate(pending->logits, question.candidates.size(), question.where);
      pending->done(question.id, question.candidates[best]);
    });
  }
}

}  // namespace bigbird
