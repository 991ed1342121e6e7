// `bigbird text summarize evaluate`: ROUGE of predicted summaries against those that people wrote.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/summary_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/metrics/rouge.h"
#include "lib/text/summarize/evaluate.h"
#include "lib/text/summarize/predict.h"

namespace bigbird::apps {
namespace {

// Of fewer draws the 2.5th of a hundred is not told from the first.
constexpr std::size_t fewest_draws = 100, most_draws = 1'000'000;

struct SummaryEvaluateCommand {
  SummaryEvaluationOptions evaluation;
  SummaryDataOptions data;
  std::string output = "-", table, model, summaries;
  SearchOptionsOfVerb search;
  bool no_stem = false;
};

struct WrittenBy {
  std::string digest;  // of the model
  std::optional<std::uint64_t> seed;
};

WrittenBy write_summaries(const Verb& verb, const SummaryEvaluateCommand& typed) {
  const SummaryEvaluationOptions& evaluation = typed.evaluation;
  SummaryPredictionOptions prediction;
  prediction.input = evaluation.data;
  prediction.pairs = evaluation.pairs;
  prediction.pairs.parts = SummaryParts::document;
  prediction.output = typed.summaries;
  prediction.work.chunk = documents_of_a_chunk;
  const auto backend = verb.make_backend({typed.model});
  prediction.precision = backend->precision();
  SummarizerOptions options = typed.search.summarizer(verb);
  options.model = typed.model;
  Summarizer summarizer(options, *backend);
  typed.search.apply(verb, summarizer.search());
  const SummaryTally tally = predict_summaries(prediction, summarizer);
  say_tally(evaluation.data, tally, summarizer.length());
  return {summarizer.folder().weights_digest(), seed_of(summarizer.search())};
}

void add_options(Verb& verb, SummaryEvaluateCommand& typed) {
  verb.add_required(
      "--data FILE", typed.evaluation.data,
      "Summaries that people wrote: JSON Lines, CSV, TSV, lines, or a folder of documents/ and summaries/");
  verb.add_option(
      "--predictions FILE", typed.evaluation.predictions,
      "Predictions: JSON Lines, CSV or TSV, by id; or one summary a line (.txt), in the order of the data");
  verb.add_option(
          "-m,--model MODEL", typed.model,
          "Model folder with a decoder, which summarizes the documents first, in place of --predictions")
      ->excludes("--predictions");
  verb.add_option("--summaries FILE", typed.summaries,
                  "File of the summaries of -m, as JSON Lines; in parts, and to go on after a stop: `text "
                  "summarize predict`, then --predictions (default: they are not kept)")
      ->needs("--model");
  verb.add_option("--prediction-field", typed.evaluation.prediction_field,
                  "Field of the predictions (default: as --summary-field)");
  verb.add_option("-o,--output FILE", typed.output, "File of the JSON; - is stdout");
  verb.add_option("--table FILE", typed.table, "TSV of the scores of every document");
  verb.add_option("--types", typed.evaluation.rouge.types,
                  "Types of ROUGE: rouge1 to rouge9, rougeL (of whole texts) and rougeLsum (of lines, which "
                  "papers print as R-L)")
      ->delimiter(',');
  verb.add_flag("--no-stem", typed.no_stem, "Compare words, not their Porter stems");
  verb.add_count(
      "--bootstrap", typed.evaluation.draws,
      "Draws for the 95 % intervals; 1,000 draws with seed 1 are those that rouge_score's script makes");
  verb.add_option("--line-break TEXT", typed.evaluation.line_break,
                  "Mark of a line break in a text; \"\" is nothing but line breaks themselves");
  typed.data.add(verb, SummaryParts::both);
  typed.search.add(verb);
}

void check(const SummaryEvaluateCommand& typed) {
  if (typed.evaluation.draws < fewest_draws || typed.evaluation.draws > most_draws) {
    throw_usage(fmt::format("text summarize evaluate: --bootstrap {}: not from {} to {} draws",
                            typed.evaluation.draws, fewest_draws, most_draws),
                "the seed, which --bootstrap was before, is --seed");
  }
  if (typed.evaluation.data == "-" && typed.evaluation.predictions == "-") {
    throw_usage("text summarize evaluate: only one of the files can be the standard input",
                "write one to a file");
  }
  if (typed.evaluation.predictions.empty() && typed.model.empty())
    throw_usage("text summarize evaluate: neither predictions nor a model",
                "give --predictions FILE or -m MODEL");
  if (typed.evaluation.data == "-" && !typed.model.empty()) {
    throw_usage("text summarize evaluate: with -m the data are read twice, the standard input cannot be",
                "write it to a file");
  }
}

void say_remarks(const SummaryEvaluation& evaluation) {
  say_skipped(evaluation.skipped, evaluation.first_skipped);
  const std::array<std::pair<std::int64_t, const char*>, 3> remarks{
      {{evaluation.empty_summaries, "summaries of the data are empty: they count 0"},
       {evaluation.empty_predictions, "predictions are empty"},
       {evaluation.unknown, "predictions are of ids that the data do not have"}}};
  for (const auto& [count, what] : remarks) {
    if (count > 0) log_warning(fmt::format("{} {}", count, what));
  }
}

void say_scores(const SummaryEvaluation& evaluation, const std::vector<std::string>& types) {
  for (std::size_t i = 0; i < evaluation.by_type.size(); ++i) {
    const RougeSummary& summary = evaluation.by_type[i];
    log_info(fmt::format("{}: F1 {:.4f} ({:.4f} to {:.4f}), precision {:.4f}, recall {:.4f}", types[i],
                         summary.mean.f1, summary.low.f1, summary.high.f1, summary.mean.precision,
                         summary.mean.recall));
  }
}

}  // namespace

int cmd_text_summarize_evaluate(int argc, char** argv) {
  Verb verb("text summarize evaluate",
            "Score predicted summaries, or a model's, by ROUGE, as rouge_score does; JSON on stdout.",
            {"bigbird text summarize evaluate --data test.jsonl --predictions summaries.jsonl",
             "bigbird text summarize evaluate --data test.jsonl --predictions generated_predictions.txt "
             "--table scores.tsv -o rouge.json",
             "bigbird text summarize evaluate --data dev.jsonl --list-of-summaries --predictions lines.txt "
             "--types rouge1,rougeL --no-stem",
             "bigbird text summarize evaluate --data test.jsonl -m run/final --summaries summaries.jsonl"});
  SummaryEvaluateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  check(typed);
  SummaryEvaluationOptions& options = typed.evaluation;
  const std::string& table = typed.table;
  // The summaries are the model's work of hours: they have their place before they are measured.
  require_different({{"--output", typed.output}, {"--table", table}, {"--summaries", typed.summaries}});
  OutputSet outputs({{"--output", typed.output}, {"--table", table}});
  options.rouge.stem = !typed.no_stem;
  options.bootstrap_seed = static_cast<std::uint32_t>(verb.seed());
  options.pairs = typed.data.pairs();
  std::vector<ProvenanceInput> inputs{{"data", options.data, ""}};
  std::optional<std::uint64_t> seed;
  std::optional<AtomicFolder> scratch;  // goes with the verb
  if (typed.model.empty()) {
    inputs.push_back({"predictions", options.predictions, ""});
  } else {
    rouge("", "", options.rouge);  // types that there are not are found before the long work
    if (typed.summaries.empty()) {
      const auto place = std::filesystem::temp_directory_path() / "bigbird-summaries";
      typed.summaries = scratch.emplace(place.string()).file("summaries.jsonl");
    }
    const WrittenBy written = write_summaries(verb, typed);
    inputs.push_back({"model", typed.model, written.digest});
    seed = written.seed;
    options.predictions = typed.summaries;
    options.prediction_field = "summary";
    options.skip_missing = options.pairs.skip_bad;
  }
  const SummaryEvaluation evaluation = evaluate_summaries(options);
  say_remarks(evaluation);
  Provenance provenance = verb.made_from("", inputs);
  provenance.seed = seed;
  if (!table.empty()) {
    write_text_atomic(table, summary_scores_tsv(evaluation, verb.head_of(table, provenance)));
  }
  write_output(typed.output, summary_metrics_json(evaluation, verb.json_of(provenance)));
  outputs.commit();
  say_scores(evaluation, options.rouge.types);
  verb.set_throughput(static_cast<double>(evaluation.ids.size()), "documents");
  return 0;
}

}  // namespace bigbird::apps
