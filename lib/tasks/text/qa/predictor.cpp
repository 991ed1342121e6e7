// The shared part of prediction; see predictor.h.
#include "lib/tasks/text/qa/predictor.h"

#include <fmt/format.h>

#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/tasks/text/qa/answer_heads.h"

namespace bigbird {

AnswerPredictor::AnswerPredictor(QuestionFormat format, const AnswerPredictorOptions& options,
                                 kernels::Backend& backend)
    : format_(format), folder_(options.model) {
  require_answer_head(folder_, format);
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
  runner_ = std::make_unique<SequenceRunner>(folder_, runner, backend);
}

AnswerPredictor::~AnswerPredictor() = default;

std::map<std::string, std::string> AnswerPredictor::identity() const {
  return {{"format", name_of(format_)},
          {"length", std::to_string(windows_.length)},
          {"overlap", windows_.step ? "" : std::to_string(windows_.overlap)},
          {"step", windows_.step ? std::to_string(*windows_.step) : ""},
          {"max_question", std::to_string(windows_.max_question)}};
}

void AnswerPredictor::run(const std::vector<std::uint32_t>& ids, const std::vector<std::uint32_t>& types,
                          std::function<void(const SequenceResult&)> result) {
  throw_if_cancelled();
  ++inputs_;
  runner_->add({{ids.begin(), ids.end()}, {types.begin(), types.end()}}, std::move(result));
}

void AnswerPredictor::count_question(bool was_cut) {
  ++questions_;
  cut_questions_ += was_cut ? 1U : 0U;
}

void AnswerPredictor::finish() {
  runner_->finish();
}

void AnswerPredictor::say(const std::string& path) const {
  if (cut_questions_ > 0) {
    log_warning(fmt::format("{}: {} of {} questions are longer than {} tokens and are cut", path,
                            cut_questions_, questions_, windows_.max_question));
  }
  if (const auto warning = unknown_.warning()) log_warning(path + ": " + *warning);
}

}  // namespace bigbird
