// `bigbird text qa evaluate`: predicted answers against the gold ones, by the official metrics of five data
// sets.
#include <string>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/report/answers_html.h"
#include "lib/text/qa/evaluate.h"

namespace bigbird::apps {

int cmd_text_qa_evaluate(int argc, char** argv) {
  Verb verb("text qa evaluate", "Score predicted answers as the data set's own script does; JSON on stdout.",
            {"bigbird text qa evaluate --format squad --data dev-v1.1.json --predictions predictions.json",
             "bigbird text qa evaluate --format squad --data dev-v2.0.json --predictions predictions.json "
             "--null-odds null_odds.json --html worst.html",
             "zcat nq-dev-*.jsonl.gz | bigbird text qa evaluate --format nq --data - --predictions "
             "predictions.json"});
  AnswerEvaluationOptions options;
  std::string format, output = "-", html;
  std::size_t worst = 50;
  CLI::App& app = verb.app();
  app.add_option("--format", format, "squad, hotpotqa, nq, triviaqa or wikihop")->required();
  app.add_option("--data", options.data, "The data set's file with answers, plain or .gz")
      ->required()
      ->type_name("FILE");
  app.add_option("--predictions", options.predictions,
                 "What was predicted: {id: text}; of hotpotqa and nq the form of their official scripts")
      ->required()
      ->type_name("FILE");
  app.add_option("--null-odds", options.null_odds,
                 "SQuAD 2.0: {id: score that there is no answer}; gives the best thresholds too")
      ->type_name("FILE");
  app.add_option("--null-threshold", options.null_threshold,
                 "With --null-odds: a score above it makes a prediction \"\"; default 1, as in the official "
                 "script");
  app.add_flag("--version-2", options.version_2,
               "Score as SQuAD 2.0 even where every question has an answer; else the data tell");
  app.add_option("-o,--output", output, "Where the JSON goes; - is stdout")->type_name("FILE");
  app.add_option("--html", html, "The worst answers in their context, as one page to read")
      ->type_name("FILE");
  app.add_option("--worst", worst, "How many of them")->check(CLI::Range(1, 100000));
  app.add_flag("--replace-invalid", options.replace_invalid,
               "Put U+FFFD where bytes of the data are no UTF-8; else an error");
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
  std::string provenance;
  if (verb.provenance()) {
    provenance = provenance_json({bigbird_version(),
                                  verb.command(),
                                  std::nullopt,
                                  "",
                                  {{"data", options.data, ""}, {"predictions", options.predictions, ""}}});
  }
  OutputStream out(output);
  out.write(answer_metrics_json(evaluation, provenance));
  out.close();
  outputs.commit();
  verb.set_throughput(static_cast<double>(evaluation.ids.front().second.questions), "questions");
  return 0;
}

}  // namespace bigbird::apps
