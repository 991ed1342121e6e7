// lib/metrics holds scores of predictions: AUROC with its interval, ranks, classes, calibration errors, and
// the official metrics of text, to the last digit. They know no model and no file: lib/core is all that they
// include. A new one names the script or the paper that defines it.
//
// Answers as the official scripts of SQuAD (evaluate-v1.1.py, evaluate-v2.0.py), HotpotQA
// (hotpot_evaluate_v1.py) and TriviaQA (triviaqa_evaluation.py) compare them: normalised texts and bags of
// words. White space, words and small letters are Python's (lib/core/unicode.h); nothing is brought to a
// normal form, so that an accent as a combining mark is another answer than the letter with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

struct NormalizedAnswer {
  std::string text;                // words joined by one blank
  std::vector<std::string> words;  // of `text`, sorted: a bag
};

// SQuAD and HotpotQA: small letters; ASCII punctuation removed, which joins what it stood between; the words
// a, an, the left out.
NormalizedAnswer normalize_answer(std::string_view answer);
// TriviaQA: '_' to a blank; small letters; ASCII punctuation and the quotes ‘ ’ ´ to blanks; the words
// a, an, the left out.
NormalizedAnswer normalize_trivia_answer(std::string_view answer);

// How far two bags of words agree. All 0 where they share no word, two empty ones included.
struct WordOverlap {
  double f1 = 0;
  double precision = 0;  // shared words over words of the prediction
  double recall = 0;     // shared words over words of the gold answer
};
WordOverlap word_overlap(const NormalizedAnswer& prediction, const NormalizedAnswer& gold);

// One question's scores: of one gold answer or the best of several, each for itself.
struct AnswerScore {
  bool exact = false;
  double f1 = 0;
};

}  // namespace bigbird
