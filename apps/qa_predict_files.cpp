// Predictions of four data sets; see qa_predict_files.h.
#include "apps/qa_predict_files.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/tasks/text/qa/answer_files.h"
#include "lib/tasks/text/qa/predict_hotpotqa.h"
#include "lib/tasks/text/qa/predict_natural_questions.h"
#include "lib/tasks/text/qa/predict_triviaqa.h"
#include "lib/tasks/text/qa/predict_wikihop.h"

namespace bigbird::apps {
namespace {

// Runs what is left of the questions and refuses a file without any.
void finish_questions(AnswerPredictor& predictor, const std::string& input) {
  predictor.finish();
  if (predictor.questions() == 0)
    throw_bad_input(input + ": there are no questions", "give a file with at least one question");
}

void predict_hotpotqa(const QuestionFile& file, HotpotPredictor& predictor, OutputStream& out) {
  HotpotReader reader(file.input, QuestionPurpose::predict, file.replace_invalid);
  HotpotFileWriter writer([&](std::string_view text) { out.write(text); });
  HotpotExample example;
  while (reader.next(example)) {
    predictor.add(std::move(example), [&](const HotpotExample& question, const DecodedHotpot& answer) {
      writer.add(question.id, answer.text, answer.facts);
    });
  }
  finish_questions(predictor, file.input);
  writer.finish();
}

void predict_pages(const QuestionFile& file, PagePredictor& predictor, OutputStream& out) {
  NaturalQuestionsReader reader(file.input, QuestionPurpose::predict, file.replace_invalid);
  NqFileWriter writer([&](std::string_view text) { out.write(text); });
  PageQuestion example;
  while (reader.next(example))
    predictor.add(std::move(example), [&](const NqPrediction& prediction) { writer.add(prediction); });
  finish_questions(predictor, file.input);
  writer.finish();
}

std::uint64_t predict_trivia(const QuestionFile& file, const AnswerPredictorOptions& options,
                             kernels::Backend& backend, OutputStream& out) {
  AnswerFileWriter writer(AnswerFile::predictions, [&](std::string_view text) { out.write(text); });
  TriviaPredictor predictor(
      options, file.max_answer.value_or(usual_document_answer), backend,
      [&](const TriviaPrediction& prediction) { writer.add_text(prediction.id, prediction.text); });
  TriviaReader reader(file.input,
                      {QuestionPurpose::predict, file.domain, file.evidence, file.replace_invalid});
  TriviaExample example;
  while (reader.next(example)) predictor.add(example);
  finish_questions(predictor, file.input);
  writer.finish();
  predictor.say(file.input);
  if (!reader.skipped().empty())
    log_warning(fmt::format("{}: left out: {}", file.input, reader.skipped().text()));
  return predictor.questions();
}

void predict_wikihop(const QuestionFile& file, WikiHopPredictor& predictor, OutputStream& out) {
  WikiHopReader reader(file.input, QuestionPurpose::predict, file.replace_invalid);
  AnswerFileWriter writer(AnswerFile::predictions, [&](std::string_view text) { out.write(text); });
  WikiHopExample example;
  while (reader.next(example)) {
    predictor.add(std::move(example), [&](const std::string& id, const std::string& candidate) {
      writer.add_text(id, candidate);
    });
  }
  finish_questions(predictor, file.input);
  writer.finish();
  if (!reader.noted().empty()) log_info(fmt::format("{}: {}", file.input, reader.noted().text()));
}

HotpotDecoding hotpot_decoding(const QuestionFile& file) {
  HotpotDecoding decoding;
  decoding.max_answer = file.max_answer.value_or(decoding.max_answer);
  decoding.n_best = file.n_best.value_or(decoding.n_best);
  decoding.support_threshold = file.support_threshold.value_or(decoding.support_threshold);
  return decoding;
}

}  // namespace

std::uint64_t predict_question_file(QuestionFormat format, const QuestionFile& file,
                                    const AnswerPredictorOptions& options, kernels::Backend& backend) {
  OutputStream out(file.output);
  const auto run = [&](auto& predictor, auto predict) {
    predict(file, predictor, out);
    predictor.say(file.input);
    return predictor.questions();
  };
  std::uint64_t questions = 0;
  switch (format) {
    case QuestionFormat::hotpotqa: {
      HotpotPredictor predictor(options, hotpot_decoding(file), backend);
      questions = run(predictor, predict_hotpotqa);
      break;
    }
    case QuestionFormat::natural_questions: {
      PagePredictor predictor(options, file.max_answer.value_or(usual_page_answer), backend);
      questions = run(predictor, predict_pages);
      break;
    }
    case QuestionFormat::triviaqa:
      questions = predict_trivia(file, options, backend, out);
      break;
    case QuestionFormat::wikihop: {
      WikiHopPredictor predictor(options, backend);
      questions = run(predictor, predict_wikihop);
      break;
    }
    default:
      throw_runtime("predict_question_file() is not for squad");
  }
  out.close();
  return questions;
}

}  // namespace bigbird::apps
