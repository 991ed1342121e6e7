// Texts through a classifier, and the classes of a file of them; see predict.h.
#include "lib/text/classify/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/inference/probabilities.h"
#include "lib/io/files/sha256.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/text/text_lines.h"
#include "lib/text/classify/evaluate.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::size_t texts_of_a_chunk = 256;

std::vector<std::string> output_names(const ModelConfig& config) {
  if (config.problem_type == ProblemType::regression && config.num_labels == 1) return {"score"};
  std::vector<std::string> names = config.label_names;
  for (auto i = static_cast<std::int64_t>(names.size()); i < config.num_labels; ++i)
    names.push_back(fmt::format("LABEL_{}", i));
  return names;
}

std::vector<double> class_values(std::span<const float> logits, ProblemType problem) {
  std::vector<double> values(logits.begin(), logits.end());
  if (problem == ProblemType::regression) return values;
  if (problem == ProblemType::multi_label || logits.size() == 1) {
    for (double& value : values) value = sigmoid(value);
    return values;
  }
  const Softmax softmax(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) values[i] = softmax(logits[i]);
  return values;
}

// Of several labels those that are there.
std::vector<std::string> labels_that_are_there(const TextClassifier& classifier,
                                               std::span<const double> values) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= label_threshold) labels.push_back(classifier.names()[i]);
  }
  return labels;
}

// The class, the labels that are there ("a,b"), or the number.
std::string predicted_label(const TextClassifier& classifier, std::span<const double> values) {
  if (classifier.problem() != ProblemType::multi_label) return classifier.names()[best_output(values)];
  const std::vector<std::string> labels = labels_that_are_there(classifier, values);
  return labels.empty() ? missing_field : fmt::format("{}", fmt::join(labels, ","));
}

void add_text(Sha256& digest, const LabelledText& text) {
  add_to_digest(digest, text.id);
  add_to_digest(digest, text.text);
  add_to_digest(digest, text.pair ? "pair" : "");
  if (text.pair) add_to_digest(digest, *text.pair);
}

}  // namespace

TextClassifier::TextClassifier(const TextClassifierOptions& options, kernels::Backend& backend)
    : folder_(options.model) {
  folder_.require_classifier();
  folder_.require(Alphabet::text);
  settings_ = read_text_settings(options.model);
  if (settings_.task.value_or(TextTask::classification) != TextTask::classification) {
    throw_bad_input(
        fmt::format("{}: a model for {}, not for classification", options.model, name_of(*settings_.task)),
        "make one with `bigbird text classify finetune`");
  }
  length_ = options.length != 0     ? options.length
            : settings_.length != 0 ? settings_.length
                                    : most_tokens(folder_.config());
  if (length_ < 3) {
    throw_usage(message("`length` {}: no room for a token next to [CLS] and [SEP]", length_),
                "the usual values are 128 to 4096");
  }
  names_ = output_names(folder_.config());
  SequenceRunnerOptions runner;
  runner.batch = options.batch;
  runner.sequence_logits = true;
  runner.longest = length_;
  runner.waits = true;
  runner_ = std::make_unique<SequenceRunner>(folder_, runner, backend);
}

EncodedInput TextClassifier::encode(std::string_view text, std::optional<std::string_view> pair,
                                    UnknownTally* unknown) const {
  return encode_input(folder_.tokenizer(), text, pair, settings_, length_, unknown);
}

void TextClassifier::add(EncodedInput input, std::function<void(std::span<const double>)> done) {
  runner_->add({std::move(input.ids), std::move(input.types)}, [this, done = std::move(done)](
                                                                   const SequenceResult& result) {
    for (const float logit : result.sequence_logits) {
      if (!std::isfinite(logit)) {
        throw_runtime(folder_.path() + ": the model gives values that are not finite", "see bigbird check");
      }
    }
    done(class_values(result.sequence_logits, problem()));
  });
}

void TextClassifier::finish() {
  runner_->finish();
}

