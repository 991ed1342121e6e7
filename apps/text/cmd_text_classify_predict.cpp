// `bigbird text classify predict`: classes of texts, as a table or as JSON Lines; or of one text, at once.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text_options.h"
#include "apps/work_options.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/text/text_lines.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/classify/predict.h"

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

struct ClassifyCommand {
  TextClassifierOptions options;
  TextPredictionOptions prediction;
  std::string text, pair, form = "tsv";
  TextColumnOptions columns;
  WorkOptions work;
  ScoringOptions scoring;
};

void add_options(Verb& verb, ClassifyCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.options.model, "Model folder with a classification head");
  verb.add_option("IN FILE", typed.prediction.input,
                  "Texts: CSV, TSV, JSON Lines, a folder of texts, or - for stdin");
  verb.add_option("--text", typed.text, "Text to classify at once, instead of IN");
  verb.add_option("--text-pair", typed.pair, "Second text of a pair with --text");
  verb.add_option("-o,--output FILE", typed.prediction.output, "File of the predictions; - is stdout");
  verb.add_option("-O,--output-type", typed.form, "Type of the output", CLI::IsMember({"tsv", "jsonl"}));
  verb.with_word(
      verb.add_option(
          "--length", typed.options.length,
          "Most tokens of an input; longer ones are cut (default: as many as the model was trained with)"),
      "auto", "0");
  typed.columns.add(verb, false);
  typed.work.add(verb);
  typed.work.add_chunk(verb, "texts", texts_of_a_chunk);
  typed.scoring.add(verb, {});
  add_machine(verb);
}

}  // namespace

int cmd_text_classify_predict(int argc, char** argv) {
  Verb verb("text classify predict", "Classify texts: the probability of every class.",
            {("bigbird text classify predict -m demo-text-output/classify/final --text \"The kernel "
              "returns -1 and sets errno to EFAULT.\""),
             ("bigbird text classify predict -m demo-text-output/classify/final "
              "demo-text-output/pages/test.jsonl -o predictions.tsv"),
             ("head -n 5 demo-text-output/pages/test.jsonl | bigbird text classify predict -m "
              "demo-text-output/classify/final --format jsonl - > first.tsv")});
  ClassifyCommand typed;
  typed.prediction.output = "-";
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  TextClassifierOptions& options = typed.options;
  TextPredictionOptions& prediction = typed.prediction;
  const bool at_once = verb.given("--text");
  if (at_once == !prediction.input.empty() || (verb.given("--text-pair") && !at_once)) {
    throw_usage("text classify predict: give the texts in one way", "a file (or -), or --text \"...\"");
  }
  if (at_once && typed.work.asked()) {
    throw_usage("text classify predict: --shard and --resume are of a file of texts",
                "one text is classified at once");
  }
  options.batch = typed.scoring.batch();
  prediction.work = typed.work.work(verb);
  prediction.form = typed.form == "jsonl" ? PredictionForm::jsonl : PredictionForm::tsv;
  const auto backend = verb.make_backend({options.model});
  TextClassifier classifier(options, *backend);
  InputTally tally;
  if (at_once) {
    std::optional<std::string> second;
    if (verb.given("--text-pair")) second = checked_text(typed.pair, "--text-pair");
    tally = classify_at_once(checked_text(typed.text, "--text"), second, prediction, classifier);
  } else {
    prediction.columns = typed.columns.columns(Labels::ignored);
    prediction.precision = backend->precision();
    if (verb.provenance()) {
      Provenance provenance = verb.made_from();
      provenance.inputs = {model_input(options.model, classifier.folder().weights_digest())};
      prediction.comments = verb.head_of(prediction.output, provenance);
    }
    tally = predict_texts(prediction, classifier);
  }
  say_inputs(at_once ? "the text" : prediction.input, tally, classifier.length());
  verb.set_throughput(static_cast<double>(tally.inputs), "texts");
  return 0;
}

}  // namespace bigbird::apps
