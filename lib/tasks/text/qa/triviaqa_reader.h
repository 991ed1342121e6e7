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
#include <memory>
#include <string>
#include <vector>

#include "lib/tasks/reason_counts.h"
#include "lib/tasks/text/qa/example.h"

namespace bigbird {

// The two settings of the data set, by "Domain" of its files: Wikipedia reads EntityPages, Web reads
// SearchResults too.
enum class TriviaDomain { wikipedia, web };

struct TriviaOptions {
  QuestionPurpose purpose = QuestionPurpose::train;
  TriviaDomain domain = TriviaDomain::wikipedia;
  std::string evidence;          // the folder that holds wikipedia and web
  bool replace_invalid = false;  // in questions and in documents
};

struct TriviaExample {
  // id: the key of a prediction, QuestionId or "QuestionId--Filename". context: the document. No answers.
  QuestionExample question;
  std::string question_id;
  std::string document;  // Filename
  std::vector<std::string> aliases;
  // Where the names stand, at most 64 places; for training never none.
  std::vector<TextSpan> places;
};

// Holds one question and one document. Error{bad_input}: what JsonRecords refuses; fields that are missing,
// null or of another type; an id that was there before; an empty question; a Filename that leads out of its
// folder; a document that is not UTF-8; once the file was read to its end, a "Domain" that is not that of the
// options, or not one document of any question.
class TriviaReader {
 public:
  TriviaReader(const std::string& path, const TriviaOptions& options);
  ~TriviaReader();
  TriviaReader(TriviaReader&&) noexcept;
  TriviaReader& operator=(TriviaReader&&) noexcept;

  bool next(TriviaExample& example);

  // Documents that were left out: not in the folder of evidence; for training also those in which no name of
  // the answer stands.
  const ReasonCounts& skipped() const;
  std::uint64_t questions() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
