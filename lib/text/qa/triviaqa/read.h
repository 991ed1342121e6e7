// Questions of TriviaQA: each of them about every one of its documents, with all places of the answer's
// names.
//
//   {"Data": [{"QuestionId", "Question", "Answer": {"NormalizedAliases": [...]},
//              "EntityPages": [{"Filename"}], "SearchResults": [{"Filename"}]}], "Domain": "Wikipedia"}
//
// with texts in EVIDENCE/wikipedia (of EntityPages) and EVIDENCE/web (of SearchResults).
//
// Predictions are one per question in the domain Wikipedia, where the documents of a question compete, and
// one per question and document in the domain Web.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/question_file.h"

namespace bigbird {

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

}  // namespace bigbird
