// `bigbird text qa predict`: answers of a file of questions, as the data set wants them; or of one question
// about one text, at once.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "apps/work_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/text/text_lines.h"
#include "lib/tasks/text/qa/answerer.h"
#include "lib/tasks/text/qa/predict.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t questions_of_a_chunk = 256;

constexpr std::array<std::pair<AnswerDecoding, const char*>, 2> decoding_names{
    {{AnswerDecoding::run_qa, "run_qa"}, {AnswerDecoding::pipeline, "pipeline"}}};

nlohmann::ordered_json answer_json(const AnsweredQuestion& answer) {
  return {{"answer", answer.text()},
          {"probability", answer.probability()},
          {"start", answer.span().begin},
          {"end", answer.span().end}};
}

// The answer on one line: white space inside of it, newlines too, as blanks.
std::string answer_line(const AnsweredQuestion& answer) {
  std::string text;
  for (const std::string_view word : split_white_space(answer.text()))
    text += (text.empty() ? "" : " ") + std::string(word);
  if (text.empty()) return fmt::format("no answer (probability {:.4f})\n", answer.probability());
  return fmt::format("{} (probability {:.4f}, characters {}-{})\n", text, answer.probability(),
                     answer.span().begin, answer.span().end);
}

void answer_at_once(const std::string& question, const std::string& context, bool json,
                    const std::string& output, QuestionAnswerer& answerer) {
  QuestionExample example;
  example.id = "0";
  example.question = question;
  example.context = std::make_shared<const std::string>(context);
  example.where = "the question";
  OutputStream out(output);
  answerer.add(std::move(example), [&](const AnsweredQuestion& answer) {
    out.write(json ? answer_json(answer).dump() + "\n" : answer_line(answer));
  });
  answerer.finish();
  out.close();
}

}  // namespace

