// Heads by data set; see answer_heads.h.
#include "lib/tasks/text/qa/answer_heads.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/tasks/text/qa/natural_questions_input.h"

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

AnswerHead answer_head(QuestionFormat format) {
  switch (format) {
    case QuestionFormat::hotpotqa:
      return {HeadType::structured_answers,
              {{"start", true}, {"end", true}, {"support", false}},
              {"span", "yes", "no"}};
    case QuestionFormat::natural_questions:
      return {HeadType::structured_answers,
              {{"short_start", true}, {"short_end", true}, {"long_start", true}, {"long_end", true}},
              {name_of(PageAnswerType::null), name_of(PageAnswerType::yes), name_of(PageAnswerType::no),
               name_of(PageAnswerType::long_answer), name_of(PageAnswerType::short_answer)}};
    case QuestionFormat::wikihop:
      return {HeadType::structured_answers, {{"candidate", true}}, {}};
    default:
      return {};
  }
}

LoadedModel load_with_head(const ModelFolder& folder, QuestionFormat format, std::uint64_t seed) {
  const AnswerHead head = answer_head(format);
  LoadOptions options;
  options.head = head.type;
  options.seed = seed;
  options.token_scores = head.scores;
  options.type_names = head.types;
  return folder.load(options);
}

void require_answer_head(const ModelFolder& folder, QuestionFormat format) {
  const AnswerHead wanted = answer_head(format);
  const ModelConfig& config = folder.config();
  if (wanted.type == HeadType::question_answering) return folder.require_question_head();
  if (config.head == wanted.type && config.token_scores == wanted.scores &&
      config.label_names == wanted.types) {
    return;
  }
  throw_bad_input(
      fmt::format("{}: {} needs a head {}, and the model's is {}", folder.path(), name_of(format),
                  head_text(wanted.type, wanted.scores, wanted.types),
                  head_text(config.head, config.token_scores, config.label_names)),
      fmt::format("make one with `bigbird text qa finetune` and the `format` {}", name_of(format)));
}

}  // namespace bigbird
