// `bigbird text classify predict`: classes of texts, as a table or as JSON Lines; or of one text, at once.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/text/text_lines.h"
#include "lib/tasks/text/classify/classifier.h"
#include "lib/tasks/text/classify/evaluate.h"

namespace bigbird::apps {
namespace {

// The class, the labels that are there ("a,b"), or the number.
std::string predicted_label(const TextClassifier& classifier, std::span<const double> values) {
  if (classifier.problem() != ProblemType::multi_label) return classifier.names()[best_output(values)];
  std::string labels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= label_threshold) labels += (labels.empty() ? "" : ",") + classifier.names()[i];
  }
  return labels.empty() ? "." : labels;
}

class PredictionTable {
 public:
  PredictionTable(OutputStream& out, const TextClassifier& classifier, bool json,
                  const std::vector<std::string>& comments)
      : out_(out), classifier_(classifier) {
    if (json) return;
    std::vector<std::string> columns = {"id"};
    if (is_number()) {
      columns.emplace_back("score");
    } else {
      columns.insert(columns.end(), {"label", "score"});
      for (const std::string& name : classifier.names()) columns.push_back("p." + escape_controls(name));
    }
    table_ = std::make_unique<TsvWriter>(out, columns, comments);
  }

  void row(const std::string& id, std::span<const double> values) {
    const bool regression = is_number();
    const double score = values[best_output(values)];
    if (table_ == nullptr) {
      nlohmann::ordered_json json;
      json["id"] = id;
      if (!regression) json["label"] = predicted_label(classifier_, values);
      json["score"] = score;
      if (!regression) {
        for (std::size_t i = 0; i < values.size(); ++i) json["scores"][classifier_.names()[i]] = values[i];
      }
      out_.write(json.dump() + "\n");
      return;
    }
    std::vector<std::string> fields = {escape_controls(id)};
    if (!regression) fields.push_back(escape_controls(predicted_label(classifier_, values)));
    fields.push_back(fmt::format("{:.9g}", score));
    if (!regression) {
      for (const double value : values) fields.push_back(fmt::format("{:.9g}", value));
    }
    table_->row(fields);
  }

 private:
  // One number without a class; a regression of several has a column for each, as the pipeline has.
  bool is_number() const {
    return classifier_.problem() == ProblemType::regression && classifier_.names().size() == 1;
  }

  OutputStream& out_;
  const TextClassifier& classifier_;
  std::unique_ptr<TsvWriter> table_;
};

}  // namespace

int cmd_text_classify_predict(int argc, char** argv) {
  Verb verb("text classify predict", "Classify texts with a fine-tuned model.",
            {"bigbird text classify predict -m run/final --text \"An honest, gripping film.\"",
             "bigbird text classify predict -m run/final reviews.csv -o predictions.tsv",
             "zcat reviews.jsonl.gz | bigbird text classify predict -m run/final --format jsonl - > "
             "predictions.tsv"});
  TextClassifierOptions options;
  std::string input, text, pair, output = "-", form = "tsv";
  TextColumnOptions columns;
  ScoringOptions scoring;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.model, "Model folder with a classification head")
      ->required()
      ->type_name("MODEL");
  app.add_option("IN", input, "CSV, TSV, JSON Lines, a folder of texts, or - for stdin")->type_name("FILE");
  CLI::Option* const text_option = app.add_option("--text", text, "Instead: one text, classified at once");
  CLI::Option* const pair_option =
      app.add_option("--text-pair", pair, "The second text of a pair with --text");
  app.add_option("-o,--output", output, "Where the predictions go; - is stdout")->type_name("FILE");
  app.add_option("-O,--output-type", form, "tsv or jsonl")->check(CLI::IsMember({"tsv", "jsonl"}));
  app.add_option("--length", options.length,
                 "Most tokens of an input; 0 is what the model was trained with. Longer ones are cut");
  columns.add(verb, false);
  scoring.add(verb, {});
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  if ((text_option->count() > 0) == !input.empty() ||
      (pair_option->count() > 0 && text_option->count() == 0)) {
    throw_usage("text classify predict: give the texts in one way", "a file (or -), or --text \"...\"");
  }
  options.batch = scoring.batch();
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  TextClassifier classifier(options, *backend);
  std::vector<std::string> comments;
  if (verb.provenance() && text_option->count() == 0) {
    Provenance provenance{bigbird_version(), verb.command(), std::nullopt, "", {}};
    provenance.inputs = {{"model", options.model, classifier.folder().weights_digest()}};
    comments = provenance_lines(provenance);
  }
  OutputStream out(output);
  PredictionTable table(out, classifier, form == "jsonl", comments);
  InputTally tally;
  if (text_option->count() > 0) {
    text = checked_text(text, "--text");
    pair = checked_text(pair, "--text-pair");
    const EncodedInput encoded = classifier.encode(
        text, pair_option->count() > 0 ? std::optional<std::string_view>(pair) : std::nullopt,
        &tally.unknown);
    tally.inputs = 1;
    tally.cut = encoded.cut ? 1 : 0;
    tally.blank = encoded.blank ? 1 : 0;
    classifier.add(encoded, [&](std::span<const double> values) { table.row("0", values); });
    classifier.finish();
  } else {
    const TextRows texts = labelled_rows(input, columns.columns(Labels::ignored));
    tally = classify_texts(
        texts.next, classifier,
        [&](const LabelledText& row, std::span<const double> values) { table.row(row.id, values); });
    if (tally.inputs == 0) throw_bad_input(input + ": there are no texts", "give a file with a row at least");
  }
  say_inputs(input.empty() ? "the text" : input, tally, classifier.length());
  out.close();
  verb.set_throughput(static_cast<double>(tally.inputs), "texts");
  return 0;
}

}  // namespace bigbird::apps
