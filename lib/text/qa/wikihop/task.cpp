// WikiHop as a data set of questions; see question_task.h.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/log.h"
#include "lib/core/settings.h"
#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/answer_samples.h"
#include "lib/text/qa/evaluate.h"
#include "lib/text/qa/predict.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/wikihop/questions.h"
#include "lib/text/qa/wikihop/two_inputs.h"
#include "lib/text/text_settings.h"

namespace bigbird {
namespace {

// What the model reads of a question.
class WikiHopInputs {
 public:
  WikiHopInputs(const Tokenizer& tokenizer, const TextEncodingOptions& encoding, std::size_t length,
                std::size_t globals)
      : length_(length), globals_(globals) {
    if (globals_ > 0) {
      two_.emplace(tokenizer, encoding);
    } else {
      one_.emplace(tokenizer, encoding);
    }
  }
  EncodedWikiHop encode(const WikiHopQuestion& example, UnknownTally* unknown) const {
    if (one_) return one_->encode(example, length_, unknown);
    WikiHopLimits limits;
    limits.length = length_;
    limits.globals = globals_;
    return two_->encode(example, limits, unknown);
  }

 private:
  std::size_t length_, globals_;
  std::optional<WikiHopEncoder> one_;
  std::optional<WikiHopTwoInputs> two_;
};

AnswerSample wikihop_sample(const EncodedWikiHop& inputs, std::size_t answer) {
  AnswerSample sample;
  AnswerTarget& target = sample.targets.emplace_back();
  for (const QuestionInput& window : inputs.windows) {
    const auto number = static_cast<std::uint32_t>(sample.inputs.size());
    sample.inputs.push_back(split_input(window));
    target.of_globals = window.globals != nullptr;
    for (const std::size_t mark : inputs.candidate_marks)
      target.rows.push_back({number, static_cast<std::uint32_t>(mark), 1});
    target.right.emplace_back(number, static_cast<std::uint32_t>(inputs.candidate_marks.at(answer)));
  }
  target.parts = static_cast<std::int32_t>(sample.inputs.size());
  return sample;
}

AnswerSamples wikihop_samples(const std::string& path, const SampleOptions& options,
                              const Tokenizer& tokenizer) {
  WikiHopReader reader(path, options);
  const WikiHopInputs encoder(tokenizer, options.encoding, options.windows.length, options.globals);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  for (WikiHopQuestion question; reader.next(question);) {
    throw_if_cancelled();
    EncodedWikiHop inputs = encoder.encode(question, &facts.unknown);
    if (inputs.windows.size() > options.max_windows) {
      facts.noted.add(message("inputs beyond `max_windows`"), inputs.windows.size() - options.max_windows);
      inputs.windows.resize(options.max_windows);
    }
    samples.add(wikihop_sample(inputs, question.answer_candidate.value()));
    ++facts.questions;
  }
  facts.noted.add(reader.noted());
  return samples;
}

class WikiHopPredictor : public PredictorOf<WikiHopQuestion, EncodedWikiHop> {
 public:
  WikiHopPredictor(const QuestionPredictionOptions& options, QuestionModel& model)
      : PredictorOf(options, model, ChunkForm::json_object),
        encoder_(model.tokenizer(), model.settings().encoding, model.windows().length, model.globals()),
        reader_(options.input, options) {}

  void say() const override {
    model_.say(options_.input);
    if (!reader_.noted().empty()) log_info(fmt::format("{}: {}", options_.input, reader_.noted().text()));
  }

 protected:
  bool next(WikiHopQuestion& question) override { return reader_.next(question); }
  void add_to(Sha256& digest, const WikiHopQuestion& question) const override {
    add_to_digest(digest, question.id);
    add_to_digest(digest, question.query);
    add_to_digest(digest, question.candidates);
    add_to_digest(digest, question.supports);
  }
  QuestionInputs encode(WikiHopQuestion& question, EncodedWikiHop& encoded) override {
    encoded = encoder_.encode(question, model_.unknown());
    return {std::move(encoded.windows), false};
  }
  std::vector<AnswerEntry> decode(const WikiHopQuestion& question, const EncodedWikiHop& encoded,
                                  const std::vector<InputLogits>& logits) const override {
    std::vector<std::vector<float>> inputs;
    for (const InputLogits& input : logits) {
      std::vector<float>& of_candidates = inputs.emplace_back();
      for (const std::size_t mark : encoded.candidate_marks)
        of_candidates.push_back(
            (input.global_scores.empty() ? input.scores : input.global_scores).front()[mark]);
    }
    const std::size_t best = decode_wikihop(inputs, question.candidates.size(), question.where);
    return {text_entry(question.id, question.candidates[best])};
  }

 private:
  WikiHopInputs encoder_;
  WikiHopReader reader_;
};

class WikiHopScorer : public AnswerScorer {
 public:
  explicit WikiHopScorer(const AnswerEvaluationOptions& options)
      : AnswerScorer(options),
        predictions_(read_answer_texts(options.predictions)),
        reader_(options.data, {QuestionPurpose::evaluate, false, options.replace_invalid}) {}

  bool judge_next() override {
    WikiHopQuestion question;
    if (!reader_.next(question)) return false;
    gold_.push_back({question.id, question.answer, question.candidates});
    if (options_.worst == 0) return true;
    const std::optional<std::string> given = predicted_text(predictions_, question.id);
    AnswerTexts alone;
    if (given) alone.emplace(question.id, *given);
    const bool right =
        metric_value(wikihop_scores(std::span(&gold_.back(), 1), alone).metrics, "accuracy") == 1;
    if (!worst_.wants(right, right ? 1 : 0)) return true;
    JudgedAnswer judged{question.id, question.query, {question.answer}, given, right, right ? 1.0 : 0.0, {}};
    for (const std::string& support : question.supports) {
      const MarkedPassage passage{"", support, places_of(support, question.answer),
                                  places_of(support, given.value_or(""))};
      if (!passage.gold.empty() || !passage.predicted.empty()) judged.passages.push_back(passage);
    }
    worst_.add(std::move(judged));
    return true;
  }

  AnswerEvaluation scores() override {
    WikiHopScores result = wikihop_scores(gold_, predictions_);
    if (result.predictions_not_candidates > 0) {
      log_warning(fmt::format("{}: {} predictions are not candidates of their question: wrong",
                              options_.predictions, result.predictions_not_candidates));
    }
    return evaluation({std::move(result.metrics), std::move(result.ids)}, reader_.noted());
  }

 private:
  AnswerTexts predictions_;
  WikiHopReader reader_;
  std::vector<WikiHopGold> gold_;
};

}  // namespace

const QuestionTask& wikihop_task() {
  static const QuestionTask task{.name = "wikihop",
                                 .head = {HeadType::structured_answers, {{"candidate", true}}, {}},
                                 .settings = {"max_windows"},
                                 .batch = 64,
                                 .epochs = 5,
                                 .learning_rate = 2e-5,
                                 .samples = wikihop_samples,
                                 .predictor = make_predictor<WikiHopPredictor>,
                                 .scorer = make_scorer<WikiHopScorer>};
  return task;
}

}  // namespace bigbird
