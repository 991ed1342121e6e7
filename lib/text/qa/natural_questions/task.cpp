// Natural Questions as a data set of questions; see question_task.h.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/metrics/natural_questions.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/answer_samples.h"
#include "lib/text/qa/evaluate.h"
#include "lib/text/qa/natural_questions/questions.h"
#include "lib/text/qa/natural_questions/two_inputs.h"
#include "lib/text/qa/predict.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/text_settings.h"

namespace bigbird {
namespace {

constexpr std::size_t usual_page_answer = 38;  // words (BigBird, appendix E.2)
constexpr std::size_t usual_page_answer_of_etcmodel = 32;
constexpr const char* null_windows_left_out = "windows without the answer";
constexpr const char* pages_without_text = "pages without a top-level candidate";

struct LabelledWindow {
  ContextWindow window;
  NqLabel label;
};

// With two inputs [CLS] and the tokens of the page compete, else all.
AnswerTarget page_target(const AnswerInput& input, std::size_t position) {
  AnswerTarget target{{{0, 0, static_cast<std::uint32_t>(input.size())}},
                      {{0, static_cast<std::uint32_t>(position)}}};
  if (input.globals) {
    target.rows = {{0, 0, 1},
                   {0, static_cast<std::uint32_t>(input.question.size()),
                    static_cast<std::uint32_t>(input.window.count)}};
  }
  return target;
}

// The samples of a page. Of its pieces those are held that windows have.
void add_page_windows(const EncodedNq& page, const std::vector<LabelledWindow>& windows, const PartIds& ids,
                      std::size_t globals, AnswerSamples& samples) {
  if (windows.empty()) return;
  const std::size_t begin = windows.front().window.first;
  const std::size_t end = windows.back().window.first + windows.back().window.count;
  const auto pieces = page.pieces.ids.begin();
  const auto text = std::make_shared<const std::vector<std::uint32_t>>(
      pieces + static_cast<std::ptrdiff_t>(begin), pieces + static_cast<std::ptrdiff_t>(end));
  const std::vector<std::uint32_t> question = question_part(page.question, ids.window_cls, ids.window_sep);
  for (const auto& [window, label] : windows) {
    AnswerSample sample;
    sample.inputs.push_back({question, text, {window.first - begin, window.count}, ids.window_sep});
    AnswerInput& input = sample.inputs.front();
    if (globals > 0) input.globals = page_globals(page, window, ids, globals);
    sample.targets.resize(4);
    sample.targets[nq_short_start] = page_target(input, label.short_answer.start);
    sample.targets[nq_short_end] = page_target(input, label.short_answer.end);
    sample.targets[nq_long_start] = page_target(input, label.long_answer.start);
    sample.targets[nq_long_end] = page_target(input, label.long_answer.end);
    sample.type = static_cast<std::int32_t>(label.type);
    samples.add(std::move(sample));
  }
}

AnswerSamples nq_samples(const std::string& path, const SampleOptions& options, const Tokenizer& tokenizer) {
  NqReader reader(path, options);
  const NqEncoder encoder(tokenizer, options.encoding, options.windows.max_question);
  const PartIds ids = page_part_ids(tokenizer, options.globals);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  std::uint64_t number = 0;  // of windows, those that are left out too
  for (NqQuestion question; reader.next(question);) {
    throw_if_cancelled();
    const EncodedNq page = encoder.encode(question, &facts.unknown);
    ++facts.questions;
    facts.unanswerable += trained_annotation(question) == nullptr ? 1U : 0U;
    facts.cut_questions += page.question_was_cut ? 1U : 0U;
    if (page.pieces.ids.empty()) facts.noted.add(pages_without_text);
    std::vector<LabelledWindow> kept;
    for (const ContextWindow& window :
         context_windows(page.question.size(), page.pieces.ids.size(), options.windows, question.where)) {
      const NqLabel label = nq_label(question, page, window);
      CounterRng rng(options.seed, Purpose::null_windows, number++);
      if (label.type == NqAnswerType::null && rng.uniform() >= options.keep_null) {
        facts.skipped.add(null_windows_left_out);
        continue;
      }
      kept.push_back({window, label});
    }
    add_page_windows(page, kept, ids, options.globals, samples);
  }
  return samples;
}

void add_span(Sha256& digest, const NqSpan& span) {
  const std::int64_t numbers[] = {span.start_token, span.end_token, span.start_byte, span.end_byte};
  digest.update(numbers, sizeof numbers);
}

// A page as the windows of its pieces.
struct NqWindows {
  EncodedNq page;
  std::vector<ContextWindow> windows;
};

class NqPredictor : public PredictorOf<NqQuestion, NqWindows> {
 public:
  NqPredictor(const QuestionPredictionOptions& options, QuestionModel& model)
      : PredictorOf(options, model, ChunkForm::json_predictions),
        by_etcmodel_(options.decoding == AnswerDecoding::etcmodel),
        max_answer_(check_words(
            options.max_answer.value_or(by_etcmodel_ ? usual_page_answer_of_etcmodel : usual_page_answer),
            "the default is 38 words")),
        ids_(page_part_ids(model.tokenizer(), model.globals())),
        encoder_(model.tokenizer(), model.settings().encoding, model.windows().max_question),
        reader_(options.input, options) {
    if (options.decoding == AnswerDecoding::pipeline)
      throw_usage("the pipeline's decoding is squad's", message("leave `decode` away, or take etcmodel"));
  }

