// Questions of SQuAD 1.1 and 2.0 and of files shaped like them, one at a time:
//
//   nested   {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text",
//            "answer_start"}], "is_impossible"}]}]}]}
//   flat     {"data": [{"id", "question", "context", "answers": {"text": [], "answer_start": []}}]}, what
//            Hugging Face's run_qa reads; also a bare list of such objects, or one object a line
//
// Either form of "answers" may stand in either layout. answer_start counts code points. Where is_impossible
// says something else than the answers do, the answers decide, as in the official evaluation.
//
//   SquadReader reader("train-v2.0.json", {QuestionPurpose::train, true});
//   QuestionExample question;
//   while (reader.next(question)) ...
//   log_info(reader.skipped().text());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/tasks/reason_counts.h"
#include "lib/tasks/text/qa/example.h"

namespace bigbird {

struct SquadOptions {
  QuestionPurpose purpose = QuestionPurpose::train;
  // Questions without an answer are allowed (SQuAD 2.0); for train and evaluate.
  bool version_2 = false;
  bool replace_invalid = false;  // as for JsonRecords
};

// Holds one record of the file (an article, or a flat question) and the ids of all questions.
//
// Error{bad_input} with the place and, where there is one, the id: what JsonRecords refuses; a field that is
// missing, null or of another type; an id that was there before; an empty question; a question without an
// answer unless version_2; and, once a file for training has been read to its end, more than 1 % of questions
// whose answer is not where answer_start says.
class SquadReader {
 public:
  explicit SquadReader(const std::string& path, const SquadOptions& options = {});
  ~SquadReader();
  SquadReader(SquadReader&&) noexcept;
  SquadReader& operator=(SquadReader&&) noexcept;

  bool next(QuestionExample& example);

  // Questions that were left out, for training only: their first answer, the one that is trained on, is not
  // the text at answer_start (the first five are logged), lies behind the end of the context, or is empty.
  const ReasonCounts& skipped() const;
  // What was read as it is: contexts of white space alone, is_impossible against the answers; for
  // QuestionPurpose::evaluate also first answers that are not where they should be.
  const ReasonCounts& noted() const;
  // Questions read, skipped ones included.
  std::uint64_t questions() const;
  // Of those with an answer.
  std::uint64_t answerable() const;
  // U+FFFD put in so far.
  std::uint64_t replaced() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
