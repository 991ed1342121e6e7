// SQuAD as a data set of questions; see task.h and question_task.h.
#include "lib/text/qa/squad/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/answer_samples.h"
#include "lib/text/qa/evaluate.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/squad/questions.h"
#include "lib/text/text_settings.h"

namespace bigbird {
namespace {

constexpr std::size_t usual_candidates = 20;
constexpr std::size_t usual_answer = 30;
constexpr std::size_t usual_answer_of_the_pipeline = 15;
constexpr double squad2_threshold = 1.0;  // na-prob-thresh of evaluate-v2.0.py

const std::string no_answer_text;
const TextSpan no_answer_span;

// Windows with the tokens of the answer, as prepare_train_features of Hugging Face's run_qa.py has them.
// Tokens of a context are held once, however many questions and windows are of it.
AnswerSamples squad_samples(const std::string& path, const SampleOptions& options,
                            const Tokenizer& tokenizer) {
  SquadReader reader(path, options);
  QuestionEncoder encoder(tokenizer, options.encoding, options.windows.max_question, options.globals > 0);
  const SpecialIds& special = tokenizer.special();
  const WindowGlobals globals = globals_of_windows(tokenizer, options.globals);
  LabelCeiling ceiling;
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  std::uint64_t answered_windows = 0;
  std::shared_ptr<const ContextTokens> last_context;
  std::shared_ptr<const std::vector<std::uint32_t>> last_ids;
  for (QuestionExample example; reader.next(example);) {
    throw_if_cancelled();
    const EncodedQuestion encoded = encoder.encode(example, &facts.unknown);
    const std::size_t question = encoded.question.size();
    const std::vector<ContextWindow> windows =
        context_windows(question, encoded.context->ids.size(), options.windows, example.where);
    facts.cut_questions += encoded.question_was_cut ? 1U : 0U;
    if (encoded.context != last_context) {
      last_context = encoded.context;
      last_ids = std::make_shared<const std::vector<std::uint32_t>>(last_context->ids);
    }
    if (example.answers.empty()) {
      ceiling.add_unanswerable();
      ++facts.unanswerable;
    } else {
      ceiling.add(example, encoded, windows);
    }
    for (const ContextWindow& window : windows) {
      SpanLabel label;
      if (!example.answers.empty())
        label = span_label(*encoded.context, window, question, example.answers.front().span);
      answered_windows += label.start > 0 ? 1U : 0U;
      AnswerSample sample;
      sample.inputs.push_back(
          {question_part(encoded.question, special.cls, special.sep), last_ids, window, special.sep});
      sample.inputs.back().globals = sentence_globals(question, *encoded.context, window, globals);
      sample.span = label;
      samples.add(std::move(sample));
    }
  }
  facts.questions = ceiling.questions();
  facts.skipped = reader.skipped();
  facts.noted = reader.noted();
  facts.skipped_name = "questions ";
  facts.more = fmt::format(
      " in {} windows, {} of them with the answer; labels that are all right would give an exact match of "
      "{:.2f}",
      samples.size(), answered_windows, ceiling.exact_match());
  if (ceiling.outside() > 0) {
    facts.warning =
        message("{} answers are in no window whole; a larger `overlap` keeps them", ceiling.outside());
  }
  return samples;
}

// A value as Python's json.dumps(indent=4) has it.
std::string squad_json(const nlohmann::ordered_json& value) {
  return value.dump(4, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

class SquadPredictor : public PredictorOf<QuestionExample, QuestionWindows> {
 public:
  SquadPredictor(const QuestionPredictionOptions& options, QuestionModel& model)
      : PredictorOf(options, model, ChunkForm::json_object),
        decoder_(options),
        encoder_(model.tokenizer(), model.settings().encoding, model.windows().max_question,
                 model.globals() > 0),
        reader_(options.input, options) {}

  // {id: text}; {id: [candidate]}; {id: score of the empty answer minus that of the best other}.
  std::vector<ChunkedOutput> outputs() const override {
    std::vector<ChunkedOutput> files;
    const auto add = [&](const std::string& path, const char* kind) {
      if (!path.empty()) files.push_back({path, kind, ChunkForm::json_object});
    };
    add(options_.output, "predictions");
    add(options_.nbest, "nbest");
    add(options_.null_odds, "null odds");
    return files;
  }
  RunIdentity identity() const override { return decoder_.identity(); }
  void say() const override {
    if (!reader_.noted().empty()) log_info(fmt::format("{}: {}", options_.input, reader_.noted().text()));
    model_.say(options_.input);
  }

 protected:
  bool next(QuestionExample& question) override { return reader_.next(question); }
  void add_to(Sha256& digest, const QuestionExample& question) const override {
    add_to_digest(digest, question.id);
    add_to_digest(digest, question.question);
    add_to_digest(digest, *question.context);
  }
  QuestionInputs encode(QuestionExample& question, QuestionWindows& encoded) override {
    QuestionInputs inputs;
    encoded = encode_windows(question, encoder_, model_, inputs);
    return inputs;
  }
  std::vector<AnswerEntry> decode(const QuestionExample& question, const QuestionWindows& encoded,
                                  const std::vector<InputLogits>& logits) const override {
    const SquadAnswer answer = decoder_.decode(question, encoded, logits);
    std::vector<AnswerEntry> entries;
    if (!options_.output.empty()) entries.push_back(text_entry(question.id, answer.text()));
    if (!options_.nbest.empty()) entries.push_back(candidates_entry(question.id, answer));
    if (!options_.null_odds.empty())
      entries.push_back(null_odds_entry(question.id, answer.decoded.value().null_odds));
    return entries;
  }

 private:
  SquadDecoder decoder_;
  QuestionEncoder encoder_;
  SquadReader reader_;
};

MarkedPassage squad_passage(const QuestionExample& example, const std::string& prediction) {
  MarkedPassage passage;
  passage.text = *example.context;
  const CodePointIndex index(passage.text);
  for (const GoldAnswer& answer : example.answers) {
    const TextSpan& span = answer.span;
    if (span.begin < span.end && span.end <= index.size() &&
        std::find(passage.gold.begin(), passage.gold.end(), span) == passage.gold.end())
      passage.gold.push_back(span);
  }
  passage.predicted = place_of(passage.text, prediction, passage.gold.empty() ? 0 : passage.gold[0].begin);
  return passage;
}

// Which version it is shows at the end: until then what is worst is kept for both.
class SquadScorer : public AnswerScorer {
 public:
  explicit SquadScorer(const AnswerEvaluationOptions& options)
      : AnswerScorer(options),
        threshold_(options.null_threshold.value_or(squad2_threshold)),
        predictions_(read_answer_texts(options.predictions)),
        worst2_(options.worst) {
    if (!options.null_odds.empty()) scores_ = read_null_odds(options.null_odds);
    score_of_.insert(scores_.begin(), scores_.end());
    reader_.emplace(options.data, QuestionReading{QuestionPurpose::evaluate, true, options.replace_invalid});
  }

  bool judge_next() override {
    QuestionExample example;
    if (!reader_->next(example)) return false;
    SquadGold& question = gold_.emplace_back();
    question.id = example.id;
    for (const GoldAnswer& answer : example.answers) question.answers.push_back(answer.text);
    if (options_.worst == 0) return true;
    const std::optional<std::string> given = predicted_text(predictions_, example.id);
    const auto judge = [&](WorstAnswers& worst, const AnswerScore& score, std::optional<std::string> text) {
      if (!worst.wants(score.exact, score.f1)) return;
      worst.add({example.id,
                 example.question,
                 question.answers,
                 text,
                 score.exact,
                 score.f1,
                 {squad_passage(example, text.value_or(""))}});
    };
    if (!example.answers.empty())
      judge(worst_, given ? squad1_answer_score(*given, question.answers) : AnswerScore{}, given);
    const auto score = score_of_.find(example.id);
    const bool silent = score != score_of_.end() && score->second > threshold_;
    const std::optional<std::string> text = given && silent ? std::string() : given;
    judge(worst2_, text ? squad2_answer_score(*text, question.answers) : AnswerScore{}, text);
    return true;
  }

  AnswerEvaluation scores() override {
    const bool version_2 = options_.version_2 || reader_->answerable() < reader_->questions();
    if (!version_2 && (!options_.null_odds.empty() || options_.null_threshold)) {
      throw_usage(
          message(
              "`null_odds` and `null_threshold` are SQuAD 2.0's, and every question of the data has an answer"),
          message("`version_2` scores it as 2.0 all the same"));
    }
    Squad2Options squad2;
    squad2.no_answer_scores = options_.null_odds.empty() ? nullptr : &scores_;
    squad2.no_answer_threshold = threshold_;
    if (version_2) worst_ = std::move(worst2_);
    return evaluation(
        version_2 ? squad2_scores(gold_, predictions_, squad2) : squad1_scores(gold_, predictions_),
        reader_->noted());
  }

 private:
  double threshold_;
  AnswerTexts predictions_;
  NoAnswerScores scores_;
  std::map<std::string_view, double> score_of_;
  std::optional<SquadReader> reader_;
  std::vector<SquadGold> gold_;
  WorstAnswers worst2_;  // as SQuAD 2.0
};

}  // namespace

const std::string& SquadAnswer::text() const {
  if (decoded) return decoded->text;
  return scored.empty() ? no_answer_text : scored.front().text;
}

const TextSpan& SquadAnswer::span() const {
  if (decoded) return decoded->span;
  return scored.empty() ? no_answer_span : scored.front().span;
}

double SquadAnswer::probability() const {
  if (decoded) return decoded->probability;
  return scored.empty() ? 0 : scored.front().score;
}

SquadDecoder::SquadDecoder(const QuestionPredictionOptions& options)
    : pipeline_(options.decoding == AnswerDecoding::pipeline) {
  decoding_.n_best = options.n_best.value_or(pipeline_ ? 1 : usual_candidates);
  decoding_.max_answer = options.max_answer.value_or(pipeline_ ? usual_answer_of_the_pipeline : usual_answer);
  decoding_.version_2 = options.version_2;
  decoding_.null_threshold = options.null_threshold;
  if (decoding_.n_best == 0 || decoding_.max_answer == 0) {
    throw_usage(message("`n_best` and `max_answer` must be at least 1"), "the defaults are 20 and 30");
  }
  if (options.decoding == AnswerDecoding::etcmodel) {
    throw_usage("etcmodel's decoding is of nq", message("leave `decode` away, or take run_qa or pipeline"));
  }
  if (!std::isfinite(options.null_threshold)) {
    throw_usage(message("`null_threshold` must be a finite number"), "0 is the usual one");
  }
  if (pipeline_ && options.null_threshold != 0) {
    throw_usage(message("`null_threshold` belongs to run_qa's decoding, the pipeline has none"),
                message("leave `null_threshold` away, or take the other `decode`"));
  }
  if (pipeline_ && !options.null_odds.empty()) {
    throw_usage("the pipeline's decoding gives no null odds", "they belong to run_qa's decoding");
  }
}

RunIdentity SquadDecoder::identity() const {
  return {{"decode", pipeline_ ? "pipeline" : "run_qa"},
          {"n_best", std::to_string(decoding_.n_best)},
          {"max_answer", std::to_string(decoding_.max_answer)},
          {"version_2", decoding_.version_2 ? "true" : "false"},
          {"null_threshold", fmt::format("{}", decoding_.null_threshold)}};
}

SquadAnswer SquadDecoder::decode(const QuestionExample& question, const QuestionWindows& encoded,
                                 const std::vector<InputLogits>& logits) const {
  const DecodedQuestion decoded{question, *encoded.question.context, encoded.question.question.size()};
  const std::vector<WindowLogits> windows = window_logits(encoded.windows, logits);
  if (!pipeline_) return {decode_spans(decoded, windows, decoding_), {}};
  PipelineDecoding pipeline;
  pipeline.top_k = decoding_.n_best;
  pipeline.max_answer = decoding_.max_answer;
  pipeline.impossible_answer = decoding_.version_2;
  return {std::nullopt, decode_pipeline(decoded, windows, pipeline)};
}

AnswerEntry candidates_entry(const std::string& id, const SquadAnswer& answer) {
  auto list = nlohmann::ordered_json::array();
  const auto add = [&](nlohmann::ordered_json json, const std::string& text, double probability,
                       const TextSpan& span) {
    json["text"] = text;
    json["probability"] = probability;
    json["start"] = span.begin;
    json["end"] = span.end;
    list.push_back(std::move(json));
  };
  for (const ScoredAnswer& one : answer.scored)
    add(nlohmann::ordered_json::object(), one.text, one.score, one.span);
  if (answer.decoded) {
    for (const CandidateAnswer& one : answer.decoded->candidates) {
      add({{"start_logit", static_cast<double>(one.start_logit)},
           {"end_logit", static_cast<double>(one.end_logit)}},
          one.text, one.probability, one.span);
    }
  }
  return {keyed_entry(id, squad_json(list))};
}

AnswerEntry null_odds_entry(const std::string& id, float odds) {
  return {keyed_entry(id, squad_json(static_cast<double>(odds)))};
}

SquadAnswer answer_question(const QuestionPredictionOptions& options, const std::string& question,
                            const std::string& context, kernels::Backend& backend) {
  QuestionModel model(squad_task(), options, backend);
  const SquadDecoder decoder(options);
  QuestionEncoder encoder(model.tokenizer(), model.settings().encoding, model.windows().max_question,
                          model.globals() > 0);
  const QuestionExample example{
      "0", question, std::make_shared<const std::string>(context), {}, "the question"};
  QuestionInputs inputs;
  const QuestionWindows encoded = encode_windows(example, encoder, model, inputs);
  SquadAnswer answer;
  model.run(inputs, [&](const std::vector<InputLogits>& logits) {
    answer = decoder.decode(example, encoded, logits);
  });
  model.finish();
  model.say(example.where);
  return answer;
}

const QuestionTask& squad_task() {
  static const QuestionTask task{.name = "squad",
                                 .settings = {"overlap", "step", "max_question", "max_answer", "n_best",
                                              "version_2", "decode", "null_threshold", "nbest", "null_odds"},
                                 .loss = "span",
                                 .samples = squad_samples,
                                 .predictor = make_predictor<SquadPredictor>,
                                 .scorer = make_scorer<SquadScorer>};
  return task;
}

}  // namespace bigbird
