// TriviaQA through a model; see predict_triviaqa.h.
#include "lib/tasks/text/qa/predict_triviaqa.h"

#include <cmath>
#include <memory>
#include <utility>

#include "lib/core/error.h"

namespace bigbird {

// A document whose windows are under way.
struct TriviaPredictor::Pending {
  QuestionExample question;
  EncodedQuestion encoded;
  std::vector<ContextWindow> windows;
  std::vector<std::vector<float>> starts, ends;  // of the windows that have run, in their order
};

TriviaPredictor::TriviaPredictor(const AnswerPredictorOptions& options, std::size_t max_answer,
                                 kernels::Backend& backend, Done done)
    : AnswerPredictor(QuestionFormat::triviaqa, options, backend),
      max_answer_(max_answer),
      encoder_(tokenizer(), settings().encoding, windows().max_question),
      done_(std::move(done)) {
  if (max_answer == 0) throw_usage("`max_answer` must be at least 1", "the default is 16 words");
}

std::map<std::string, std::string> TriviaPredictor::identity() const {
  std::map<std::string, std::string> identity = AnswerPredictor::identity();
  identity["max_answer"] = std::to_string(max_answer_);
  return identity;
}

void TriviaPredictor::add(const TriviaExample& example) {
  const auto pending = std::make_shared<Pending>();
  pending->question = example.question;
  pending->encoded = encoder_.encode(example.question);
  const EncodedQuestion& encoded = pending->encoded;
  if (example.question.id != last_id_) count_question(encoded.question_was_cut());
  last_id_ = example.question.id;
  pending->windows = context_windows(encoded.question.size(), encoded.context->ids.size(), windows(),
                                     pending->question.where);
  const SpecialIds& special = tokenizer().special();
  for (const ContextWindow& window : pending->windows) {
    std::vector<std::uint32_t> ids, types;
    append_input(encoded.question, *encoded.context, window, special.cls, special.sep, ids, types);
    run(ids, types, [this, pending](const SequenceResult& result) {
      pending->starts.push_back(kept_logits(result.start_logits));
      pending->ends.push_back(kept_logits(result.end_logits));
      if (pending->starts.size() < pending->windows.size()) return;
      std::vector<WindowLogits> logits;
      for (std::size_t i = 0; i < pending->windows.size(); ++i)
        logits.push_back({pending->windows[i], pending->starts[i], pending->ends[i]});
      const EncodedQuestion& tokens = pending->encoded;
      take(pending->question.id, decode_document({pending->question, *tokens.context, tokens.question.size()},
                                                 logits, max_answer_));
    });
  }
}

void TriviaPredictor::take(const std::string& id, const std::optional<DocumentAnswer>& answer) {
  if (id_ && *id_ != id) close();
  id_ = id;
  if (!answer) return;
  if (scores_.empty() || answer->score > best_.score) best_ = *answer;
  scores_.push_back(answer->score);
}

void TriviaPredictor::close() {
  double sum = 0;
  for (const double score : scores_) sum += std::exp(score - best_.score);
  done_({*id_, best_.text, scores_.empty() ? 0 : 1 / sum});
  id_.reset();
  scores_.clear();
  best_ = {};
}

void TriviaPredictor::finish() {
  AnswerPredictor::finish();
  if (id_) close();
  last_id_.clear();
  unknown() = encoder_.unknown();
}

}  // namespace bigbird
