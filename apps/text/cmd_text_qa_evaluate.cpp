// `bigbird text qa evaluate`: predicted answers against the gold ones, by the official metrics of five data
// sets.
#include <string>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/report/text_evaluations.h"
#include "lib/text/qa/evaluate.h"

namespace bigbird::apps {

int cmd_text_qa_evaluate(int argc, char** argv) {
  Verb verb("text qa evaluate", "Score predicted answers as the data set's own script does; JSON on stdout.",
            {("bigbird text qa evaluate --format squad --data "
              "demo-text-output/pages/questions.test.json --predictions "
              "demo-text-output/answers.test.json"),
             ("bigbird text qa evaluate --format squad --data "
              "demo-text-output/pages/questions.test.json --predictions "
              "demo-text-output/answers.test.json --html worst.html"),
             ("bigbird text qa evaluate --format squad --data dev-v2.0.json --predictions "
              "predictions.json --null-odds null_odds.json"),
             ("zcat nq-dev-*.jsonl.gz | bigbird text qa evaluate --format nq --data - --predictions "
              "predictions.json")});
  AnswerEvaluationOptions options;
  std::string format, output = "-", html;
  std::size_t worst = 50;
  verb.add_required("--format", format, "Format of both: squad, hotpotqa, nq, triviaqa or wikihop");
  verb.add_required("--data FILE", options.data, "File of the data set with answers, plain or .gz");
  verb.add_required("--predictions FILE", options.predictions,
                    "Predictions: {id: text}; of hotpotqa and nq the form of their official scripts");
  verb.add_option("--null-odds FILE", options.null_odds,
                  "Scores of no answer, of SQuAD 2.0: {id: score}; gives the best thresholds too");
  verb.add_option("--null-threshold", options.null_threshold,
                  "Threshold, with --null-odds: a score above it makes a prediction \"\" (default: 1, as in "
                  "the official script)");
  verb.add_flag(
      "--version-2", options.version_2,
      "Let questions have no answer: score as SQuAD 2.0 even where each has one (default: by the data)");
  verb.add_option("-o,--output FILE", output, "File of the JSON; - is stdout");
  verb.add_option("--html FILE", html, "Page of the worst answers in their context");
  verb.add_option("--worst", worst, "Answers that --html shows", CLI::Range(1, 100000));
  verb.add_flag("--replace-invalid", options.replace_invalid,
                "Put U+FFFD where bytes of the data are not UTF-8 (default: an error)");
  if (!verb.parse(argc, argv)) return 0;
  options.task = &question_task(format);
  if (options.null_threshold && options.null_odds.empty()) {
    throw_usage("text qa evaluate: --null-threshold is of --null-odds", "give both, or neither");
  }
  if (options.data == "-" && (options.predictions == "-" || options.null_odds == "-")) {
    throw_usage("text qa evaluate: only one of the files can be the standard input", "write one to a file");
  }
  OutputSet outputs({{"--output", output}, {"--html", html}});
  if (!html.empty()) options.worst = worst;
  const AnswerEvaluation evaluation = evaluate_answers(options);
  if (!html.empty()) write_text_atomic(html, answers_html(evaluation, options.predictions));
  const std::string provenance = verb.json_of(
      verb.made_from("", {{"data", options.data, ""}, {"predictions", options.predictions, ""}}));
  write_output(output, answer_metrics_json(evaluation, provenance));
  outputs.commit();
  verb.set_throughput(static_cast<double>(evaluation.ids.front().second.questions), "questions");
  return 0;
}

}  // namespace bigbird::apps
