// Files of five data sets as samples to train on. What a sample is, what competes in its loss, and what is
// right:
//
//   squad     a window; its start and its end, [CLS] where it does not hold the answer (training_questions.h)
//   hotpotqa  a question; start and end compete over all tokens of its input, right is the answer in a
//             supporting sentence or title, [CLS] for yes and no; every sentence's mark is a sigmoid of its
//             own; the type
//   nq        a window of a page; four positions, each over all tokens of the input, and the type; [CLS] and
//             type null where the window does not hold the answer (the first one of the page's)
//   triviaqa  a question and document; start and end compete over the context tokens of all windows together
//             and are right wherever a name of the answer begins and ends (Clark and Gardner 2018, section 3)
//   wikihop   a question; its candidates compete, each with the sum of its marks in all inputs, as
//             Longformer's wikihop.py adds them up
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/tasks/text/qa/answer_samples.h"
#include "lib/tasks/text/qa/question_format.h"
#include "lib/tasks/text/qa/triviaqa_reader.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

inline constexpr std::size_t usual_document_windows = 4;

struct AnswerReading {
  QuestionFormat format = QuestionFormat::squad;
  TextEncodingOptions encoding;
  WindowOptions windows;
  bool replace_invalid = false;
  bool version_2 = false;  // squad: questions may have no answer
  // triviaqa: the folder that holds the documents.
  std::string evidence;
  TriviaDomain domain = TriviaDomain::wikipedia;
  // triviaqa and wikihop: how many windows of a document, or inputs of a question, are trained on, from its
  // beginning: they are one sample, and memory is planned for as many.
  std::size_t max_windows = usual_document_windows;
  // nq: the fraction of windows without the answer that is kept, drawn by (seed, number of the window in the
  // file).
  double keep_null = 1;
  std::uint64_t seed = 1;
};

// Reads a file to its end. Error{bad_input}: what the data set's reader refuses, and nothing to learn from.
// Error{usage}: a length that leaves no room beside a question.
std::unique_ptr<AnswerTrainingData> read_training_data(const std::string& path, const AnswerReading& reading,
                                                       const Tokenizer& tokenizer);

// The same by data set.
AnswerSamples read_hotpot_samples(const std::string& path, const AnswerReading& reading,
                                  const Tokenizer& tokenizer);
AnswerSamples read_page_samples(const std::string& path, const AnswerReading& reading,
                                const Tokenizer& tokenizer);
AnswerSamples read_trivia_samples(const std::string& path, const AnswerReading& reading,
                                  const Tokenizer& tokenizer);
AnswerSamples read_wikihop_samples(const std::string& path, const AnswerReading& reading,
                                   const Tokenizer& tokenizer);

}  // namespace bigbird
