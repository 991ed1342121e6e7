// Natural Questions: a question about a whole page of Wikipedia, both forms of the file, as JSON Lines:
//
//   original     {"example_id", "question_text", "document_title",
//                 "document_tokens": [{"token", "start_byte", "end_byte", "html_token"}],
//                 "long_answer_candidates": [{"start_token", "end_token", "start_byte", ..., "top_level"}],
//                 "annotations": [{"long_answer": {..., "candidate_index"}, "short_answers": [{...}],
//                 "yes_no_answer"}]}
//   simplified   "document_text" in place of the tokens: split at every U+0020 and nowhere else; no bytes
//
// -1 stands for nothing. Tokens are counted in the document, half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/text/qa/question_file.h"

namespace bigbird {

// Tokens and bytes of the document's HTML; bytes are -1 in the simplified form.
struct PageSpan {
  std::int64_t start_token = -1;
  std::int64_t end_token = -1;
  std::int64_t start_byte = -1;
  std::int64_t end_byte = -1;
  bool operator==(const PageSpan&) const = default;
};

struct PageToken {
  std::string text;
  bool is_tag = false;
  std::int64_t start_byte = -1;
  std::int64_t end_byte = -1;
};

struct PageCandidate {
  PageSpan span;
  bool top_level = false;
};

enum class YesNoAnswer { none, yes, no };

struct PageAnnotation {
  std::optional<std::size_t> candidate;  // the long answer
  std::vector<PageSpan> short_answers;
  YesNoAnswer yes_no = YesNoAnswer::none;
};

struct NqQuestion {
  std::int64_t id = 0;  // may be negative
  std::string question;
  std::string title;
  std::vector<PageToken> tokens;
  std::vector<PageCandidate> candidates;
  std::vector<PageAnnotation> annotations;  // none for QuestionPurpose::predict
  std::string where;
};

// Holds one record and the ids of all. Error{bad_input}: as QuestionFile; a span that is reversed, half null
// or beyond the document; candidate_index out of range; another yes_no_answer than YES, NO and NONE.
class NqReader : public QuestionFile {
 public:
  explicit NqReader(const std::string& path, const QuestionReading& reading = {})
      : QuestionFile(path, reading) {}

  bool next(NqQuestion& question);
};

}  // namespace bigbird
