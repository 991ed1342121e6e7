// HotpotQA as a data set of questions; see question_task.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/log.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/answer_samples.h"
#include "lib/text/qa/evaluate.h"
#include "lib/text/qa/hotpotqa/questions.h"
#include "lib/text/qa/hotpotqa/two_inputs.h"
#include "lib/text/qa/predict.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/text_settings.h"

namespace bigbird {
namespace {

constexpr const char* sentences_left_out = "sentences beyond the length";
constexpr const char* answer_left_out = "answers beyond the length";
constexpr const char* facts_left_out = "no supporting fact in the input";

AnswerSample hotpot_sample(const HotpotQuestion& question, const EncodedHotpot& input,
                           const HotpotLabel& label) {
  AnswerSample sample;
  sample.inputs.push_back(split_input(input));
  sample.type = static_cast<std::int32_t>(label.type);
  sample.targets.resize(3);
  const InputRows all{0, 0, static_cast<std::uint32_t>(input.ids.size())};
  sample.targets[hotpot_start] = {{all}, {{0, static_cast<std::uint32_t>(label.span.start)}}};
  sample.targets[hotpot_end] = {{all}, {{0, static_cast<std::uint32_t>(label.span.end)}}};
  AnswerTarget& support = sample.targets[hotpot_support];
  if (input.globals) {
    const std::vector<std::uint8_t> right = supporting_globals(question, input);
    support.of_globals = true;
    support.rows.push_back({0, 0, static_cast<std::uint32_t>(right.size())});
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (right[i] != 0) support.right.emplace_back(0, static_cast<std::uint32_t>(i));
    }
    return sample;
  }
  for (std::size_t i = 0; i < input.segments.size(); ++i) {
    if (!input.segments[i].sentence) continue;
    const auto mark = static_cast<std::uint32_t>(input.segments[i].mark);
    support.rows.push_back({0, mark, 1});
    if (label.supporting[i] != 0) support.right.emplace_back(0, mark);
  }
  return sample;
}

AnswerSamples hotpot_samples(const std::string& path, const SampleOptions& options,
                             const Tokenizer& tokenizer) {
  HotpotReader reader(path, options);
  const HotpotEncoder encoder(tokenizer, options.encoding, options.windows.max_question, options.globals);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  for (HotpotQuestion question; reader.next(question);) {
    throw_if_cancelled();
    const EncodedHotpot input = encoder.encode(question, options.windows.length, &facts.unknown);
    const HotpotLabel label = hotpot_label(question, input);
    facts.cut_questions += input.question_was_cut ? 1U : 0U;
    facts.noted.add(sentences_left_out, input.left_out);
    const bool is_cut = label.type == HotpotAnswerType::span && label.span.start == 0;
    ++facts.questions;
    AnswerSample sample = hotpot_sample(question, input, label);
    if (options.globals > 0 && (is_cut || sample.targets[hotpot_support].right.empty())) {
      // As etcmodel, which trains on no input without its answer.
      facts.skipped.add(is_cut ? answer_left_out : facts_left_out);
      continue;
    }
    if (is_cut) facts.noted.add(answer_left_out);
    samples.add(std::move(sample));
  }
  facts.skipped.add(reader.skipped());
  facts.noted.add(reader.noted());
  return samples;
}

class HotpotPredictor : public PredictorOf<HotpotQuestion, EncodedHotpot> {
 public:
  HotpotPredictor(const QuestionPredictionOptions& options, QuestionModel& model)
      : PredictorOf(options, model, ChunkForm::json_answers_and_facts),
        decoding_(hotpot_decoding(options.support_threshold, options.n_best, options.max_answer)),
        encoder_(model.tokenizer(), model.settings().encoding, model.windows().max_question, model.globals()),
        reader_(options.input, options) {}

  RunIdentity identity() const override {
    return {{"max_answer", std::to_string(decoding_.max_answer)},
            {"n_best", std::to_string(decoding_.n_best)},
            {"support_threshold", fmt::format("{}", decoding_.support_threshold)}};
  }
  void say() const override {
    model_.say(options_.input);
    if (left_out_ > 0) {
      log_warning(fmt::format("{}: {} sentences are beyond {} tokens and were not read", options_.input,
                              left_out_, model_.windows().length));
    }
  }

