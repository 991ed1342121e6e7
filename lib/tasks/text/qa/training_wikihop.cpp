// Samples of WikiHop; see training_data.h.
#include <algorithm>
#include <memory>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/tasks/text/qa/training_data.h"
#include "lib/tasks/text/qa/wikihop.h"

namespace bigbird {
namespace {

constexpr const char* inputs_beyond = "inputs beyond `max_windows`";

AnswerSample wikihop_sample(const WikiHopInputs& inputs, std::size_t answer) {
  AnswerSample sample;
  AnswerTarget& target = sample.targets.emplace_back();
  for (const WikiHopInput& window : inputs.windows) {
    const auto number = static_cast<std::uint32_t>(sample.inputs.size());
    const auto text = std::find(window.types.begin(), window.types.end(), 1U) - window.types.begin();
    AnswerInput& input = sample.inputs.emplace_back();
    input.question.assign(window.ids.begin(), window.ids.begin() + text);
    input.text =
        std::make_shared<const std::vector<std::uint32_t>>(window.ids.begin() + text, window.ids.end() - 1);
    input.window = {0, input.text->size()};
    input.sep = window.ids.back();
    for (const std::size_t mark : inputs.candidate_marks)
      target.rows.push_back({number, static_cast<std::uint32_t>(mark), 1});
    target.right.emplace_back(number, static_cast<std::uint32_t>(inputs.candidate_marks.at(answer)));
  }
  target.parts = static_cast<std::int32_t>(sample.inputs.size());
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
    WikiHopInputs inputs = encoder.encode(example, reading.windows.length, &facts.unknown);
    if (inputs.windows.size() > reading.max_windows) {
      facts.noted.add(inputs_beyond, inputs.windows.size() - reading.max_windows);
      inputs.windows.resize(reading.max_windows);
    }
    samples.add(wikihop_sample(inputs, example.answer_candidate.value()));
    ++facts.questions;
  }
  facts.noted.add(reader.noted());
  return samples;
}

}  // namespace bigbird