std::size_t best_output(std::span<const double> values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

InputTally classify_texts(const NextText& next, TextClassifier& classifier,
                          const std::function<void(const LabelledText&, std::span<const double>)>& row) {
  const InputTally tally = encode_texts(
      next, texts_of_a_chunk,
      [&](const LabelledText& text, UnknownTally* unknown) {
        return classifier.encode(text.text, text.pair, unknown);
      },
      [&](LabelledText& text, EncodedInput& encoded) {
        text.text.clear();  // what waits for its batch is not held twice
        text.pair.reset();
        classifier.add(std::move(encoded),
                       [&row, text = std::move(text)](std::span<const double> values) { row(text, values); });
      });
  classifier.finish();
  return tally;
}

bool PredictionRows::is_number() const {
  // A regression of several numbers has a column for each, as the pipeline has.
  return classifier_.problem() == ProblemType::regression && classifier_.names().size() == 1;
}

std::string PredictionRows::head(const std::vector<std::string>& comments) const {
  if (form_ == PredictionForm::jsonl) return {};
  std::vector<std::string> columns = {"id"};
  if (is_number()) {
    columns.emplace_back("score");
  } else {
    columns.insert(columns.end(), {"label", "score"});
    for (const std::string& name : classifier_.names()) columns.push_back("p." + escape_controls(name));
  }
  std::string head;
  for (const std::string& comment : comments) head += "##" + comment + "\n";
  return head + fmt::format("{}\n", fmt::join(columns, "\t"));
}

std::string PredictionRows::row(const std::string& id, std::span<const double> values) const {
  const double score = values[best_output(values)];
  if (form_ == PredictionForm::jsonl) {
    nlohmann::ordered_json json;
    json["id"] = id;
    if (classifier_.problem() == ProblemType::multi_label) {
      json["label"] = labels_that_are_there(classifier_, values);
    } else if (!is_number()) {
      json["label"] = predicted_label(classifier_, values);
    }
    json["score"] = score;
    if (!is_number()) {
      for (std::size_t i = 0; i < values.size(); ++i) json["scores"][classifier_.names()[i]] = values[i];
    }
    return json_text(json) + "\n";
  }
  std::vector<std::string> fields = {escape_controls(id)};
  if (!is_number()) fields.push_back(escape_controls(predicted_label(classifier_, values)));
  fields.push_back(fmt::format("{:.9g}", score));
  if (!is_number()) {
    for (const double value : values) fields.push_back(fmt::format("{:.9g}", value));
  }
  return fmt::format("{}\n", fmt::join(fields, "\t"));
}

InputTally predict_texts(const TextPredictionOptions& options, TextClassifier& classifier) {
  const TextRows texts = labelled_rows(options.input, options.columns);
  const PredictionRows rows(classifier, options.form);
  RunIdentity identity = model_identity(classifier.folder(), classifier.settings(), options.precision);
  identity["length"] = std::to_string(classifier.length());
  const std::string kind = options.form == PredictionForm::jsonl ? "jsonl" : "tsv";
  ChunkedOutputs outputs({{options.output, kind, ChunkForm::lines, rows.head(options.comments)}}, identity,
                         options.input, options.work);
  InputTally tally;
  if (outputs.are_whole()) return tally;
  outputs.run<LabelledText>([&](LabelledText& text) { return texts.next(text); }, add_text,
                            [&](std::vector<LabelledText>& chunk) {
                              std::size_t taken = 0;
                              const auto next = [&](LabelledText& text) {
                                if (taken == chunk.size()) return false;
                                text = std::move(chunk[taken++]);
                                return true;
                              };
                              const auto write = [&](const LabelledText& text,
                                                     std::span<const double> values) {
                                outputs.write(0, rows.row(text.id, values));
                              };
                              tally.add(classify_texts(next, classifier, write));
                            },
                            {options.input + ": there are no texts", "give a file with a row at least"});
  return tally;
}

}  // namespace bigbird
