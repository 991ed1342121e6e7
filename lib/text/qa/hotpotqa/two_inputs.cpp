// HotpotQA in two inputs; see two_inputs.h.
#include "lib/text/qa/hotpotqa/two_inputs.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// A title or a sentence, with the piece of its paragraph before a title.
class HotpotParts {
 public:
  HotpotParts(EncodedHotpot& input, GlobalLayout& layout, const HotpotLimits& limits, const PartIds& ids)
      : input_(input), layout_(layout), limits_(limits), ids_(ids) {}

  // Whether it still fits; nothing is added where not.
  bool add(const EncodedText& text, std::size_t paragraph, std::optional<std::size_t> sentence) {
    const std::size_t globals = layout_.globals.size() + (sentence ? 1 : 2);
    if (input_.ids.size() + text.ids.size() > limits_.length || globals > limits_.globals) return false;
    if (!sentence) paragraph_ = layout_.add_global(ids_.paragraph);
    const std::int32_t global = layout_.add_global(ids_.sentence);
    HotpotSegment segment{paragraph, sentence, input_.ids.size(), static_cast<std::size_t>(global), {}};
    for (std::size_t i = 0; i < text.ids.size(); ++i) segment.spans.push_back({text.begin[i], text.end[i]});
    input_.ids.insert(input_.ids.end(), text.ids.begin(), text.ids.end());
    layout_.add_long(text.ids.size(), sentence ? part_sentence : part_title, global, paragraph_);
    input_.segments.push_back(std::move(segment));
    return true;
  }

 private:
  EncodedHotpot& input_;
  GlobalLayout& layout_;
  const HotpotLimits& limits_;
  const PartIds& ids_;
  std::int32_t paragraph_ = 0;  // global token of the paragraph at hand
};

void require_room(const HotpotQuestion& example, const HotpotLimits& limits, std::size_t question) {
  // [CLS], the question, and one token of text with those of its paragraph and its title.
  if (question + 2 > limits.length) {
    throw_usage(message("{}: `length` {} leaves no room next to a question of {} tokens", example.where,
                        limits.length, question),
                message("a larger `length` or a smaller `max_question`"));
  }
  if (question + 3 > limits.globals) {
    throw_usage(message("{}: {} global tokens leave no room next to a question of {}", example.where,
                        limits.globals, question),
                message("a smaller `max_question`, or a model with more global tokens"));
  }
}

}  // namespace

EncodedHotpot hotpot_two_inputs(const HotpotQuestion& example, const HotpotLimits& limits, const PartIds& ids,
                                const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                                UnknownTally* unknown) {
  EncodedHotpot input;
  const std::vector<std::uint32_t> question = encode_question(
      tokenizer, example.question, encoding, limits.max_question, input.question_was_cut, unknown);
  input.question_tokens = question.size();
  require_room(example, limits, question.size());
  const auto layout = std::make_shared<GlobalLayout>();
  layout->type_at_global = true;
  input.ids = {ids.long_cls};
  layout->add_global(ids.cls, part_global, true);
  layout->add_long(1, part_sentence, -1);
  layout->runs.back().free = true;  // it is linked to no global token
  layout->end_part();
  input.ids.insert(input.ids.end(), question.begin(), question.end());
  for (std::size_t i = 0; i < question.size(); ++i)
    layout->add_long(1, part_question, layout->add_global(ids.question));
  layout->end_part();

  HotpotParts parts(input, *layout, limits, ids);
  bool fits = true;
  for (std::size_t p = 0; p < example.paragraphs.size(); ++p) {
    const HotpotParagraph& paragraph = example.paragraphs[p];
    fits = fits && parts.add(encode_counted(tokenizer, paragraph.title, encoding, unknown), p, std::nullopt);
    for (std::size_t n = 0; n < paragraph.sentences.size(); ++n) {
      fits = fits && parts.add(encode_counted(tokenizer, paragraph.sentences[n], encoding, unknown), p, n);
      input.left_out += fits ? 0 : 1;
    }
    layout->end_part();
  }
  input.globals = layout;
  return input;
}

std::vector<std::uint8_t> supporting_globals(const HotpotQuestion& example, const EncodedHotpot& input) {
  std::vector<std::uint8_t> right(input.globals->globals.size(), 0);
  for (const HotpotSegment& segment : input.segments) {
    if (!supports(example, example.paragraphs[segment.paragraph], segment.sentence)) continue;
    right[segment.mark] = 1;
    if (!segment.sentence) right[segment.mark - 1] = 1;  // the paragraph stands before its title
  }
  return right;
}

}  // namespace bigbird