  RunIdentity identity() const override {
    RunIdentity identity = {{"max_answer", std::to_string(max_answer_)}};
    if (by_etcmodel_) identity["decode"] = "etcmodel";
    return identity;
  }

 protected:
  bool next(NqQuestion& question) override { return reader_.next(question); }
  void add_to(Sha256& digest, const NqQuestion& question) const override {
    add_to_digest(digest, std::to_string(question.id));
    add_to_digest(digest, question.question);
    add_to_digest(digest, question.title);
    for (const PageToken& token : question.tokens) {
      add_to_digest(digest, token.text);
      const std::int64_t numbers[] = {token.is_tag ? 1 : 0, token.start_byte, token.end_byte};
      digest.update(numbers, sizeof numbers);
    }
    for (const PageCandidate& candidate : question.candidates) {
      add_span(digest, candidate.span);
      add_to_digest(digest, candidate.top_level ? "top" : "");
    }
  }
  QuestionInputs encode(NqQuestion& question, NqWindows& encoded) override {
    encoded.page = encoder_.encode(question, model_.unknown());
    const auto& [tokens, question_was_cut, pieces, held, candidates] = encoded.page;
    // The words of the page have become pieces: what is held of a token are its bytes, and nothing of those
    // behind the last piece, so that pages that wait for their batch are small.
    for (PageToken& token : question.tokens) token.text = {};
    question.tokens.resize(held.empty() ? 0 : held.back() + 1);
    question.tokens.shrink_to_fit();
    encoded.windows = context_windows(tokens.size(), pieces.ids.size(), model_.windows(), question.where);
    QuestionInputs inputs;
    inputs.question_was_cut = question_was_cut;
    for (const ContextWindow& window : encoded.windows) {
      inputs.inputs.push_back(window_input(tokens, pieces, window, ids_.window_cls, ids_.window_sep));
      if (model_.globals() > 0)
        inputs.inputs.back().globals = page_globals(encoded.page, window, ids_, model_.globals());
    }
    return inputs;
  }
  std::vector<AnswerEntry> decode(const NqQuestion& question, const NqWindows& encoded,
                                  const std::vector<InputLogits>& logits) const override {
    std::vector<NqLogits> windows;
    for (std::size_t i = 0; i < encoded.windows.size(); ++i) {
      const auto& [scores, global_scores, types] = logits[i];
      windows.push_back({encoded.windows[i], scores.at(nq_short_start), scores.at(nq_short_end),
                         scores.at(nq_long_start), scores.at(nq_long_end), types});
    }
    if (model_.globals() > 0 || by_etcmodel_) {
      NqDecoding decoding;
      decoding.rule = by_etcmodel_ ? NqRule::etcmodel : NqRule::pooled;
      decoding.max_answer = max_answer_;
      return {nq_entry(decode_nq_pooled(question, encoded.page, windows, decoding))};
    }
    return {nq_entry(decode_nq(question, encoded.page, windows, max_answer_))};
  }

