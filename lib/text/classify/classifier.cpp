// Texts through a classifier; see classifier.h.
#include "lib/text/classify/classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/inference/probabilities.h"

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
    throw_usage(message("`length` {}: no room for a token beside [CLS] and [SEP]", length_),
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
  InputTally tally;
  std::vector<LabelledText> chunk(texts_of_a_chunk);
  std::vector<EncodedInput> encoded(texts_of_a_chunk);
  std::vector<UnknownTally> unknown(texts_of_a_chunk);
  for (bool more = true; more;) {
    throw_if_cancelled();
    std::size_t size = 0;
    while (size < texts_of_a_chunk && (more = next(chunk[size]))) ++size;
    kernels::parallel_for(size, [&](std::size_t i) {
      unknown[i] = {};
      encoded[i] = classifier.encode(chunk[i].text, chunk[i].pair, &unknown[i]);
    });
    for (std::size_t i = 0; i < size; ++i) {
      ++tally.inputs;
      tally.cut += encoded[i].cut ? 1u : 0u;
      tally.blank += encoded[i].blank ? 1u : 0u;
      tally.longest = std::max(tally.longest, static_cast<std::int64_t>(encoded[i].ids.size()));
      tally.unknown.add(unknown[i]);
      chunk[i].text.clear();  // what waits for its batch is not held twice
      chunk[i].pair.reset();
      classifier.add(std::move(encoded[i]), [&row, text = std::move(chunk[i])](
                                                std::span<const double> values) { row(text, values); });
    }
  }
  classifier.finish();
  return tally;
}

}  // namespace bigbird
