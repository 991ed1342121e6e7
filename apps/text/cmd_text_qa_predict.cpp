// `bigbird text qa predict`: answers of a file of questions, as the data set wants them; or of one question
// about one text, at once.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text/qa_options.h"
#include "apps/work_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/text/text_lines.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/qa/predict.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/squad/task.h"
#include "lib/text/text_settings.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<AnswerDecoding, const char*>, 3> decoding_names{
    {{AnswerDecoding::run_qa, "run_qa"},
     {AnswerDecoding::pipeline, "pipeline"},
     {AnswerDecoding::etcmodel, "etcmodel"}}};

nlohmann::ordered_json answer_json(const SquadAnswer& answer) {
  return {{"answer", answer.text()},
          {"probability", answer.probability()},
          {"start", answer.span().begin},
          {"end", answer.span().end}};
}

// The answer on one line: white space inside of it, newlines too, as blanks.
std::string answer_line(const SquadAnswer& answer) {
  std::string text;
  for (const std::string_view word : split_white_space(answer.text()))
    text += (text.empty() ? "" : " ") + std::string(word);
  if (text.empty()) return fmt::format("no answer (probability {:.4f})\n", answer.probability());
  return fmt::format("{} (probability {:.4f}, characters {}-{})\n", text, answer.probability(),
                     answer.span().begin, answer.span().end);
}

// What was said on the command line, as far as it is not in a field of lib.
struct PredictChoice {
  QuestionPredictionOptions options;
  std::string format, question, context, context_text;
  std::string decoding = "run_qa";
  bool json = false, version_2 = false;
  double support_threshold = 0.5;
  FormatOptions formats;
  TriviaChoice trivia;
  WorkOptions work;
  ScoringOptions scoring;
  bool at_once = false;  // one question
};

// One question about one text; how many were answered.
std::uint64_t answer_at_once(const Verb& verb, const PredictChoice& choice, kernels::Backend& backend) {
  const bool replace_invalid = choice.options.replace_invalid;
  const std::string question = checked_text(choice.question, "--question", replace_invalid);
  if (split_white_space(question).empty())
    throw_usage("text qa predict: the question is empty", "ask something");
  const std::string context =
      verb.given("--context-text")
          ? checked_text(choice.context_text, "--context-text", replace_invalid)
          : checked_text(InputStream(choice.context).read_all(), choice.context, replace_invalid);
  const SquadAnswer answer = answer_question(choice.options, question, context, backend);
  write_output(choice.options.output,
               choice.json ? json_text(answer_json(answer)) + "\n" : answer_line(answer));
  return 1;
}

void add_question_options(Verb& verb, PredictChoice& choice) {
  QuestionPredictionOptions& options = choice.options;
  verb.add_required("-m,--model MODEL", options.model, "Model folder with the head of the format");
  verb.add_option("IN FILE", options.input,
                  "Questions, plain or .gz, or - for stdin; answers in it are not looked at");
  verb.add_option("--format", choice.format,
                  "Format of IN: squad (nested or flat, JSON or JSON Lines), hotpotqa, nq, triviaqa or "
                  "wikihop (default: as in the model's text.json, else squad)");
  verb.add_option("--question", choice.question, "Question to answer at once, instead of IN");
  verb.add_option("--context FILE", choice.context, "File of the text that --question is about; - is stdin");
  verb.add_option("--context-text", choice.context_text, "Text that --question is about, as an argument")
      ->excludes("--context");
  verb.add_flag("--json", choice.json, "Print JSON instead of a line to read, of --question");
  verb.add_option("-o,--output FILE", options.output,
                  "File of the predictions, in the data set's own form, or of the answer; - is stdout");
  verb.with_word(verb.add_option("--length", options.length,
                                 "Most tokens of an input (default: as many as the model was trained with, "
                                 "or 384 where its folder has no text.json, as in Hugging Face's pipeline)"),
                 "auto", "0");
  verb.add_flag("--replace-invalid", options.replace_invalid,
                "Put U+FFFD where bytes are not UTF-8 (default: an error)");
}

void add_answer_options(Verb& verb, PredictChoice& choice) {
  QuestionPredictionOptions& options = choice.options;
  const auto add = [&](CLI::Option* option) { return choice.formats.add(option->group("Answers")); };
  add(verb.add_option("--max-answer COUNT", options.max_answer,
                      "Most tokens of an answer, of nq and triviaqa most words (default: 30, of the pipeline "
                      "15, of nq 38, of triviaqa 16)"));
  add(verb.add_option("--n-best-size COUNT", options.n_best,
                      "Starts and ends that are looked at, of squad also the candidates that are kept "
                      "(default: 20, of the pipeline 1 (its top_k), of hotpotqa 50)"));
  add(verb.add_option("--support-threshold", choice.support_threshold,
                      "Probability from which sentences of hotpotqa are supporting", CLI::Range(0.0, 1.0)));
}

void add_squad_options(Verb& verb, PredictChoice& choice) {
  QuestionPredictionOptions& options = choice.options;
  const auto add = [&](CLI::Option* option) { return choice.formats.add(option->group("For squad")); };
  add(verb.add_option("--candidates FILE", options.nbest,
                      "Candidates of every question, with probabilities and places"));
  add(verb.add_option("--null-odds FILE", options.null_odds,
                      "File of the score of no answer minus the best answer's, with --version-2"));
  add(verb.add_flag("--version-2,!--no-version-2", choice.version_2,
                    "Let questions have no answer, as in SQuAD 2.0 (default: as the model was trained)"));
  add(verb.add_option("--null-threshold", options.null_threshold,
                      "Threshold of no answer, with --version-2: it is given where its score is above the "
                      "best answer's by more than this"));
  add(verb.add_option(
      "--decode", choice.decoding,
      "Rule of the answers: run_qa, as Hugging Face's run_qa.py; pipeline, as its question-answering "
      "pipeline; of nq also etcmodel, as its eval_nq_lib.py, in place of the rule of the model's attention",
      CLI::IsMember({"run_qa", "pipeline", "etcmodel"})));
}

