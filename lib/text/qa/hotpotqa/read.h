// HotpotQA in the distractor setting: ten paragraphs, an answer (a span, yes or no) and the sentences that
// support it.
//
//   [{"_id", "question", "answer", "supporting_facts": [[title, n]], "context": [[title, [sentence, ...]]]}]
#pragma once

#include <string>
#include <vector>

#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/question_file.h"

namespace bigbird {

struct HotpotParagraph {
  std::string title;
  std::vector<std::string> sentences;
};

struct HotpotQuestion {
  std::string id;
  std::string question;
  std::vector<HotpotParagraph> paragraphs;
  // Empty for QuestionPurpose::predict.
  std::string answer;
  std::vector<SupportingFact> supporting_facts;
  std::string where;
};

enum class HotpotAnswerType { span, yes, no };
HotpotAnswerType answer_type(const std::string& answer);
// Whether a fact is of this sentence, or, without one, of the paragraph.
bool supports(const HotpotQuestion& question, const HotpotParagraph& paragraph,
              std::optional<std::size_t> sentence);

// Holds one record. Error{bad_input}: as QuestionFile; no paragraphs. skipped(), for training: questions
// whose answer stands in no supporting title or sentence. noted(): supporting facts whose title or sentence
// is not there, without a label and scored as they are.
class HotpotReader : public QuestionFile {
 public:
  explicit HotpotReader(const std::string& path, const QuestionReading& reading = {})
      : QuestionFile(path, reading) {}

  bool next(HotpotQuestion& question);

 private:
  void read_answer(const RecordField& root, HotpotQuestion& question);
};

}  // namespace bigbird
