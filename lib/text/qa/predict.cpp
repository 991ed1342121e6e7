// Answers of a file of questions, and the model that gives them; see predict.h.
#include "lib/text/qa/predict.h"

#include <fmt/format.h>

#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/text/text_settings.h"

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
  for (const std::span<const float> logits : result.global_logits)
    kept.global_scores.emplace_back(logits.begin(), logits.end());
  kept.types.assign(result.sequence_logits.begin(), result.sequence_logits.end());
  return kept;
}

using Pending = std::shared_ptr<PendingQuestion>;

void answer_chunk(std::vector<Pending>& chunk, QuestionModel& model, const std::vector<ChunkedOutput>& forms,
                  ChunkedOutputs& outputs) {
  std::vector<AnswerFile> files;
  for (std::size_t i = 0; i < forms.size(); ++i)
    files.emplace_back(forms[i].form, [&outputs, i](std::string_view text) { outputs.write(i, text); });
  for (Pending& given : chunk) {
    const Pending question = std::move(given);
    model.run(question->encode(), [question, &files](const std::vector<InputLogits>& logits) {
      const std::vector<AnswerEntry> entries = question->decode(logits);
      for (std::size_t i = 0; i < files.size(); ++i) files[i].add(entries.at(i));
    });
  }
  model.finish();
  for (AnswerFile& file : files) file.finish();
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
  globals_ = globals_of_windows(folder_.tokenizer(), most_globals(folder_.config()));
  const std::int64_t length = prediction_length(options.length, settings_, folder_.config());
  windows_ = prediction_windows(length, options.windows, settings_);
  SequenceRunnerOptions runner;
  runner.batch = options.batch;
  runner.answer_logits = true;
  runner.longest = length;
  runner.globals = static_cast<std::int64_t>(globals_.most);
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
  for (const auto& [ids, types, globals] : question.inputs) {
    throw_if_cancelled();
    ++inputs_;
    SequenceInput input = {{ids.begin(), ids.end()}, {types.begin(), types.end()}};
    if (globals) {
      input.two_inputs = two_inputs(input.ids, *globals);
      input.reads_global = globals->type_at_global;
    }
    runner_->add(input, [pending](const SequenceResult& result) {
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
  const auto& [tokens, was_cut, context] = encoded.question;
  encoded.windows = context_windows(tokens.size(), context->ids.size(), model.windows(), question.where);
  inputs.question_was_cut = was_cut;
  const SpecialIds& special = model.tokenizer().special();
  for (const ContextWindow& window : encoded.windows) {
    inputs.inputs.push_back(window_input(tokens, *context, window, special.cls, special.sep));
    inputs.inputs.back().globals = sentence_globals(tokens.size(), *context, window, model.window_globals());
  }
  return encoded;
}

std::uint64_t predict_questions(const QuestionTask& task, const QuestionPredictionOptions& options,
                                kernels::Backend& backend) {
  QuestionModel model(task, options, backend);
  const std::unique_ptr<QuestionPredictor> predictor = task.predictor(options, model);
  RunIdentity identity = model.identity();
  identity.merge(predictor->identity());
  const std::vector<ChunkedOutput> forms = predictor->outputs();
  ChunkedOutputs outputs(forms, identity, options.input, options.work);
  if (outputs.are_whole()) return 0;
  outputs.run<Pending>(
      [&](Pending& question) { return (question = predictor->read()) != nullptr; },
      [](Sha256& digest, const Pending& question) { question->add_to(digest); },
      [&](std::vector<Pending>& chunk) { answer_chunk(chunk, model, forms, outputs); },
      {options.input + ": there are no questions", "give a file with at least one question"});
  predictor->say();
  return model.questions();
}

}  // namespace bigbird
