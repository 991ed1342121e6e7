// WikiHop and MedHop: a query, candidates of which one is the answer, and supporting texts.
//
//   [{"id", "query", "answer", "candidates": [...], "supports": [...]}]
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/text/qa/question_file.h"

namespace bigbird {

struct WikiHopQuestion {
  std::string id;
  std::string query;
  std::vector<std::string> candidates;
  std::vector<std::string> supports;
  std::string answer;  // empty for QuestionPurpose::predict
  // The first candidate that is the answer, both in small letters and stripped; for training always there.
  std::optional<std::size_t> answer_candidate;
  std::string where;
};

// Holds one record. Error{bad_input}: as QuestionFile; no candidates; for training, an answer that is no
// candidate. noted(): answers that are no candidate (evaluation), records without supports.
class WikiHopReader : public QuestionFile {
 public:
  explicit WikiHopReader(const std::string& path, const QuestionReading& reading = {})
      : QuestionFile(path, reading) {}

  bool next(WikiHopQuestion& question);
};

}  // namespace bigbird
