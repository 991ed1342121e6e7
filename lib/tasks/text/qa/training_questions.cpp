// Questions as windows with labels; see training_questions.h.
#include "lib/tasks/text/qa/training_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/tasks/text/qa/encode_question.h"

namespace bigbird {

void TrainingQuestions::append(std::size_t index, const ModelConfig& config, Batch& batch) const {
  const Window& sample = windows_.at(index);
  const Question& question = kept_[sample.question];
  const auto context = question.context->begin() + static_cast<std::ptrdiff_t>(sample.window.first);
  std::vector<std::int32_t> ids, types;
  const auto add = [&](std::uint32_t id, std::int32_t type) {
    ids.push_back(static_cast<std::int32_t>(id));
    types.push_back(type);
  };
  add(cls_, 0);
  for (const std::uint32_t id : question.ids) add(id, 0);
  add(sep_, 0);
  for (std::size_t i = 0; i < sample.window.count; ++i) add(context[static_cast<std::ptrdiff_t>(i)], 1);
  add(sep_, 1);
  batch.append(ids, types, config.block_size, static_cast<std::int32_t>(config.pad_token_id),
               config.input_length);
  batch.start_positions.push_back(static_cast<std::int32_t>(sample.label.start));
  batch.end_positions.push_back(static_cast<std::int32_t>(sample.label.end));
}

TrainingQuestions read_training_questions(const std::string& path, const SquadOptions& options,
                                          const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                                          const WindowOptions& windows) {
  TrainingQuestions side;
  side.cls_ = tokenizer.special().cls;
  side.sep_ = tokenizer.special().sep;
  SquadReader reader(path, options);
  QuestionEncoder encoder(tokenizer, encoding, windows.max_question);
  LabelCeiling ceiling;
  QuestionExample example;
  std::shared_ptr<const ContextTokens> last_context;
  std::shared_ptr<const std::vector<std::uint32_t>> last_ids;
  while (reader.next(example)) {
    throw_if_cancelled();
    EncodedQuestion encoded = encoder.encode(example);
    const std::size_t question = encoded.question.size();
    const std::vector<ContextWindow> cut =
        context_windows(question, encoded.context->ids.size(), windows, example.where);
    if (encoded.context != last_context) {
      last_context = encoded.context;
      last_ids = std::make_shared<const std::vector<std::uint32_t>>(last_context->ids);
    }
    const auto number = static_cast<std::uint32_t>(side.kept_.size());
    for (const ContextWindow& window : cut) {
      SpanLabel label;
      if (!example.answers.empty())
        label = span_label(*encoded.context, window, question, example.answers.front().span);
      side.answered_windows_ += label.start > 0 ? 1u : 0u;
      side.longest_ = std::max(side.longest_, static_cast<std::int64_t>(input_length(question, window)));
      side.windows_.push_back({number, window, label});
    }
    if (example.answers.empty()) {
      ceiling.add_unanswerable();
      ++side.unanswerable_;
    } else {
      ceiling.add(example, encoded, cut);
    }
    side.kept_.push_back({std::move(encoded.question), last_ids});
  }
  if (side.windows_.empty()) {
    throw_bad_input(path + ": there are no questions to learn from",
                    reader.skipped().empty() ? "give a file with at least one question"
                                             : "left out: " + reader.skipped().text());
  }
  side.questions_ = ceiling.questions();
  side.outside_ = ceiling.outside();
  side.ceiling_ = ceiling.exact_match();
  side.cut_questions_ = encoder.cut_questions();
  side.max_question_ = windows.max_question;
  side.unknown_ = encoder.unknown();
  side.skipped_ = reader.skipped();
  side.noted_ = reader.noted();
  return side;
}

void TrainingQuestions::say(const std::string& path) const {
  log_info(fmt::format(
      "{}: {} questions ({} without an answer) in {} windows, {} of them with the answer; labels that are all "
      "right would give an exact match of {:.2f}",
      path, questions(), unanswerable(), windows(), answered_windows(), ceiling()));
  if (!skipped().empty()) log_warning(fmt::format("{}: questions left out: {}", path, skipped().text()));
  if (!noted().empty()) log_info(fmt::format("{}: {}", path, noted().text()));
  if (outside() > 0) {
    log_warning(
        fmt::format("{}: {} answers lie in no window whole; a larger `overlap` keeps them", path, outside()));
  }
  if (cut_questions() > 0) {
    log_warning(fmt::format("{}: {} questions are longer than {} tokens and are cut", path, cut_questions(),
                            max_question_));
  }
  if (const auto warning = unknown().warning()) log_warning(path + ": " + *warning);
}

}  // namespace bigbird