 private:
  bool by_etcmodel_;
  std::size_t max_answer_;  // words of a short answer, by etcmodel's rule document tokens
  PartIds ids_;
  NqEncoder encoder_;
  NqReader reader_;
};

// The words of document tokens [begin, end), without tags.
std::string page_text(const NqQuestion& example, std::int64_t begin, std::int64_t end) {
  std::string text;
  for (std::int64_t i = std::max<std::int64_t>(begin, 0);
       i < std::min<std::int64_t>(end, static_cast<std::int64_t>(example.tokens.size())); ++i) {
    const PageToken& token = example.tokens[static_cast<std::size_t>(i)];
    if (!token.is_tag) text += (text.empty() ? "" : " ") + token.text;
  }
  return text;
}

std::string page_answer(const NqQuestion& example, const std::vector<NqSpan>& spans, NqYesNo yes_no) {
  std::string text;
  for (const NqSpan& span : spans)
    text += (text.empty() ? "" : "; ") + page_text(example, span.start_token, span.end_token);
  if (yes_no != NqYesNo::none) text = yes_no == NqYesNo::yes ? "yes" : "no";
  return text;
}

JudgedAnswer judge_page(const NqQuestion& example, const NqGold& gold, const NqPrediction* given, bool exact,
                        double f1) {
  JudgedAnswer judged{std::to_string(example.id), example.question, {}, std::nullopt, exact, f1, {}};
  const auto add_passage = [&](const std::string& title, const NqSpan& span) -> MarkedPassage& {
    MarkedPassage& passage = judged.passages.emplace_back();
    passage.title = title;
    passage.text = page_text(example, span.start_token, span.end_token);
    return passage;
  };
  for (const NqAnnotation& annotation : gold.annotations) {
    const std::string answer = page_answer(example, annotation.short_answers, annotation.yes_no);
    if (!answer.empty() && std::find(judged.gold.begin(), judged.gold.end(), answer) == judged.gold.end())
      judged.gold.push_back(answer);
    if (judged.passages.empty() && !annotation.long_answer.is_null()) {
      MarkedPassage& passage = add_passage("gold long answer", annotation.long_answer);
      passage.gold = places_of(passage.text, answer);
    }
  }
  if (given == nullptr) return judged;
  judged.prediction = page_answer(example, given->short_answers, given->yes_no);
  if (!given->long_answer.is_null()) {
    MarkedPassage& passage = add_passage("predicted long answer", given->long_answer);
    passage.predicted = places_of(passage.text, *judged.prediction);
  }
  return judged;
}

class NqScorer : public AnswerScorer {
 public:
  explicit NqScorer(const AnswerEvaluationOptions& options)
      : AnswerScorer(options),
        predictions_(read_nq_predictions(options.predictions)),
        reader_(options.data, {QuestionPurpose::evaluate, false, options.replace_invalid}) {
    for (const NqPrediction& prediction : predictions_) prediction_of_.emplace(prediction.id, &prediction);
  }

  bool judge_next() override {
    NqQuestion question;
    if (!reader_.next(question)) return false;
    const NqGold& gold = gold_.emplace_back(NqGold{question.id, question.annotations});
    if (options_.worst == 0) return true;
    const auto found = prediction_of_.find(question.id);
    const NqPrediction* given = found == prediction_of_.end() ? nullptr : found->second;
    const auto right = [](const NqVerdict& verdict) {
      return verdict.has_gold ? verdict.correct : !verdict.has_prediction;
    };
    const bool long_right = given != nullptr && right(nq_long_verdict(gold, *given));
    const bool short_right = given != nullptr && right(nq_short_verdict(gold, *given));
    const double f1 = (long_right ? 0.5 : 0.0) + (short_right ? 0.5 : 0.0);
    if (worst_.wants(long_right && short_right, f1))
      worst_.add(judge_page(question, gold, given, long_right && short_right, f1));
    return true;
  }

  AnswerEvaluation scores() override {
    NqScores result = nq_scores(gold_, predictions_);
    result.metrics.insert(result.metrics.end(), result.without_scores.begin(), result.without_scores.end());
    IdTally ids;  // other ids on one side than on the other are an error of the metric
    ids.questions = static_cast<std::int64_t>(gold_.size());
    return evaluation({std::move(result.metrics), ids});
  }

 private:
  std::vector<NqPrediction> predictions_;
  std::map<std::int64_t, const NqPrediction*> prediction_of_;
  NqReader reader_;
  std::vector<NqGold> gold_;
};

}  // namespace

const QuestionTask& nq_task() {
  static const QuestionTask task{
      .name = "nq",
      .head = {HeadType::structured_answers,
               {{"short_start", true}, {"short_end", true}, {"long_start", true}, {"long_end", true}},
               {"null", "yes", "no", "long", "short"}},
      .settings = {"overlap", "step", "max_question", "max_answer", "keep_null", "decode"},
      .batch = 128,
      .learning_rate = 5e-5,
      .chunk = 16,
      .samples = nq_samples,
      .predictor = make_predictor<NqPredictor>,
      .scorer = make_scorer<NqScorer>};
  return task;
}

}  // namespace bigbird
