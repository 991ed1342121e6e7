// What decoding begins with: the logits of a question's inputs, as the model gave them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "lib/text/qa/example.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

// Of one input, copied: results of a batch live for a call alone.
struct InputLogits {
  // [tokens] for each score of the head (question_task.h); of question answering start and end.
  std::vector<std::vector<float>> scores;
  std::vector<float> types;  // [types of the head]
};

// Start and end logits of one window's input, [CLS] first. Where they go on behind the input, over padding,
// those take part in the ranking of decode_spans as they do in run_qa, and are no answers; decode_pipeline
// leaves them out.
struct WindowLogits {
  ContextWindow window;
  std::span<const float> start;
  std::span<const float> end;
};
// Of the windows of one text; views into `logits`, which has as many.
std::vector<WindowLogits> window_logits(std::span<const ContextWindow> windows,
                                        std::span<const InputLogits> logits);

// A question and its context as they were cut into windows, for decoding. All must outlive the call.
struct DecodedQuestion {
  const QuestionExample& example;
  const ContextTokens& context;
  std::size_t question_tokens = 0;  // kept ones
};

// Error{runtime} opening with `where`, the question: a span that has not `size` values, a NaN or an infinity.
void require_finite_logits(std::initializer_list<std::span<const float>> logits, std::size_t size,
                           const std::string& where);

}  // namespace bigbird