// The data set, and what the model was trained for where the command line leaves it open.
const QuestionTask& resolve_task(const Verb& verb, PredictChoice& choice) {
  // No folder, no format: that is said before options are judged by one.
  const TextSettings settings = read_text_settings(ModelFolder(choice.options.model).path());
  const bool answers = settings.task == TextTask::question_answering && !settings.data_format.empty();
  choice.options.version_2 =
      verb.given("--version-2") ? choice.version_2 : settings.version_2.value_or(false);
  if (!choice.format.empty()) return question_task(choice.format);
  return answers ? question_task(settings.data_format) : squad_task();
}

void check_ways(const Verb& verb, const PredictChoice& choice, const QuestionTask& task) {
  const QuestionPredictionOptions& options = choice.options;
  const bool has_context = verb.given("--context") || verb.given("--context-text");
  if (choice.at_once == !options.input.empty() || choice.at_once != has_context) {
    throw_usage("text qa predict: give the questions in one way",
                "a file (or -), or --question \"...\" with --context FILE");
  }
  if (choice.at_once && (!options.nbest.empty() || !options.null_odds.empty())) {
    throw_usage("text qa predict: --candidates and --null-odds are of a file of questions",
                "--json has more on one answer");
  }
  if (choice.at_once && task.head.type != HeadType::question_answering) {
    throw_usage(
        fmt::format("text qa predict: --question is of squad and triviaqa, and the format is {}", task.name),
        "questions of this format come with texts of their own: give them as a file");
  }
  if (choice.work.asked() && choice.at_once) {
    throw_usage("text qa predict: --shard and --resume are of a file of questions",
                "one question is answered at once");
  }
  if (!choice.at_once && choice.json) {
    throw_usage("text qa predict: --json is of --question", "predictions of a file are JSON anyway");
  }
}

void check_squad_options(const Verb& verb, const PredictChoice& choice) {
  const QuestionPredictionOptions& options = choice.options;
  if (!options.null_odds.empty() && (!options.version_2 || options.decoding != AnswerDecoding::run_qa)) {
    throw_usage("text qa predict: --null-odds needs --version-2 and the decoding of run_qa",
                "without them every question has an answer");
  }
  if (verb.given("--null-threshold") && !options.version_2) {
    throw_usage("text qa predict: --null-threshold needs --version-2",
                "without it every question has an answer");
  }
}

}  // namespace

int cmd_text_qa_predict(int argc, char** argv) {
  Verb verb("text qa predict", "Answer questions about texts.",
            {("bigbird text qa predict -m demo-text-output/qa/final --question \"What does it do?\" "
              "--context demo-text-output/context.txt"),
             ("bigbird text qa predict -m demo-text-output/qa/final "
              "demo-text-output/pages/questions.test.json -o predictions.json"),
             ("bigbird text qa predict -m demo-text-output/qa/final --version-2 "
              "demo-text-output/pages/questions.test.json -o answers.json --candidates nbest.json"),
             ("for i in 1 2; do bigbird text qa predict -m demo-text-output/qa/final "
              "demo-text-output/pages/questions.test.json --shard $i/2 -o answers.$i.json; done"),
             "bigbird text qa predict -m hotpot/final hotpot_dev_distractor_v1.json -o predictions.json",
             "zcat nq-dev-*.jsonl.gz | bigbird text qa predict -m nq/final - -o predictions.json",
             "bigbird text qa predict -m trivia/final dev.json --evidence evidence -o predictions.json"});
  PredictChoice choice;
  QuestionPredictionOptions& options = choice.options;
  add_question_options(verb, choice);
  add_answer_options(verb, choice);
  add_window_options(verb, options.windows, "; with the length of training, as in training", choice.formats);
  add_squad_options(verb, choice);
  choice.trivia.add(verb, options, choice.formats);
  choice.work.add(verb);
  choice.work.add_chunk(verb, "questions", squad_task().chunk,
                        fmt::format("{}, of nq and triviaqa 16", squad_task().chunk));
  choice.scoring.add(verb, {});
  add_machine(verb);
  if (!verb.parse(argc, argv)) return 0;
  choice.at_once = verb.given("--question");
  const QuestionTask& format = resolve_task(verb, choice);
  check_ways(verb, choice, format);
  const QuestionTask& task = choice.at_once ? squad_task() : format;
  choice.formats.check("text qa predict", task);
  options.decoding = parse_name(decoding_names, choice.decoding, "way of decoding");
  if (verb.given("--decode") && options.decoding == AnswerDecoding::run_qa && !task.takes("nbest")) {
    throw_usage(fmt::format("text qa predict: --decode run_qa is of squad, and the format is {}", task.name),
                "leave --decode away, or take etcmodel");
  }
  options.batch = choice.scoring.batch();
  if (verb.given("--support-threshold")) options.support_threshold = choice.support_threshold;
  choice.work.set_usual_chunk(task.chunk);
  options.work = choice.work.work(verb);
  if (task.takes("null_odds")) check_squad_options(verb, choice);
  choice.trivia.take("text qa predict", task, options);
  const auto backend = verb.make_backend({options.model});
  const std::uint64_t questions =
      choice.at_once ? answer_at_once(verb, choice, *backend) : predict_questions(task, options, *backend);
  verb.set_throughput(static_cast<double>(questions), "questions");
  return 0;
}

}  // namespace bigbird::apps
