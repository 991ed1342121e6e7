// The registry of data sets and their heads; see question_task.h.
#include "lib/text/qa/question_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// A head as a message names it: "structured-answers with start, end, support and the types span, yes, no".
std::string head_text(HeadType type, const std::vector<TokenScore>& scores,
                      const std::vector<std::string>& types) {
  if (type != HeadType::structured_answers) return name_of(type);
  std::vector<std::string> names;
  for (const TokenScore& score : scores) names.push_back(score.name);
  const std::string text = fmt::format("{} with {}", name_of(type), fmt::join(names, ", "));
  return types.empty() ? text : fmt::format("{} and the types {}", text, fmt::join(types, ", "));
}

}  // namespace

std::span<const QuestionTask* const> question_tasks() {
  static const std::array tasks{
      &squad_task(), &hotpotqa_task(), &nq_task(), &triviaqa_task(), &wikihop_task(),
  };
  return tasks;
}

const QuestionTask& question_task(std::string_view name) {
  std::vector<std::string> names;
  for (const QuestionTask* task : question_tasks()) {
    if (task->name == name) return *task;
    names.push_back(task->name);
  }
  throw_usage(fmt::format("'{}' is not a format of questions", name),
              fmt::format("one of: {}", fmt::join(names, ", ")));
}

bool QuestionTask::takes(std::string_view setting) const {
  return std::find(settings.begin(), settings.end(), setting) != settings.end();
}

LoadedModel load_with_head(const ModelFolder& folder, const QuestionTask& task, std::uint64_t seed) {
  LoadOptions options;
  options.head = task.head.type;
  options.seed = seed;
  options.token_scores = task.head.scores;
  options.type_names = task.head.types;
  return folder.load(options);
}

void require_answer_head(const ModelFolder& folder, const QuestionTask& task) {
  const AnswerHead& wanted = task.head;
  const ModelConfig& config = folder.config();
  if (wanted.type == HeadType::question_answering) return folder.require_question_head();
  if (config.head == wanted.type && config.token_scores == wanted.scores &&
      config.label_names == wanted.types) {
    return;
  }
  throw_bad_input(fmt::format("{}: {} needs a head {}, and the model's is {}", folder.path(), task.name,
                              head_text(wanted.type, wanted.scores, wanted.types),
                              head_text(config.head, config.token_scores, config.label_names)),
                  message("make one with `bigbird text qa finetune` and the `format` {}", task.name));
}

}  // namespace bigbird
