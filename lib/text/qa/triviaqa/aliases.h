// lib/text/qa/triviaqa holds the questions of TriviaQA: reading them, what the model reads of them, answers
// out of its logits, training. The loops over questions are in lib/text/qa; they reach this folder by its row
// in the registry of data sets.
//
// Where an answer with many names stands in a document, for data sets that give the names and no place
// (TriviaQA): all occurrences of all names, and the tokens that they begin and end with, which the OR-softmax
// loss of Clark and Gardner (2018, section 3) sums over.
//
// Names and text are compared word by word as TriviaQA's official evaluation (triviaqa_evaluation.py,
// normalize_answer) has them: small letters, no punctuation, no articles. An occurrence begins and ends at
// borders of words of the text as it is, so that its code points hold. Longformer's triviaqa.py looks for the
// same names in text that was tokenised and joined by blanks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/qa/example.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

// Longformer's: enough for 94 % of TriviaQA's questions.
constexpr std::size_t most_alias_positions = 64;

// The words of a text after normalisation, in order, each with its code points in the text.
struct NormalizedWord {
  std::string text;
  TextSpan span;
};
std::vector<NormalizedWord> normalized_words(std::string_view text);

// A document, prepared once for the names of many questions.
class AliasFinder {
 public:
  explicit AliasFinder(std::string_view text) : words_(normalized_words(text)) {}

  // Occurrences of the names in the order of their first code point, then of their last; overlapping ones are
  // all there, none twice, and at most `most`. Names of which nothing is left occur nowhere.
  std::vector<TextSpan> find(std::span<const std::string> aliases,
                             std::size_t most = most_alias_positions) const;

 private:
  std::vector<NormalizedWord> words_;
};

// Positions of a window's input that an answer begins at, and that it ends at: ascending, none twice. Both
// are empty where the window holds no answer whole.
struct PositionSets {
  std::vector<std::size_t> starts;
  std::vector<std::size_t> ends;
};

PositionSets position_sets(const ContextTokens& context, const ContextWindow& window,
                           std::size_t question_tokens, std::span<const TextSpan> answers);

}  // namespace bigbird
