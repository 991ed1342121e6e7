// `bigbird text classify predict`: classes of texts, as a table or as JSON Lines; or of one text, at once.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text_options.h"
#include "apps/verbs.h"
#include "apps/work_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/text/text_lines.h"
#include "lib/model/folder/model_folder.h"
#include "lib/tasks/text/classify/classifier.h"
#include "lib/tasks/text/classify/predict.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t texts_of_a_chunk = 1024;

// The tally of one text.
InputTally classify_at_once(const std::string& text, std::optional<std::string_view> pair,
                            const TextPredictionOptions& options, TextClassifier& classifier) {
  InputTally tally;
  const EncodedInput encoded = classifier.encode(text, pair, &tally.unknown);
  tally.inputs = 1;
  tally.cut = encoded.cut ? 1 : 0;
  tally.blank = encoded.blank ? 1 : 0;
  const PredictionRows rows(classifier, options.form);
  OutputStream out(options.output);
  out.write(rows.head({}));
  classifier.add(encoded, [&](std::span<const double> values) { out.write(rows.row("0", values)); });
  classifier.finish();
  out.close();
  return tally;
}

}  // namespace

int cmd_text_classify_predict(int argc, char** argv) {
  Verb verb("text classify predict", "Classify texts with a fine-tuned model.",
            {"bigbird text classify predict -m run/final --text \"An honest, gripping film.\"",
             "bigbird text classify predict -m run/final reviews.csv -o predictions.tsv",
             "zcat reviews.jsonl.gz | bigbird text classify predict -m run/final --format jsonl - > "
             "predictions.tsv"});
  TextClassifierOptions options;
  TextPredictionOptions prediction;
  prediction.output = "-";
  std::string text, pair, form = "tsv";
  std::string& input = prediction.input;
  TextColumnOptions columns;
  WorkOptions work;
  ScoringOptions scoring;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.model, "Model folder with a classification head")
      ->required()
      ->type_name("MODEL");
  app.add_option("IN", input, "CSV, TSV, JSON Lines, a folder of texts, or - for stdin")->type_name("FILE");
  CLI::Option* const text_option = app.add_option("--text", text, "Instead: one text, classified at once");
  CLI::Option* const pair_option =
      app.add_option("--text-pair", pair, "The second text of a pair with --text");
  app.add_option("-o,--output", prediction.output, "Where the predictions go; - is stdout")
      ->type_name("FILE");
  app.add_option("-O,--output-type", form, "tsv or jsonl")->check(CLI::IsMember({"tsv", "jsonl"}));
  app.add_option("--length", options.length,
                 "Most tokens of an input; 0 is what the model was trained with. Longer ones are cut");
  columns.add(verb, false);
  work.add(verb, "texts", "merge");
  work.add_chunk(verb, "Texts", texts_of_a_chunk);
  scoring.add(verb, {});
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;
  const bool at_once = text_option->count() > 0;
  if (at_once == !input.empty() || (pair_option->count() > 0 && !at_once)) {
    throw_usage("text classify predict: give the texts in one way", "a file (or -), or --text \"...\"");
  }
  if (at_once && work.asked()) {
    throw_usage("text classify predict: --shard and --resume are of a file of texts",
                "one text is classified at once");
  }
  options.batch = scoring.batch();
  prediction.work = work.work(verb);
  prediction.form = form == "jsonl" ? PredictionForm::jsonl : PredictionForm::tsv;
  require_model_folders({options.model});
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  TextClassifier classifier(options, *backend);
  InputTally tally;
  if (at_once) {
    std::optional<std::string> second;
    if (pair_option->count() > 0) second = checked_text(pair, "--text-pair");
    tally = classify_at_once(checked_text(text, "--text"), second, prediction, classifier);
  } else {
    prediction.columns = columns.columns(Labels::ignored);
    prediction.precision = backend->precision();
    if (verb.provenance()) {
      Provenance provenance{bigbird_version(), verb.command(), std::nullopt, "", {}};
      provenance.inputs = {model_input(options.model, classifier.folder().weights_digest())};
      prediction.comments = provenance_lines(provenance);
    }
    tally = predict_texts(prediction, classifier);
  }
  say_inputs(at_once ? "the text" : input, tally, classifier.length());
  verb.set_throughput(static_cast<double>(tally.inputs), "texts");
  return 0;
}

}  // namespace bigbird::apps