 protected:
  bool next(HotpotQuestion& question) override { return reader_.next(question); }
  void add_to(Sha256& digest, const HotpotQuestion& question) const override {
    add_to_digest(digest, question.id);
    add_to_digest(digest, question.question);
    for (const HotpotParagraph& paragraph : question.paragraphs) {
      add_to_digest(digest, paragraph.title);
      add_to_digest(digest, paragraph.sentences);
    }
  }
  QuestionInputs encode(HotpotQuestion& question, EncodedHotpot& encoded) override {
    encoded = encoder_.encode(question, model_.windows().length, model_.unknown());
    left_out_ += encoded.left_out;
    return {{encoded}, encoded.question_was_cut};
  }
  std::vector<AnswerEntry> decode(const HotpotQuestion& question, const EncodedHotpot& encoded,
                                  const std::vector<InputLogits>& logits) const override {
    const auto& [scores, global_scores, types] = logits.front();
    const auto& marks = encoded.globals ? global_scores : scores;
    const DecodedHotpot answer = decode_hotpot(
        question, encoded, {scores.at(hotpot_start), scores.at(hotpot_end), marks.at(hotpot_support), types},
        decoding_);
    return {hotpot_entry(question.id, answer)};
  }

 private:
  HotpotDecoding decoding_;
  HotpotEncoder encoder_;
  HotpotReader reader_;
  std::uint64_t left_out_ = 0;  // sentences
};

// A paragraph each: those that the gold facts or the predicted ones are of; their sentences as one text.
std::vector<MarkedPassage> hotpot_passages(const HotpotQuestion& example, const std::string& prediction,
                                           const std::vector<SupportingFact>& predicted_facts) {
  std::vector<MarkedPassage> passages;
  for (const HotpotParagraph& paragraph : example.paragraphs) {
    const auto is_of = [&](const SupportingFact& fact) { return fact.first == paragraph.title; };
    if (std::none_of(example.supporting_facts.begin(), example.supporting_facts.end(), is_of) &&
        std::none_of(predicted_facts.begin(), predicted_facts.end(), is_of))
      continue;
    MarkedPassage& passage = passages.emplace_back();
    passage.title = paragraph.title;
    for (const std::string& sentence : paragraph.sentences) passage.text += sentence;
    passage.gold = places_of(passage.text, example.answer);
    passage.predicted = places_of(passage.text, prediction);
  }
  return passages;
}

class HotpotScorer : public AnswerScorer {
 public:
  explicit HotpotScorer(const AnswerEvaluationOptions& options)
      : AnswerScorer(options),
        predictions_(read_hotpot_predictions(options.predictions)),
        reader_(options.data, {QuestionPurpose::evaluate, false, options.replace_invalid}) {}

  bool judge_next() override {
    HotpotQuestion question;
    if (!reader_.next(question)) return false;
    const std::optional<std::string> given = predicted_text(predictions_.answers, question.id);
    const HotpotScore score = given ? hotpot_answer_score(*given, question.answer) : HotpotScore{};
    if (worst_.wants(score.exact > 0, score.f1)) {
      const auto facts = predictions_.supporting_facts.find(question.id);
      worst_.add({question.id,
                  question.question,
                  {question.answer},
                  given,
                  score.exact > 0,
                  score.f1,
                  hotpot_passages(question, given.value_or(""),
                                  facts == predictions_.supporting_facts.end() ? std::vector<SupportingFact>{}
                                                                               : facts->second)});
    }
    gold_.push_back({question.id, question.answer, question.supporting_facts});
    return true;
  }

  AnswerEvaluation scores() override {
    HotpotScores result = hotpot_scores(gold_, predictions_);
    AnswerEvaluation scores =
        evaluation({std::move(result.metrics), std::move(result.answer_ids)}, reader_.noted());
    scores.ids.emplace_back("sp", std::move(result.fact_ids));
    return scores;
  }

 private:
  HotpotPredictions predictions_;
  HotpotReader reader_;
  std::vector<HotpotGold> gold_;
};

}  // namespace

const QuestionTask& hotpotqa_task() {
  static const QuestionTask task{.name = "hotpotqa",
                                 .head = {HeadType::structured_answers,
                                          {{"start", true}, {"end", true}, {"support", false}},
                                          {"span", "yes", "no"}},
                                 .settings = {"max_question", "max_answer", "n_best", "support_threshold"},
                                 .epochs = 5,
                                 .samples = hotpot_samples,
                                 .predictor = make_predictor<HotpotPredictor>,
                                 .scorer = make_scorer<HotpotScorer>};
  return task;
}

}  // namespace bigbird
