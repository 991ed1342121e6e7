// lib/text/qa/natural_questions holds the questions of Natural Questions: reading them, what the model reads
// of them, answers out of its logits; and training, prediction and scoring by them in task.cpp, which
// lib/text/qa reaches by its row in the registry of data sets.
//
// A question about a whole page of Wikipedia, both forms of the file, as JSON Lines:
//
//   original     {"example_id", "question_text", "document_title",
//                 "document_tokens": [{"token", "start_byte", "end_byte", "html_token"}],
//                 "long_answer_candidates": [{"start_token", "end_token", "start_byte", ..., "top_level"}],
//                 "annotations": [{"long_answer": {..., "candidate_index"}, "short_answers": [{...}],
//                 "yes_no_answer"}]}
//   simplified   "document_text" in place of the tokens: split at every U+0020 and nowhere else; no bytes
//
// -1 means nothing. Tokens are counted in the document, half-open. Inputs and labels are after
// preproc_nq_lib.py of google-research/etcmodel: the tokens of top-level candidates, each encoded alone, an
// opening tag as <unused_35>, a closing one as <unused_36>; windows as in windows.h. From the logits of the
// windows of a page to its prediction:
//
//   a span   in every window the best start, then the best end at or after it (BigBird, appendix E.2), of a
//            short answer within `max_answer` words; its score is start + end less what [CLS] has of both
//            (bert_joint's run_nq.py), and the window of the highest score wins
//   type     the likeliest one of the window of the short answer. Where no short answer scores above 0, as
//            for yes and no, whose short answers are trained to be [CLS]: of the window of the long one
//   long     the top-level candidate that holds the long answer's start and end; where none holds both, the
//            one around the short answer, else the one that the long answer begins in. Only whole candidates
//            score
//   short    the span; for the types yes and no none, and the score is that type's logit less the null type's
//
// A prediction is made for every page that has text: the official script looks for the best threshold of the
// scores. A word is a token of the page that is no tag. Of equals the first wins. What BigBird-ETC reads, and
// its rules for answers, are in two_inputs.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/metrics/natural_questions.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

struct PageToken {
  std::string text;
  bool is_tag = false;
  std::int64_t start_byte = -1;
  std::int64_t end_byte = -1;
};

struct PageCandidate {
  NqSpan span;
  bool top_level = false;
};

struct NqQuestion {
  std::int64_t id = 0;  // may be negative
  std::string question;
  std::string title;
  std::vector<PageToken> tokens;
  std::vector<PageCandidate> candidates;
  std::vector<NqAnnotation> annotations;  // none for QuestionPurpose::predict
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

struct EncodedNq {
  std::vector<std::uint32_t> question;  // kept tokens
  bool question_was_cut = false;        // to `max_question`
  // The pieces of the page, a stretch of one document token each; `tokens[i]` is the number of that token.
  // The spans of `pieces` are empty: there is no text that they lie in.
  ContextTokens pieces;
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> candidates = {};  // the pieces that a top-level candidate begins with
};

class NqEncoder {
 public:
  // The tokenizer must outlive it. Error{bad_input} where it lacks a piece.
  NqEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding, std::size_t max_question = 64);
  // `unknown`, where given, counts every word of the page once.
  EncodedNq encode(const NqQuestion& example, UnknownTally* unknown = nullptr) const;

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  std::uint32_t opening_tag_, closing_tag_;
};

// What is answered at [CLS]; the head stores them by name, since the published programs number them
// differently.
enum class NqAnswerType { null, yes, no, long_answer, short_answer };
inline constexpr std::size_t nq_types = 5;

// The annotation that is trained on: of those with a long answer the one of the lowest candidate, those with
// short answers first (bert_joint's run_nq.py). Null where there is none.
const NqAnnotation* trained_annotation(const NqQuestion& example);

struct NqLabel {
  NqAnswerType type = NqAnswerType::null;
  SpanLabel long_answer;
  SpanLabel short_answer;  // from the first to the last of several
};

// Positions of a window's input, first and last piece. A span that the window does not hold whole is 0 and 0;
// without the short answer (where there is one), or else without the long one, the type is null and all is 0.
NqLabel nq_label(const NqQuestion& example, const EncodedNq& page, const ContextWindow& window);

// [tokens of the window's input] each, and [5] by NqAnswerType.
struct NqLogits {
  ContextWindow window;
  std::span<const float> short_start;
  std::span<const float> short_end;
  std::span<const float> long_start;
  std::span<const float> long_end;
  std::span<const float> types;
};

// Places in the scores of the head.
enum NqTokenScore : std::size_t { nq_short_start, nq_short_end, nq_long_start, nq_long_end };

// `max_answer`: words of a short answer. Error{runtime} with the question where a logit is not finite;
// Error{usage} for a `max_answer` of 0.
NqPrediction decode_nq(const NqQuestion& example, const EncodedNq& page, std::span<const NqLogits> windows,
                       std::size_t max_answer);

// What both rules for answers stand on. First and last piece of a page.
struct PieceSpan {
  std::size_t first = 0;
  std::size_t last = 0;
};
inline constexpr std::size_t any_length = std::numeric_limits<std::size_t>::max();
// After the last piece, before `end`, that an answer from `first` on of so many words may have.
std::size_t end_of_words(const NqQuestion& example, const EncodedNq& page, std::size_t first, std::size_t end,
                         std::size_t most_words);
// The candidate that a long answer stands for; null where there is none.
NqSpan long_answer_of(const NqQuestion& example, const EncodedNq& page, const PieceSpan& long_answer,
                      const std::optional<PieceSpan>& short_answer);
// Whole tokens; of the simplified form without bytes.
NqSpan span_of_pieces(const NqQuestion& example, const EncodedNq& page, const PieceSpan& pieces);
// Error{runtime} with the question where a logit is not finite, or there is another number of them.
void require_page_logits(const NqQuestion& example, const EncodedNq& page, const NqLogits& window);

// An object of {"predictions": [...]}, on a line, as nq_eval.py reads it (ChunkForm::json_predictions).
AnswerEntry nq_entry(const NqPrediction& prediction);

}  // namespace bigbird
