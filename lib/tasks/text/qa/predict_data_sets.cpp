// Predictions of four data sets; see predict_data_sets.h.
#include "lib/tasks/text/qa/predict_data_sets.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/tasks/text/qa/answer_files.h"
#include "lib/tasks/text/qa/predict_hotpotqa.h"
#include "lib/tasks/text/qa/predict_natural_questions.h"
#include "lib/tasks/text/qa/predict_triviaqa.h"
#include "lib/tasks/text/qa/predict_wikihop.h"
#include "lib/tasks/text/qa/question_chunks.h"
#include "lib/tasks/text/run_identity.h"

namespace bigbird {
namespace {

// A question of TriviaQA with all its documents, which compete.
using TriviaQuestion = std::vector<TriviaExample>;

void add_list(Sha256& digest, const std::vector<std::string>& texts) {
  add_to_digest(digest, std::to_string(texts.size()));
  for (const std::string& text : texts) add_to_digest(digest, text);
}

void add_question(Sha256& digest, const HotpotExample& question) {
  add_to_digest(digest, question.id);
  add_to_digest(digest, question.question);
  for (const HotpotParagraph& paragraph : question.paragraphs) {
    add_to_digest(digest, paragraph.title);
    add_list(digest, paragraph.sentences);
  }
}

void add_span(Sha256& digest, const PageSpan& span) {
  const std::int64_t numbers[] = {span.start_token, span.end_token, span.start_byte, span.end_byte};
  digest.update(numbers, sizeof numbers);
}

void add_question(Sha256& digest, const PageQuestion& question) {
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

void add_question(Sha256& digest, const TriviaQuestion& question) {
  for (const TriviaExample& document : question) {
    add_to_digest(digest, document.question.id);
    add_to_digest(digest, document.question.question);
    add_to_digest(digest, *document.question.context);
  }
}

void add_question(Sha256& digest, const WikiHopExample& question) {
  add_to_digest(digest, question.id);
  add_to_digest(digest, question.query);
  add_list(digest, question.candidates);
  add_list(digest, question.supports);
}

// The one output of a run: the file of predictions.
class PredictionRun {
 public:
  PredictionRun(const DataSetPredictionOptions& options, const AnswerPredictor& predictor,
                kernels::Precision precision, ChunkForm form)
      : input_(options.input),
        outputs_({{options.output, "predictions", form}}, identity(options, predictor, precision),
                 options.input, options.work) {}

  // Chunks of what `read` gives: `answer(question, writer)` for each of them.
  template <typename Writer, typename Question, typename Read, typename Answer>
  void go(AnswerPredictor& predictor, const Read& read, const Answer& answer) {
    const auto digest = [](Sha256& of, const Question& question) { add_question(of, question); };
    answer_in_chunks<Question>(input_, outputs_, read, digest, [&](std::vector<Question>& chunk) {
      Writer writer([this](std::string_view text) { outputs_.write(0, text); });
      for (Question& question : chunk) answer(std::move(question), writer);
      predictor.finish();
      writer.finish();
    });
    predictor.say(input_);
  }

 private:
  static RunIdentity identity(const DataSetPredictionOptions& options, const AnswerPredictor& predictor,
                              kernels::Precision precision) {
    RunIdentity identity = model_identity(predictor.folder(), predictor.settings(), precision);
    identity.merge(predictor.identity());
    if (predictor.format() == QuestionFormat::triviaqa)
      identity["domain"] = options.domain == TriviaDomain::web ? "web" : "wikipedia";
    return identity;
  }

  std::string input_;
  ChunkedOutputs outputs_;
};

// {id: text}.
struct TextWriter : AnswerFileWriter {
  explicit TextWriter(Sink sink) : AnswerFileWriter(AnswerFile::predictions, std::move(sink)) {}
};

HotpotDecoding hotpot_decoding(const DataSetPredictionOptions& options) {
  HotpotDecoding decoding;
  decoding.max_answer = options.max_answer.value_or(decoding.max_answer);
  decoding.n_best = options.n_best.value_or(decoding.n_best);
  decoding.support_threshold = options.support_threshold.value_or(decoding.support_threshold);
  return decoding;
}

std::uint64_t predict_hotpotqa(const DataSetPredictionOptions& options, const AnswerPredictorOptions& model,
                               kernels::Backend& backend) {
  HotpotPredictor predictor(model, hotpot_decoding(options), backend);
  HotpotReader reader(options.input, QuestionPurpose::predict, options.replace_invalid);
  PredictionRun(options, predictor, backend.precision(), ChunkForm::json_answers_and_facts)
      .go<HotpotFileWriter, HotpotExample>(
          predictor, [&](HotpotExample& question) { return reader.next(question); },
          [&](HotpotExample&& question, HotpotFileWriter& writer) {
            predictor.add(std::move(question),
                          [&](const HotpotExample& answered, const DecodedHotpot& answer) {
                            writer.add(answered.id, answer.text, answer.facts);
                          });
          });
  return predictor.questions();
}

std::uint64_t predict_pages(const DataSetPredictionOptions& options, const AnswerPredictorOptions& model,
                            kernels::Backend& backend) {
  PagePredictor predictor(model, options.max_answer.value_or(usual_page_answer), backend);
  NaturalQuestionsReader reader(options.input, QuestionPurpose::predict, options.replace_invalid);
  PredictionRun(options, predictor, backend.precision(), ChunkForm::json_predictions)
      .go<NqFileWriter, PageQuestion>(
          predictor, [&](PageQuestion& question) { return reader.next(question); },
          [&](PageQuestion&& question, NqFileWriter& writer) {
            predictor.add(std::move(question), [&](const NqPrediction& answer) { writer.add(answer); });
          });
  return predictor.questions();
}

// Documents of one question follow each other.
class TriviaQuestions {
 public:
  explicit TriviaQuestions(const DataSetPredictionOptions& options)
      : reader_(options.input,
                {QuestionPurpose::predict, options.domain, options.evidence, options.replace_invalid}) {}

  bool next(TriviaQuestion& question) {
    question.clear();
    if (!std::exchange(begun_, true)) has_next_ = reader_.next(next_);
    while (has_next_ && (question.empty() || question.front().question.id == next_.question.id)) {
      question.push_back(std::move(next_));
      next_ = {};
      has_next_ = reader_.next(next_);
    }
    return !question.empty();
  }
  const ReasonCounts& skipped() const { return reader_.skipped(); }

 private:
  TriviaReader reader_;
  TriviaExample next_;
  bool begun_ = false;
  bool has_next_ = false;
};

std::uint64_t predict_trivia(const DataSetPredictionOptions& options, const AnswerPredictorOptions& model,
                             kernels::Backend& backend) {
  TextWriter* to = nullptr;  // of the chunk at hand
  TriviaPredictor predictor(
      model, options.max_answer.value_or(usual_document_answer), backend,
      [&](const TriviaPrediction& prediction) { to->add_text(prediction.id, prediction.text); });
  TriviaQuestions questions(options);
  PredictionRun(options, predictor, backend.precision(), ChunkForm::json_object)
      .go<TextWriter, TriviaQuestion>(
          predictor, [&](TriviaQuestion& question) { return questions.next(question); },
          [&](TriviaQuestion&& question, TextWriter& writer) {
            to = &writer;
            for (const TriviaExample& document : question) predictor.add(document);
          });
  if (!questions.skipped().empty())
    log_warning(fmt::format("{}: left out: {}", options.input, questions.skipped().text()));
  return predictor.questions();
}

std::uint64_t predict_wikihop(const DataSetPredictionOptions& options, const AnswerPredictorOptions& model,
                              kernels::Backend& backend) {
  WikiHopPredictor predictor(model, backend);
  WikiHopReader reader(options.input, QuestionPurpose::predict, options.replace_invalid);
  PredictionRun(options, predictor, backend.precision(), ChunkForm::json_object)
      .go<TextWriter, WikiHopExample>(
          predictor, [&](WikiHopExample& question) { return reader.next(question); },
          [&](WikiHopExample&& question, TextWriter& writer) {
            predictor.add(std::move(question), [&](const std::string& id, const std::string& candidate) {
              writer.add_text(id, candidate);
            });
          });
  if (!reader.noted().empty()) log_info(fmt::format("{}: {}", options.input, reader.noted().text()));
  return predictor.questions();
}

}  // namespace

std::uint64_t predict_data_set(QuestionFormat format, const DataSetPredictionOptions& options,
                               const AnswerPredictorOptions& model, kernels::Backend& backend) {
  switch (format) {
    case QuestionFormat::hotpotqa:
      return predict_hotpotqa(options, model, backend);
    case QuestionFormat::natural_questions:
      return predict_pages(options, model, backend);
    case QuestionFormat::triviaqa:
      return predict_trivia(options, model, backend);
    case QuestionFormat::wikihop:
      return predict_wikihop(options, model, backend);
    case QuestionFormat::squad:
      break;
  }
  throw_runtime("predict_data_set() is not for squad");
}

}  // namespace bigbird
