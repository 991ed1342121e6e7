// Natural Questions through a model; see predict_natural_questions.h.
#include "lib/tasks/text/qa/predict_natural_questions.h"

#include <memory>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/tasks/text/qa/answer_heads.h"

namespace bigbird {
namespace {

// The logits of one window, copied.
struct KeptPageLogits {
  std::vector<std::vector<float>> scores;
  std::vector<float> types;
};

// A page whose windows are under way.
struct PendingPage {
  PageQuestion example;
  EncodedPage page;
  std::vector<ContextWindow> windows;
  std::vector<KeptPageLogits> logits;  // of the windows that have run, in their order
  std::function<void(const NqPrediction&)> done;
};

NqPrediction decode_pending(const PendingPage& pending, std::size_t max_answer) {
  std::vector<PageLogits> windows;
  for (std::size_t i = 0; i < pending.windows.size(); ++i) {
    const auto& [scores, types] = pending.logits[i];
    windows.push_back({pending.windows[i], scores[page_short_start], scores[page_short_end],
                       scores[page_long_start], scores[page_long_end], types});
  }
  return decode_page(pending.example, pending.page, windows, max_answer);
}

}  // namespace

PagePredictor::PagePredictor(const AnswerPredictorOptions& options, std::size_t max_answer,
                             kernels::Backend& backend)
    : AnswerPredictor(QuestionFormat::natural_questions, options, backend),
      max_answer_(max_answer),
      encoder_(tokenizer(), settings().encoding, windows().max_question) {
  if (max_answer == 0) throw_usage("`max_answer` must be at least 1", "the default is 38 words");
}

std::map<std::string, std::string> PagePredictor::identity() const {
  std::map<std::string, std::string> identity = AnswerPredictor::identity();
  identity["max_answer"] = std::to_string(max_answer_);
  return identity;
}

void PagePredictor::add(PageQuestion example, std::function<void(const NqPrediction&)> done) {
  const auto pending = std::make_shared<PendingPage>();
  pending->done = std::move(done);
  pending->page = encoder_.encode(example, &unknown());
  // The words of the page have become pieces: what is held of a token are its bytes, and nothing of those
  // behind the last piece, so that pages that wait for their batch are small.
  for (PageToken& token : example.tokens) token.text = {};
  const auto& held = pending->page.tokens;
  example.tokens.resize(held.empty() ? 0 : held.back() + 1);
  example.tokens.shrink_to_fit();
  pending->example = std::move(example);
  const EncodedPage& page = pending->page;
  count_question(page.question_was_cut);
  pending->windows =
      context_windows(page.question.size(), page.pieces.ids.size(), windows(), pending->example.where);
  const SpecialIds& special = tokenizer().special();
  for (const ContextWindow& window : pending->windows) {
    std::vector<std::uint32_t> ids, types;
    append_input(page.question, page.pieces, window, special.cls, special.sep, ids, types);
    run(ids, types, [this, pending](const SequenceResult& result) {
      KeptPageLogits& kept = pending->logits.emplace_back();
      for (const auto& scores : result.token_logits) kept.scores.push_back(kept_logits(scores));
      kept.types = kept_logits(result.sequence_logits);
      if (pending->logits.size() == pending->windows.size())
        pending->done(decode_pending(*pending, max_answer_));
    });
  }
}

}  // namespace bigbird
