// Samples of HotpotQA; see training_data.h.
#include <algorithm>
#include <memory>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/tasks/text/qa/answer_heads.h"
#include "lib/tasks/text/qa/hotpotqa_input.h"
#include "lib/tasks/text/qa/training_data.h"

namespace bigbird {
namespace {

constexpr const char* sentences_left_out = "sentences beyond the length";
constexpr const char* answer_left_out = "answers beyond the length";

// An input that was laid out whole, as question and text: types tell where one ends.
AnswerInput hotpot_answer_input(const HotpotInput& input) {
  AnswerInput result;
  const auto text = std::find(input.types.begin(), input.types.end(), 1U) - input.types.begin();
  result.question.assign(input.ids.begin(), input.ids.begin() + text);
  result.text =
      std::make_shared<const std::vector<std::uint32_t>>(input.ids.begin() + text, input.ids.end() - 1);
  result.window = {0, result.text->size()};
  result.sep = input.ids.back();
  return result;
}

AnswerSample hotpot_sample(const HotpotInput& input, const HotpotLabel& label) {
  AnswerSample sample;
  sample.inputs.push_back(hotpot_answer_input(input));
  sample.type = static_cast<std::int32_t>(label.type);
  sample.targets.resize(answer_head(QuestionFormat::hotpotqa).scores.size());
  const InputRows all{0, 0, static_cast<std::uint32_t>(input.ids.size())};
  sample.targets[hotpot_start] = {{all}, {{0, static_cast<std::uint32_t>(label.span.start)}}};
  sample.targets[hotpot_end] = {{all}, {{0, static_cast<std::uint32_t>(label.span.end)}}};
  AnswerTarget& support = sample.targets[hotpot_support];
  for (std::size_t i = 0; i < input.segments.size(); ++i) {
    if (!input.segments[i].sentence) continue;
    const auto mark = static_cast<std::uint32_t>(input.segments[i].mark);
    support.rows.push_back({0, mark, 1});
    if (label.supporting[i] != 0) support.right.emplace_back(0, mark);
  }
  return sample;
}

}  // namespace

AnswerSamples read_hotpot_samples(const std::string& path, const AnswerReading& reading,
                                  const Tokenizer& tokenizer) {
  HotpotReader reader(path, QuestionPurpose::train, reading.replace_invalid);
  const HotpotEncoder encoder(tokenizer, reading.encoding, reading.windows.max_question);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  HotpotExample example;
  while (reader.next(example)) {
    throw_if_cancelled();
    const HotpotInput input = encoder.encode(example, reading.windows.length, &facts.unknown);
    const HotpotLabel label = hotpot_label(example, input);
    facts.cut_questions += input.question_was_cut ? 1U : 0U;
    facts.noted.add(sentences_left_out, input.left_out);
    if (label.type == HotpotAnswerType::span && label.span.start == 0) facts.noted.add(answer_left_out);
    samples.add(hotpot_sample(input, label));
    ++facts.questions;
  }
  facts.max_question = reading.windows.max_question;
  facts.skipped.add(reader.skipped());
  facts.noted.add(reader.noted());
  return samples;
}

}  // namespace bigbird
