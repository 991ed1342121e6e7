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

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/core/unicode.h"
#include "lib/text/qa/example.h"
#include "lib/text/qa/question_file.h"

namespace bigbird {

// Holds one record of the file (an article, or a flat question). Error{bad_input} besides those of
// QuestionFile: a question without an answer unless version_2; and, once a file for training has been read to
// its end, more than 1 % of questions whose answer is not where answer_start says.
//
// skipped(), for training only: questions whose first answer, the one that is trained on, is not the text at
// answer_start (the first five are logged), lies behind the end of the context, or is empty. noted():
// contexts of white space alone, is_impossible against the answers; for evaluation also first answers that
// are not where they should be.
class SquadReader : public QuestionFile {
 public:
  explicit SquadReader(const std::string& path, const QuestionReading& reading = {});

  bool next(QuestionExample& example);

  // Questions read, skipped ones included.
  std::uint64_t questions() const { return questions_; }
  // Of those with an answer.
  std::uint64_t answerable() const { return answerable_; }
  // U+FFFD put in so far.
  std::uint64_t replaced() const { return records().replaced(); }

 private:
  // Where the next question is: in the record that was parsed last, or in the one after it.
  bool advance();
  void take_context(const RecordField& field);
  void read_question(const RecordField& field, QuestionExample& example);
  std::string question_id(const RecordField& field) const;
  void read_answers(const RecordField& field, QuestionExample& example);
  void add_answer(const RecordField& text, const RecordField& start, QuestionExample& example);
  bool first_answer_fits(const QuestionExample& example);
  void check_end() const;

  bool nested_ = false;
  bool has_record_ = false;
  std::size_t paragraph_ = 0;
  std::size_t question_ = 0;
  std::shared_ptr<const std::string> context_;
  CodePointIndex index_;
  bool context_is_blank_ = false;
  std::int64_t first_start_ = 0;  // of the question that is being read, as the file has it
  std::uint64_t questions_ = 0;
  std::uint64_t answerable_ = 0;
  std::uint64_t misplaced_ = 0;
  std::array<std::uint64_t, 3> fitting_{};  // misplaced ones by what their answer_start may have counted
};

}  // namespace bigbird
