// TriviaQA as a data set of questions; see question_task.h.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/answer_samples.h"
#include "lib/text/qa/evaluate.h"
#include "lib/text/qa/predict.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/triviaqa/questions.h"
#include "lib/text/qa/triviaqa/two_inputs.h"
#include "lib/text/qa/windows.h"
#include "lib/text/text_settings.h"

namespace bigbird {
namespace {

constexpr std::size_t usual_document_answer = 16;  // words (BigBird, appendix E.2)

// A document: its windows compete together.
AnswerSample trivia_sample(const EncodedQuestion& encoded, const std::vector<ContextWindow>& windows,
                           const std::vector<TextSpan>& places, const SpecialIds& special,
                           const WindowGlobals& globals) {
  AnswerSample sample;
  sample.targets.resize(2);
  const std::size_t question = encoded.question.size();
  const std::vector<std::uint32_t> head = question_part(encoded.question, special.cls, special.sep);
  const std::size_t tokens = windows.back().first + windows.back().count;
  const auto first = encoded.context->ids.begin();
  const auto text =
      std::make_shared<const std::vector<std::uint32_t>>(first, first + static_cast<std::ptrdiff_t>(tokens));
  for (const ContextWindow& window : windows) {
    const auto number = static_cast<std::uint32_t>(sample.inputs.size());
    sample.inputs.push_back({head, text, window, special.sep});
    sample.inputs.back().globals = sentence_globals(question, *encoded.context, window, globals);
    const InputRows rows{number, static_cast<std::uint32_t>(context_position(question)),
                         static_cast<std::uint32_t>(window.count)};
    const PositionSets right = position_sets(*encoded.context, window, question, places);
    for (AnswerTarget& target : sample.targets) target.rows.push_back(rows);
    for (const std::size_t at : right.starts)
      sample.targets[0].right.emplace_back(number, static_cast<std::uint32_t>(at));
    for (const std::size_t at : right.ends)
      sample.targets[1].right.emplace_back(number, static_cast<std::uint32_t>(at));
  }
  return sample;
}

AnswerSamples trivia_samples(const std::string& path, const SampleOptions& options,
                             const Tokenizer& tokenizer) {
  TriviaReader reader(path, options);
  QuestionEncoder encoder(tokenizer, options.encoding, options.windows.max_question, options.globals > 0);
  const WindowGlobals globals = globals_of_windows(tokenizer, options.globals);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  for (TriviaDocument document; reader.next(document);) {
    throw_if_cancelled();
    const EncodedQuestion encoded = encoder.encode(document.question, &facts.unknown);
    std::vector<ContextWindow> windows = context_windows(encoded.question.size(), encoded.context->ids.size(),
                                                         options.windows, document.question.where);
    facts.cut_questions += encoded.question_was_cut ? 1U : 0U;
    if (windows.size() > options.max_windows) {
      facts.noted.add(message("windows beyond `max_windows`"), windows.size() - options.max_windows);
      windows.resize(options.max_windows);
    }
    AnswerSample sample = trivia_sample(encoded, windows, document.places, tokenizer.special(), globals);
    if (sample.targets[0].right.empty()) {
      facts.skipped.add(message("no name of the answer in the first `max_windows` windows"));
    } else {
      samples.add(std::move(sample));
    }
  }
  facts.questions = reader.questions();
  facts.skipped.add(reader.skipped());
  return samples;
}

// The best answers of the documents of a question compete.
class TriviaPredictor : public PredictorOf<TriviaQuestion, std::vector<QuestionWindows>> {
 public:
  TriviaPredictor(const QuestionPredictionOptions& options, QuestionModel& model)
      : PredictorOf(options, model, ChunkForm::json_object),
        max_answer_(
            check_words(options.max_answer.value_or(usual_document_answer), "the default is 16 words")),
        encoder_(model.tokenizer(), model.settings().encoding, model.windows().max_question,
                 model.globals() > 0),
        reader_(options.input, options) {}

  RunIdentity identity() const override {
    return {{"max_answer", std::to_string(max_answer_)},
            {"domain", options_.domain == TriviaDomain::web ? "web" : "wikipedia"}};
  }
  void say() const override {
    model_.say(options_.input);
    if (!reader_.skipped().empty()) log_warning(options_.input + ": left out: " + reader_.skipped().text());
  }

