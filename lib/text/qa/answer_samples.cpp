// Samples of questions in a batch; see answer_samples.h.
#include "lib/text/qa/answer_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/text/qa/two_inputs.h"

namespace bigbird {
namespace {

void append_answer_input(const AnswerInput& input, const ModelConfig& config, Batch& batch) {
  std::vector<std::int32_t> ids, types(input.question.size(), 0);
  ids.reserve(input.size());
  for (const std::uint32_t id : input.question) ids.push_back(static_cast<std::int32_t>(id));
  for (std::size_t i = 0; i < input.window.count; ++i)
    ids.push_back(static_cast<std::int32_t>(input.text->at(input.window.first + i)));
  if (input.sep) ids.push_back(static_cast<std::int32_t>(*input.sep));
  const auto pad = static_cast<std::int32_t>(config.pad_token_id);
  if (input.globals) {
    const std::int64_t first_global = batch.globals.tokens();
    batch.append(two_inputs(std::move(ids), *input.globals), config.block_size, pad);
    if (input.globals->type_at_global) batch.sequence_rows.push_back(global_row(first_global));
    return;
  }
  types.resize(ids.size(), 1);
  batch.append(ids, types, config.block_size, pad, config.input_length);
}

// Where an input begins in the batch.
struct FirstRows {
  std::int64_t token = 0;
  std::int64_t global = 0;
};

// `first_rows`: of the sample's inputs.
void append_target(const AnswerTarget& target, const std::vector<FirstRows>& first_rows,
                   TokenTargets& targets) {
  targets.open_group(target.parts);
  for (const InputRows& rows : target.rows) {
    for (std::uint32_t i = rows.first; i < rows.first + rows.count; ++i) {
      const bool right =
          std::find(target.right.begin(), target.right.end(), std::pair(rows.input, i)) != target.right.end();
      const FirstRows& first = first_rows.at(rows.input);
      targets.add(target.of_globals ? global_row(first.global + i) : first.token + i, right);
    }
  }
}

}  // namespace

AnswerInput split_input(const QuestionInput& input) {
  AnswerInput result;
  if (input.globals) {
    result.question = input.ids;
    result.globals = input.globals;
    return result;
  }
  const auto text = std::find(input.types.begin(), input.types.end(), 1U) - input.types.begin();
  result.question.assign(input.ids.begin(), input.ids.begin() + text);
  result.text =
      std::make_shared<const std::vector<std::uint32_t>>(input.ids.begin() + text, input.ids.end() - 1);
  result.window = {0, result.text->size()};
  result.sep = input.ids.back();
  return result;
}

std::vector<std::uint32_t> question_part(const std::vector<std::uint32_t>& question, std::uint32_t cls,
                                         std::uint32_t sep) {
  std::vector<std::uint32_t> part = {cls};
  part.insert(part.end(), question.begin(), question.end());
  part.push_back(sep);
  return part;
}

void AnswerSamples::append(std::size_t index, const ModelConfig& config, Batch& batch) const {
  const AnswerSample& sample = samples_.at(index);
  std::vector<FirstRows> first_rows;
  for (const AnswerInput& input : sample.inputs) {
    first_rows.push_back({batch.tokens(), batch.globals.tokens()});
    append_answer_input(input, config, batch);
  }
  batch.token_targets.resize(sample.targets.size());
  for (std::size_t i = 0; i < sample.targets.size(); ++i)
    append_target(sample.targets[i], first_rows, batch.token_targets[i]);
  if (sample.span) {
    batch.start_positions.push_back(static_cast<std::int32_t>(sample.span->start));
    batch.end_positions.push_back(static_cast<std::int32_t>(sample.span->end));
  }
  if (sample.type) batch.sequence_labels.push_back(*sample.type);
}

void AnswerSamples::add(AnswerSample sample) {
  inputs_ += sample.inputs.size();
  most_inputs_ = std::max(most_inputs_, static_cast<std::int64_t>(sample.inputs.size()));
  for (const AnswerInput& input : sample.inputs) {
    longest_ = std::max(longest_, static_cast<std::int64_t>(input.size()));
    if (input.globals)
      most_globals_ = std::max(most_globals_, static_cast<std::int64_t>(input.globals->globals.size()));
  }
  samples_.push_back(std::move(sample));
}

void AnswerSamples::say(const std::string& path) const {
  log_info(fmt::format(
      "{}: {} questions ({} without an answer){}", path, facts_.questions, facts_.unanswerable,
      facts_.more.empty() ? fmt::format(", {} samples of {} inputs", size(), inputs()) : facts_.more));
  if (!facts_.skipped.empty())
    log_warning(fmt::format("{}: {}left out: {}", path, facts_.skipped_name, facts_.skipped.text()));
  if (!facts_.noted.empty()) log_info(fmt::format("{}: {}", path, facts_.noted.text()));
  if (!facts_.warning.empty()) log_warning(path + ": " + facts_.warning);
  if (facts_.cut_questions > 0) {
    log_warning(fmt::format("{}: {} questions are longer than {} tokens and are cut", path,
                            facts_.cut_questions, facts_.max_question));
  }
  if (const auto warning = facts_.unknown.warning()) log_warning(path + ": " + *warning);
}

AnswerSamples read_samples(const QuestionTask& task, const std::string& path, const SampleOptions& options,
                           const Tokenizer& tokenizer) {
  AnswerSamples samples = task.samples(path, options, tokenizer);
  samples.facts().max_question = options.windows.max_question;
  if (samples.size() == 0) {
    const ReasonCounts& skipped = samples.facts().skipped;
    throw_bad_input(
        path + ": there are no questions to learn from",
        skipped.empty() ? "give a file with at least one question" : "left out: " + skipped.text());
  }
  return samples;
}

}  // namespace bigbird
