// Samples of Natural Questions; see training_data.h.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/tasks/text/qa/answer_heads.h"
#include "lib/tasks/text/qa/natural_questions_input.h"
#include "lib/tasks/text/qa/training_data.h"

namespace bigbird {
namespace {

constexpr const char* null_windows_left_out = "windows without the answer";
constexpr const char* pages_without_text = "pages without a top-level candidate";

struct LabelledWindow {
  ContextWindow window;
  PageLabel label;
};

AnswerTarget page_target(std::size_t tokens, std::size_t position) {
  return {{{0, 0, static_cast<std::uint32_t>(tokens)}}, {{0, static_cast<std::uint32_t>(position)}}};
}

// The samples of a page. Of its pieces those are held that windows have.
void add_page_windows(const EncodedPage& page, const std::vector<LabelledWindow>& windows,
                      const SpecialIds& special, AnswerSamples& samples) {
  if (windows.empty()) return;
  const std::size_t begin = windows.front().window.first;
  const std::size_t end = windows.back().window.first + windows.back().window.count;
  const auto pieces = page.pieces.ids.begin();
  const auto text = std::make_shared<const std::vector<std::uint32_t>>(
      pieces + static_cast<std::ptrdiff_t>(begin), pieces + static_cast<std::ptrdiff_t>(end));
  std::vector<std::uint32_t> question = {special.cls};
  question.insert(question.end(), page.question.begin(), page.question.end());
  question.push_back(special.sep);
  for (const auto& [window, label] : windows) {
    AnswerSample sample;
    sample.inputs.push_back({question, text, {window.first - begin, window.count}, special.sep});
    const std::size_t tokens = sample.inputs.front().size();
    sample.targets.resize(answer_head(QuestionFormat::natural_questions).scores.size());
    sample.targets[page_short_start] = page_target(tokens, label.short_answer.start);
    sample.targets[page_short_end] = page_target(tokens, label.short_answer.end);
    sample.targets[page_long_start] = page_target(tokens, label.long_answer.start);
    sample.targets[page_long_end] = page_target(tokens, label.long_answer.end);
    sample.type = static_cast<std::int32_t>(label.type);
    samples.add(std::move(sample));
  }
}

}  // namespace

AnswerSamples read_page_samples(const std::string& path, const AnswerReading& reading,
                                const Tokenizer& tokenizer) {
  NaturalQuestionsReader reader(path, QuestionPurpose::train, reading.replace_invalid);
  const PageEncoder encoder(tokenizer, reading.encoding, reading.windows.max_question);
  AnswerSamples samples;
  AnswerSamples::Facts& facts = samples.facts();
  std::uint64_t number = 0;  // of windows, those that are left out too
  PageQuestion example;
  while (reader.next(example)) {
    throw_if_cancelled();
    const EncodedPage page = encoder.encode(example, &facts.unknown);
    ++facts.questions;
    facts.unanswerable += trained_annotation(example) == nullptr ? 1U : 0U;
    facts.cut_questions += page.question_was_cut ? 1U : 0U;
    if (page.pieces.ids.empty()) facts.noted.add(pages_without_text);
    std::vector<LabelledWindow> kept;
    for (const ContextWindow& window :
         context_windows(page.question.size(), page.pieces.ids.size(), reading.windows, example.where)) {
      const PageLabel label = page_label(example, page, window);
      CounterRng rng(reading.seed, Purpose::null_windows, number++);
      if (label.type == PageAnswerType::null && rng.uniform() >= reading.keep_null) {
        facts.skipped.add(null_windows_left_out);
        continue;
      }
      kept.push_back({window, label});
    }
    add_page_windows(page, kept, tokenizer.special(), samples);
  }
  facts.max_question = reading.windows.max_question;
  return samples;
}

}  // namespace bigbird