 protected:
  bool next(TriviaQuestion& question) override { return reader_.next(question); }
  void add_to(Sha256& digest, const TriviaQuestion& question) const override {
    for (const TriviaDocument& document : question) {
      add_to_digest(digest, document.question.id);
      add_to_digest(digest, document.question.question);
      add_to_digest(digest, *document.question.context);
    }
  }
  QuestionInputs encode(TriviaQuestion& question, std::vector<QuestionWindows>& encoded) override {
    QuestionInputs inputs;
    for (const TriviaDocument& document : question)
      encoded.push_back(encode_windows(document.question, encoder_, model_, inputs));
    return inputs;
  }
  std::vector<AnswerEntry> decode(const TriviaQuestion& question, const std::vector<QuestionWindows>& encoded,
                                  const std::vector<InputLogits>& logits) const override {
    if (model_.globals() > 0)
      return {text_entry(question.front().question.id, pooled(question, encoded, logits))};
    std::optional<DocumentAnswer> best;
    auto of_document = std::span(logits);
    for (std::size_t i = 0; i < question.size(); ++i) {
      const auto& [tokens, windows] = encoded[i];
      const std::optional<DocumentAnswer> answer =
          decode_trivia({question[i].question, *tokens.context, tokens.question.size()},
                        window_logits(windows, of_document), max_answer_);
      if (answer && (!best || answer->score > best->score)) best = answer;
      of_document = of_document.subspan(windows.size());
    }
    return {text_entry(question.front().question.id, best ? best->text : "")};
  }

 private:
  std::string pooled(const TriviaQuestion& question, const std::vector<QuestionWindows>& encoded,
                     const std::vector<InputLogits>& logits) const {
    std::vector<DecodedDocument> documents;
    auto of_document = std::span(logits);
    for (std::size_t i = 0; i < question.size(); ++i) {
      const auto& [tokens, windows] = encoded[i];
      documents.push_back({{question[i].question, *tokens.context, tokens.question.size()},
                           window_logits(windows, of_document)});
      of_document = of_document.subspan(windows.size());
    }
    const std::optional<PooledAnswer> answer = decode_trivia_pooled(documents, max_answer_);
    return answer ? answer->text : std::string();
  }

  std::size_t max_answer_;  // words
  QuestionEncoder encoder_;
  TriviaReader reader_;
};

// Which questions are scored shows at the end of the file, so that all are read first.
class TriviaScorer : public AnswerScorer {
 public:
  explicit TriviaScorer(const AnswerEvaluationOptions& options)
      : AnswerScorer(options),
        predictions_(read_answer_texts(options.predictions)),
        file_(read_trivia_gold(options.data, options.replace_invalid)),
        next_(options.worst > 0 ? 0 : file_.gold.size()) {}

  bool judge_next() override {
    if (next_ == file_.gold.size()) return false;
    const std::string& question = file_.questions[next_];
    const TriviaGold& gold = file_.gold[next_++];
    if (file_.verified_only && !gold.verified) return true;
    const std::optional<std::string> given = predicted_text(predictions_, gold.id);
    const AnswerScore score = given ? trivia_answer_score(*given, gold) : AnswerScore{};
    if (!worst_.wants(score.exact, score.f1)) return true;
    std::vector<std::string> answers = gold.normalized_aliases;
    answers.insert(answers.end(), gold.human_answers.begin(), gold.human_answers.end());
    worst_.add({gold.id, question, std::move(answers), given, score.exact, score.f1, {}});
    return true;
  }

  AnswerEvaluation scores() override {
    return evaluation(trivia_scores(file_.gold, predictions_, file_.verified_only));
  }

 private:
  AnswerTexts predictions_;
  TriviaGoldFile file_;
  std::size_t next_;  // of the gold
};

}  // namespace

const QuestionTask& triviaqa_task() {
  static const QuestionTask task{
      .name = "triviaqa",
      .settings = {"overlap", "step", "max_question", "max_answer", "evidence", "domain", "max_windows"},
      .chunk = 16,
      .samples = trivia_samples,
      .predictor = make_predictor<TriviaPredictor>,
      .scorer = make_scorer<TriviaScorer>};
  return task;
}

}  // namespace bigbird
