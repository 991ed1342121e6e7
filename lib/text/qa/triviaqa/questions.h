// lib/text/qa/triviaqa holds the questions of TriviaQA: reading them, what the model reads of them, answers
// out of its logits; and training, prediction and scoring by them in task.cpp, which lib/text/qa reaches by
// its row in the registry of data sets.
//
// Questions about every one of their documents, with all places of the answer's names:
//
//   {"Data": [{"QuestionId", "Question", "Answer": {"NormalizedAliases": [...]},
//              "EntityPages": [{"Filename"}], "SearchResults": [{"Filename"}]}], "Domain": "Wikipedia"}
//
// with texts in EVIDENCE/wikipedia (of EntityPages) and EVIDENCE/web (of SearchResults). Predictions are one
// per question in the domain Wikipedia, where the documents of a question compete, and one per question and
// document in the domain Web.
//
// The data give names of an answer and no place. So all occurrences of all names are looked for, and the
// tokens that they begin and end with, which the OR-softmax loss of Clark and Gardner (2018, section 3) sums
// over. Names and text are compared word by word as TriviaQA's official evaluation (triviaqa_evaluation.py,
// normalize_answer) has them: small letters, no punctuation, no articles. An occurrence begins and ends at
// borders of words of the text as it is, so that its code points hold. Longformer's triviaqa.py looks for the
// same names in text that was tokenised and joined by blanks.
//
// The answer in a document is, of all its windows, the span of the highest start + end that has at most
// `max_answer` words between white space (BigBird, appendix E.2: 16). A training sample is a document, so
// that the sums of its windows can be compared; where several documents of a question compete, softmax over
// their best sums keeps the order, and the highest wins. Of equals the first wins. BigBird-ETC's answers are
// in two_inputs.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

// Longformer's: enough for 94 % of TriviaQA's questions.
constexpr std::size_t most_alias_positions = 64;

// The words of a text after normalisation, in order, each with its code points in the text.
struct NormalizedWord {
  std::string text;
  TextSpan span;
};
std::vector<NormalizedWord> normalized_words(std::string_view text);

// A document, prepared once for the names of many questions.
class AliasFinder {
 public:
  explicit AliasFinder(std::string_view text) : words_(normalized_words(text)) {}

  // Occurrences of the names in the order of their first code point, then of their last; overlapping ones are
  // all there, none twice, and at most `most`. Names of which nothing is left occur nowhere.
  std::vector<TextSpan> find(std::span<const std::string> aliases,
                             std::size_t most = most_alias_positions) const;

 private:
  std::vector<NormalizedWord> words_;
};

// Positions of a window's input that an answer begins at, and that it ends at: ascending, none twice. Both
// are empty where the window holds no answer whole.
struct PositionSets {
  std::vector<std::size_t> starts;
  std::vector<std::size_t> ends;
};

PositionSets position_sets(const ContextTokens& context, const ContextWindow& window,
                           std::size_t question_tokens, std::span<const TextSpan> answers);

// A question about one of its documents.
struct TriviaDocument {
  // id: the key of a prediction, QuestionId or "QuestionId--Filename". context: the document. No answers.
  QuestionExample question;
  std::string question_id;
  std::string document;  // Filename
  std::vector<std::string> aliases;
  // Where the names stand, at most 64 places; for training never none.
  std::vector<TextSpan> places;
};

// A question with all its documents, of the domain Web with one of them: what one prediction is of.
using TriviaQuestion = std::vector<TriviaDocument>;

// Holds one question and one document. Error{bad_input}: as QuestionFile; a Filename that leads out of its
// folder; a document that is not UTF-8; once the file was read to its end, a "Domain" that is not that of the
// options, or not one document of any question. skipped(): documents that are not in the folder of evidence;
// for training also those in which no name of the answer stands.
class TriviaReader : public QuestionFile {
 public:
  TriviaReader(const std::string& path, const QuestionReading& reading);

  bool next(TriviaDocument& document);
  // Documents of one question follow each other.
  bool next(TriviaQuestion& question);
  std::uint64_t questions() const { return ids(); }

 private:
  struct Place {
    std::string name;
    std::string path;
  };
  bool next_question();
  void add_documents(const RecordField& root, const char* key, const char* folder);
  bool read_document(TriviaDocument& document);
  void check_end() const;

  TriviaDocument question_;       // at hand, without its document
  std::string where_;             // of it
  std::vector<Place> documents_;  // of it
  std::size_t document_ = 0;      // the next of them
  std::uint64_t found_ = 0;       // documents
  std::uint64_t named_ = 0;
  std::optional<TriviaDocument> ahead_;  // read already, of the question after
};

// The answers alone, without the documents: what predictions are scored against, after read_triviaqa_data
// and get_key_to_ground_truth of the official dataset_utils.py (mandarjoshi90/triviaqa).
struct TriviaGoldFile {
  std::vector<TriviaGold> gold;        // a question each; of the domain Web a question and document each
  std::vector<std::string> questions;  // as they are asked, beside `gold`
  bool verified_only = false;          // the file's VerifiedEval
};

// Error{bad_input}: what JsonRecords refuses; fields that are missing, null or of another type; an id that
// was there before; a domain other than Wikipedia and Web.
TriviaGoldFile read_trivia_gold(const std::string& path, bool replace_invalid = false);

struct DocumentAnswer {
  std::string text;
  TextSpan span;  // code points of the document
  double score = 0;
};

// Every stretch of a window that has at most so many words: take(first, last, start + end), with tokens of
// the document, by first and then by last.
template <typename Take>
void for_each_answer_span(const DecodedQuestion& question, const WindowLogits& logits, std::size_t most_words,
                          const Take& take) {
  const std::size_t at = context_position(question.question_tokens);
  const ContextWindow& window = logits.window;
  for (std::size_t i = 0; i < window.count; ++i) {
    const auto start = static_cast<double>(logits.start[at + i]);
    std::size_t words = 1;
    for (std::size_t j = i; j < window.count; ++j) {
      if (j > i && question.context.word_begins[window.first + j] != 0 && ++words > most_words) break;
      take(window.first + i, window.first + j, start + static_cast<double>(logits.end[at + j]));
    }
  }
}
// Error{runtime} with the question where a logit is not finite, or there is another number of them.
void require_document_logits(const DecodedQuestion& question, const WindowLogits& logits);

// Nothing for a document without tokens. Error{runtime} with the question where a logit is not finite;
// Error{usage} for a `max_answer` of 0.
std::optional<DocumentAnswer> decode_trivia(const DecodedQuestion& question,
                                            std::span<const WindowLogits> windows, std::size_t max_answer);

}  // namespace bigbird