int cmd_text_qa_predict(int argc, char** argv) {
  Verb verb("text qa predict", "Answer questions with a fine-tuned model.",
            {"bigbird text qa predict -m run/final --question \"Who wrote it?\" --context article.txt",
             "bigbird text qa predict -m run/final dev-v1.1.json -o predictions.json",
             "bigbird text qa predict -m run/final --version-2 dev-v2.0.json -o predictions.json --nbest "
             "nbest.json --null-odds null_odds.json"});
  QuestionAnswererOptions options;
  QuestionPredictionOptions files;
  files.predictions = "-";
  WorkOptions work;
  ScoringOptions scoring;
  std::string input, format = name_of(QuestionFormat::squad), question, context, context_text;
  std::string decoding = "run_qa";
  bool json = false, replace_invalid = false;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.model, "Model folder with a question answering head")
      ->required()
      ->type_name("MODEL");
  app.add_option("IN", input, "Questions, plain or .gz, or - for stdin; answers in it are not looked at")
      ->type_name("FILE");
  app.add_option(
      "--format", format,
      "Of IN: squad (nested or flat, JSON or JSON Lines); of the others there is text qa evaluate");
  CLI::Option* const asked =
      app.add_option("--question", question, "Instead of IN: one question, answered at once");
  CLI::Option* const context_file =
      app.add_option("--context", context, "The text that --question is about; - is stdin")
          ->type_name("FILE");
  CLI::Option* const given_context =
      app.add_option("--context-text", context_text, "The same, as an argument")->excludes(context_file);
  CLI::Option* const as_json =
      app.add_flag("--json", json, "Of --question: a JSON object instead of a line to read");
  app.add_option("-o,--output", files.predictions,
                 "Where the predictions go, {id: text}, or the answer; - is stdout")
      ->type_name("FILE");
  app.add_option("--nbest", files.nbest, "Candidates of every question, with probabilities and places")
      ->type_name("FILE");
  app.add_option("--null-odds", files.null_odds,
                 "With --version-2: score of no answer minus that of the best one")
      ->type_name("FILE");
  app.add_option(
      "--length", options.length,
      "Most tokens of an input; 0 is what the model was trained with, or 384 where its folder has no "
      "text.json, as in Hugging Face's pipeline");
  app.add_option("--overlap", options.windows.overlap,
                 "Context tokens that a window shares with the one before it (doc_stride of Hugging Face); "
                 "default a third of the length, at most 1024: 128 of 384")
      ->type_name("TOKENS");
  app.add_option("--step", options.windows.step,
                 "Instead: context tokens from one window to the next (doc_stride of BERT)")
      ->excludes("--overlap")
      ->type_name("TOKENS");
  app.add_option("--max-question", options.windows.max_question,
                 "Tokens of a question that are kept; default 64, at most a quarter of the length")
      ->type_name("TOKENS");
  app.add_option("--max-answer", options.max_answer,
                 "Most tokens of an answer; default 30, of the pipeline 15")
      ->type_name("TOKENS");
  app.add_option("--n-best", options.n_best,
                 "Starts and ends that are looked at, and candidates that are kept; default 20, of the "
                 "pipeline 1 (its top_k)")
      ->type_name("COUNT");
  app.add_flag("--version-2", options.version_2, "There may be no answer, as in SQuAD 2.0");
  CLI::Option* const threshold = app.add_option(
      "--null-threshold", options.null_threshold,
      "With --version-2: no answer where its score is above that of the best one by more than this");
  app.add_option("--decode", decoding,
                 "run_qa: as Hugging Face's run_qa.py; pipeline: as its question-answering pipeline")
      ->check(CLI::IsMember({"run_qa", "pipeline"}));
  app.add_flag("--replace-invalid", replace_invalid, "Put U+FFFD where bytes are no UTF-8; else an error");
  work.add(verb, "questions", "merge");
  work.add_chunk(verb, "Questions", questions_of_a_chunk);
  scoring.add(verb, {});
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  require_span_format(parse_question_format(format), "text qa predict");
  const bool at_once = asked->count() > 0;
  const bool has_context = context_file->count() > 0 || given_context->count() > 0;
  if (at_once == !input.empty() || at_once != has_context) {
    throw_usage("text qa predict: give the questions in one way",
                "a file (or -), or --question \"...\" with --context FILE");
  }
  if (at_once && (!files.nbest.empty() || !files.null_odds.empty())) {
    throw_usage("text qa predict: --nbest and --null-odds are of a file of questions",
                "--json tells more of one answer");
  }
  if (at_once && work.asked()) {
    throw_usage("text qa predict: --shard and --resume are of a file of questions",
                "one question is answered at once");
  }
  if (!at_once && as_json->count() > 0) {
    throw_usage("text qa predict: --json is of --question", "predictions of a file are JSON anyway");
  }
  options.decoding = parse_name(decoding_names, decoding, "way of decoding");
  if (!files.null_odds.empty() && (!options.version_2 || options.decoding != AnswerDecoding::run_qa)) {
    throw_usage("text qa predict: --null-odds needs --version-2 and the decoding of run_qa",
                "without them every question has an answer");
  }
  if (threshold->count() > 0 && !options.version_2) {
    throw_usage("text qa predict: --null-threshold needs --version-2",
                "without it every question has an answer");
  }
  options.batch = scoring.batch();
  files.work = work.work(verb);
  if (at_once) {
    question = checked_text(question, "--question", replace_invalid);
    if (split_white_space(question).empty())
      throw_usage("text qa predict: the question is empty", "ask something");
    context = given_context->count() > 0
                  ? checked_text(context_text, "--context-text", replace_invalid)
                  : checked_text(InputStream(context).read_all(), context, replace_invalid);
  }
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  QuestionAnswerer answerer(options, *backend);
  if (at_once) {
    answer_at_once(question, context, json, files.predictions, answerer);
  } else {
    files.input = input;
    files.replace_invalid = replace_invalid;
    files.precision = backend->precision();
    predict_answers(files, answerer);
  }
  answerer.say(at_once ? "the question" : input);
  verb.set_throughput(static_cast<double>(answerer.questions()), "questions");
  return 0;
}

}  // namespace bigbird::apps
