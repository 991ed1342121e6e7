// Natural Questions: a question about a whole page of Wikipedia, both forms of the file, as JSON Lines:
//
//   original     {"example_id", "question_text", "document_title",
//                 "document_tokens": [{"token", "start_byte", "end_byte", "html_token"}],
//                 "long_answer_candidates": [{"start_token", "end_token", "start_byte", ..., "top_level"}],
//                 "annotations": [{"long_answer": {..., "candidate_index"}, "short_answers": [{...}],
//                 "yes_no_answer"}]}
//   simplified   "document_text" in place of the tokens: split at every U+0020 and nowhere else; no bytes
//
// -1 stands for nothing. Tokens are counted in the document, half-open. Inputs and labels after
// preproc_nq_lib.py of google-research/etcmodel: the tokens of top-level candidates, each encoded alone, an
// opening tag as <unused_35>, a closing one as <unused_36>; windows as in windows.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/tasks/text/qa/example.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

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

struct PageQuestion {
  std::int64_t id = 0;  // may be negative
  std::string question;
  std::string title;
  std::vector<PageToken> tokens;
  std::vector<PageCandidate> candidates;
  std::vector<PageAnnotation> annotations;  // none for QuestionPurpose::predict
  std::string where;
};

// Holds one record and the ids of all. Error{bad_input}: what JsonRecords refuses; fields that are missing,
// null or of another type; an id that was there before; an empty question; a span that is reversed, half null
// or beyond the document; candidate_index out of range; another yes_no_answer than YES, NO and NONE.
class NaturalQuestionsReader {
 public:
  explicit NaturalQuestionsReader(const std::string& path, QuestionPurpose purpose = QuestionPurpose::train,
                                  bool replace_invalid = false);
  ~NaturalQuestionsReader();
  NaturalQuestionsReader(NaturalQuestionsReader&&) noexcept;
  NaturalQuestionsReader& operator=(NaturalQuestionsReader&&) noexcept;

  bool next(PageQuestion& example);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct EncodedPage {
  std::vector<std::uint32_t> question;  // kept tokens
  // The pieces of the page, a stretch of one document token each; `tokens[i]` is the number of that token.
  // The spans of `pieces` are empty: there is no text that they lie in.
  ContextTokens pieces;
  std::vector<std::uint32_t> tokens;
  bool question_was_cut = false;  // to `max_question`
};

class PageEncoder {
 public:
  // The tokenizer must outlive it. Error{bad_input} where it lacks a piece.
  PageEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding, std::size_t max_question = 64);
  // `unknown`, where given, counts every word of the page once.
  EncodedPage encode(const PageQuestion& example, UnknownTally* unknown = nullptr) const;

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  std::uint32_t opening_tag_, closing_tag_;
};

// What is answered at [CLS]; stored by name, since the published programs number them differently.
enum class PageAnswerType { null, yes, no, long_answer, short_answer };
const char* name_of(PageAnswerType type);

// The annotation that is trained on: of those with a long answer the one of the lowest candidate, those with
// short answers first (bert_joint's run_nq.py). Null where there is none.
const PageAnnotation* trained_annotation(const PageQuestion& example);

struct PageLabel {
  PageAnswerType type = PageAnswerType::null;
  SpanLabel long_answer;
  SpanLabel short_answer;  // from the first to the last of several
};

// Positions of a window's input, first and last piece. A span that the window does not hold whole is 0 and 0;
// without the short answer (where there is one), or else without the long one, the type is null and all is 0.
PageLabel page_label(const PageQuestion& example, const EncodedPage& page, const ContextWindow& window);

}  // namespace bigbird
