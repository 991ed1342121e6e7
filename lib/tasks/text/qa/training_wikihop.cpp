// Samples of WikiHop; see training_data.h.
#include <algorithm>
#include <memory>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/tasks/text/qa/training_data.h"
#include "lib/tasks/text/qa/wikihop.h"

namespace bigbird {
namespace {

constexpr const char* supports_beyond = "questions whose supports go beyond the first input";

AnswerSample wikihop_sample(const WikiHopInputs& inputs, std::size_t answer) {
  const WikiHopInput& first = inputs.windows.front();
  const auto text = std::find(first.types.begin(), first.types.end(), 1U) - first.types.begin();
  AnswerSample sample;
  AnswerInput& input = sample.inputs.emplace_back();
  input.question.assign(first.ids.begin(), first.ids.begin() + text);
  input.text =
      std::make_shared<const std::vector<std::uint32_t>>(first.ids.begin() + text, first.ids.end() - 1);
  input.window = {0, input.text->size()};
  input.sep = first.ids.back();
  AnswerTarget& target = sample.targets.emplace_back();
  for (const std::size_t mark : inputs.candidate_marks)
    target.rows.push_back({0, static_cast<std::uint32_t>(mark), 1});
  target.right = {{0, static_cast<std::uint32_t>(inputs.candidate_marks.at(answer))}};
  return sample;
}

}  // namespace

AnswerSamples read_wikihop_samples(const std::string& path, const AnswerReading& reading,
                                   const Tokenizer& tokenizer) {
  WikiHopReader reader(path, QuestionPurpose::train, reading.replace_invalid);
  const WikiHopEncoder encoder(tokenizer, reading.encoding);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  WikiHopExample example;
  while (reader.next(example)) {
    throw_if_cancelled();
    const WikiHopInputs inputs = encoder.encode(example, reading.windows.length, &facts.unknown);
    if (inputs.windows.size() > 1) facts.noted.add(supports_beyond);
    samples.add(wikihop_sample(inputs, example.answer_candidate.value()));
    ++facts.questions;
  }
  facts.noted.add(reader.noted());
  return samples;
}

}  // namespace bigbird
