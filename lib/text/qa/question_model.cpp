// A model that answers questions; see question_model.h.
#include "lib/text/qa/question_model.h"

#include <fmt/format.h>

#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/text/run_identity.h"

namespace bigbird {
namespace {

// A copy: results live for a call alone.
InputLogits kept_logits(const SequenceResult& result) {
  InputLogits kept;
  const auto keep = [&](std::span<const float> logits) {
    if (!logits.empty()) kept.scores.emplace_back(logits.begin(), logits.end());
  };
  keep(result.start_logits);
  keep(result.end_logits);
  for (const std::span<const float> logits : result.token_logits) keep(logits);
  kept.types.assign(result.sequence_logits.begin(), result.sequence_logits.end());
  return kept;
}

}  // namespace

QuestionModel::QuestionModel(const QuestionTask& task, const QuestionModelOptions& options,
                             kernels::Backend& backend)
    : name_(task.name), folder_(options.model), precision_(backend.precision()) {
  require_answer_head(folder_, task);
  folder_.require(Alphabet::text);
  settings_ = read_text_settings(options.model);
  if (settings_.task.value_or(TextTask::question_answering) != TextTask::question_answering) {
    throw_bad_input(
        fmt::format("{}: a model for {}, not for questions", options.model, name_of(*settings_.task)),
        "make one with `bigbird text qa finetune`");
  }
  const std::int64_t length = prediction_length(options.length, settings_, folder_.config());
  windows_ = prediction_windows(length, options.windows, settings_);
  SequenceRunnerOptions runner;
  runner.batch = options.batch;
  runner.answer_logits = true;
  runner.longest = length;
  runner.waits = true;
  runner_ = std::make_unique<SequenceRunner>(folder_, runner, backend);
}

RunIdentity QuestionModel::identity() const {
  RunIdentity identity = model_identity(folder_, settings_, precision_);
  identity["format"] = name_;
  identity["length"] = std::to_string(windows_.length);
  identity["overlap"] = windows_.step ? "" : std::to_string(windows_.overlap);
  identity["step"] = windows_.step ? std::to_string(*windows_.step) : "";
  identity["max_question"] = std::to_string(windows_.max_question);
  return identity;
}

void QuestionModel::run(const QuestionInputs& question,
                        std::function<void(const std::vector<InputLogits>&)> done) {
  struct Pending {
    std::size_t inputs = 0;
    std::vector<InputLogits> logits;  // of the inputs that have run, in their order
    std::function<void(const std::vector<InputLogits>&)> done;
  };
  ++questions_;
  cut_questions_ += question.question_was_cut ? 1U : 0U;
  const auto pending = std::make_shared<Pending>();
  pending->inputs = question.inputs.size();
  pending->done = std::move(done);
  for (const auto& [ids, types] : question.inputs) {
    throw_if_cancelled();
    ++inputs_;
    runner_->add({{ids.begin(), ids.end()}, {types.begin(), types.end()}},
                 [pending](const SequenceResult& result) {
                   pending->logits.push_back(kept_logits(result));
                   if (pending->logits.size() == pending->inputs) pending->done(pending->logits);
                 });
  }
}

void QuestionModel::say(const std::string& path) const {
  if (cut_questions_ > 0) {
    log_warning(fmt::format("{}: {} of {} questions are longer than {} tokens and are cut", path,
                            cut_questions_, questions_, windows_.max_question));
  }
  if (const auto warning = unknown_.warning()) log_warning(path + ": " + *warning);
}

QuestionWindows encode_windows(const QuestionExample& question, QuestionEncoder& encoder,
                               QuestionModel& model, QuestionInputs& inputs) {
  QuestionWindows encoded;
  encoded.question = encoder.encode(question, model.unknown());
  const auto& [tokens, given_tokens, context] = encoded.question;
  encoded.windows = context_windows(tokens.size(), context->ids.size(), model.windows(), question.where);
  inputs.question_was_cut = encoded.question.question_was_cut();
  const SpecialIds& special = model.tokenizer().special();
  for (const ContextWindow& window : encoded.windows)
    inputs.inputs.push_back(window_input(tokens, *context, window, special.cls, special.sep));
  return encoded;
}

}  // namespace bigbird
