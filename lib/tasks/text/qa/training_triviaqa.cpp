// Samples of TriviaQA; see training_data.h.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/tasks/text/qa/alias_positions.h"
#include "lib/tasks/text/qa/encode_question.h"
#include "lib/tasks/text/qa/training_data.h"

namespace bigbird {
namespace {

constexpr const char* windows_beyond = "windows beyond `max_windows`";
constexpr const char* no_name_in_windows = "no name of the answer in the first `max_windows` windows";

// A document: its windows compete together.
AnswerSample trivia_sample(const EncodedQuestion& encoded, const std::vector<ContextWindow>& windows,
                           const std::vector<TextSpan>& places, const SpecialIds& special) {
  AnswerSample sample;
  sample.targets.resize(2);
  const std::size_t question = encoded.question.size();
  std::vector<std::uint32_t> head = {special.cls};
  head.insert(head.end(), encoded.question.begin(), encoded.question.end());
  head.push_back(special.sep);
  const std::size_t tokens = windows.back().first + windows.back().count;
  const auto first = encoded.context->ids.begin();
  const auto text =
      std::make_shared<const std::vector<std::uint32_t>>(first, first + static_cast<std::ptrdiff_t>(tokens));
  for (const ContextWindow& window : windows) {
    const auto number = static_cast<std::uint32_t>(sample.inputs.size());
    sample.inputs.push_back({head, text, window, special.sep});
    const InputRows rows{number, static_cast<std::uint32_t>(context_position(question)),
                         static_cast<std::uint32_t>(window.count)};
    const PositionSets right = position_sets(*encoded.context, window, question, places);
    for (AnswerTarget& target : sample.targets) target.rows.push_back(rows);
    for (const std::size_t at : right.starts)
      sample.targets[0].right.emplace_back(number, static_cast<std::uint32_t>(at));
    for (const std::size_t at : right.ends)
      sample.targets[1].right.emplace_back(number, static_cast<std::uint32_t>(at));
  }
  return sample;
}

}  // namespace

AnswerSamples read_trivia_samples(const std::string& path, const AnswerReading& reading,
                                  const Tokenizer& tokenizer) {
  TriviaOptions options;
  options.domain = reading.domain;
  options.evidence = reading.evidence;
  options.replace_invalid = reading.replace_invalid;
  TriviaReader reader(path, options);
  QuestionEncoder encoder(tokenizer, reading.encoding, reading.windows.max_question);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  TriviaExample example;
  while (reader.next(example)) {
    throw_if_cancelled();
    const EncodedQuestion encoded = encoder.encode(example.question);
    std::vector<ContextWindow> windows = context_windows(encoded.question.size(), encoded.context->ids.size(),
                                                         reading.windows, example.question.where);
    if (windows.size() > reading.max_windows) {
      facts.noted.add(windows_beyond, windows.size() - reading.max_windows);
      windows.resize(reading.max_windows);
    }
    AnswerSample sample = trivia_sample(encoded, windows, example.places, tokenizer.special());
    if (sample.targets[0].right.empty()) {
      facts.skipped.add(no_name_in_windows);
    } else {
      samples.add(std::move(sample));
    }
  }
  facts.questions = reader.questions();
  facts.cut_questions = encoder.cut_questions();
  facts.max_question = reading.windows.max_question;
  facts.skipped.add(reader.skipped());
  facts.unknown = encoder.unknown();
  return samples;
}

}  // namespace bigbird
