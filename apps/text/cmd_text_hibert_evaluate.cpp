// `bigbird text hibert evaluate`: ROUGE of a HIBERT's extracts, next to first sentences and the oracle.
#include <cstdint>
#include <string>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/summary_options.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/text/hibert/extracts.h"

namespace bigbird::apps {

int cmd_text_hibert_evaluate(int argc, char** argv) {
  Verb verb("text hibert evaluate", "Score HIBERT's extracts by ROUGE.",
            {"bigbird text hibert evaluate -m run/final --data test.jsonl -o rouge.json",
             "bigbird text hibert evaluate -m run/final --data test.jsonl --sentences 5"});
  ExtractorOptions options;
  ExtractEvaluationOptions evaluation;
  std::string output = "-";
  SummaryDataOptions data;
  verb.add_required("-m,--model MODEL", options.model, "Model folder that text hibert finetune wrote");
  verb.add_required(
      "--data FILE", evaluation.data,
      "Documents and summaries: JSON Lines, CSV, TSV, or a folder of documents/ and summaries/");
  verb.add_option("-o,--output FILE", output, "File of the JSON; - is stdout");
  verb.with_word(verb.add_option("--sentences", options.sentences,
                                 "Sentences of an extract (default: what validation chose, else 3)"),
                 "auto", "0");
  verb.add_option("--batch", options.documents, "Documents at a time; more take more memory",
                  CLI::Range(1, 4096));
  data.add(verb, SummaryParts::both);
  add_machine(verb);
  if (!verb.parse(argc, argv)) return 0;
  evaluation.pairs = data.pairs();
  OutputSet outputs({{"--output", output}});
  const auto backend = verb.make_backend({options.model});
  Extractor extractor(options, *backend);
  extractor.prepare();
  const ExtractScores scores = evaluate_extracts(evaluation, extractor, false);
  say_skipped(scores.skipped, scores.first_skipped);
  const Provenance provenance = verb.made_from(
      "", {{"data", evaluation.data, ""}, {"model", options.model, extractor.folder().weights_digest()}});
  write_output(output, extract_scores_json(scores, verb.json_of(provenance)));
  outputs.commit();
  for (const std::string& line : extract_score_lines(scores)) log_info(line);
  verb.set_throughput(static_cast<double>(scores.documents), "documents");
  return 0;
}

}  // namespace bigbird::apps
