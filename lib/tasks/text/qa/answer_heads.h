// The head that answers the questions of a data set: which scores its tokens have, and which types an answer
// is of. One place for training, prediction and the check that a model is of the right kind.
//
//   squad, triviaqa  question_answering: start and end
//   hotpotqa         structured_answers: start, end (softmax), support (a sigmoid at the mark that closes a
//                    sentence); types span, yes, no
//   nq               structured_answers: short_start, short_end, long_start, long_end; types null, yes, no,
//                    long, short, by name, since the published programs number them differently
//   wikihop          structured_answers: candidate (softmax over the candidates' marks); no types
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/folder/model_folder.h"
#include "lib/tasks/text/qa/question_format.h"

namespace bigbird {

struct AnswerHead {
  HeadType type = HeadType::question_answering;
  std::vector<TokenScore> scores;  // of structured_answers
  std::vector<std::string> types;  // of structured_answers; may be none
};
AnswerHead answer_head(QuestionFormat format);

// Places in answer_head().scores and types.
enum HotpotTokenScore : std::size_t { hotpot_start, hotpot_end, hotpot_support };
enum PageTokenScore : std::size_t { page_short_start, page_short_end, page_long_start, page_long_end };

// The folder's weights with the head of the format; values of one that is not stored are drawn from the seed.
LoadedModel load_with_head(const ModelFolder& folder, QuestionFormat format, std::uint64_t seed);

// Error{bad_input} naming the head that is there and the one that the format needs.
void require_answer_head(const ModelFolder& folder, QuestionFormat format);

}  // namespace bigbird
