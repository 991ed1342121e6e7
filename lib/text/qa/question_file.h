// Files of questions, record by record: what the readers of all data sets stand on, and how a file is read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/io/text/json_records.h"
#include "lib/text/qa/example.h"
#include "lib/text/qa/record_fields.h"

namespace bigbird {

// The two settings of TriviaQA, by "Domain" of its files: Wikipedia reads EntityPages, Web reads
// SearchResults too.
enum class TriviaDomain { wikipedia, web };

struct QuestionReading {
  QuestionPurpose purpose = QuestionPurpose::train;
  bool version_2 = false;        // squad: questions may have no answer (SQuAD 2.0); of train and evaluate
  bool replace_invalid = false;  // as for JsonRecords; of triviaqa in documents too
  std::string evidence = {};     // triviaqa: the folder that holds wikipedia and web
  TriviaDomain domain = TriviaDomain::wikipedia;
};

// Holds one record and the ids of all. Error{bad_input} of every reader, with the place and, where there is
// one, the id: what JsonRecords refuses; a field that is missing, null or of another type; an id that was
// there before; an empty question.
class QuestionFile {
 public:
  // What was left out, and what was read otherwise than it stands there.
  const ReasonCounts& skipped() const { return skipped_; }
  const ReasonCounts& noted() const { return noted_; }

 protected:
  // `list_keys`: as of JsonRecordsOptions.
  QuestionFile(const std::string& path, const QuestionReading& reading,
               std::vector<std::string> list_keys = {});

  // The next record, valid until the one after it; nothing behind the last one.
  std::optional<RecordField> next_record();
  RecordField record() const { return fields_.root(); }
  // From here on messages name the id; what to open them with.
  std::string begin_question(const std::string& id);
  void end_question() { fields_.set_id({}); }
  // A text that is not blank; `hint` is of the Error.
  static const std::string& question_text(const RecordField& field,
                                          const char* hint = "give the question a text, or leave it out");

  const QuestionReading& reading() const { return reading_; }
  const JsonRecords& records() const { return records_; }
  std::uint64_t ids() const { return ids_.size(); }

  ReasonCounts skipped_;
  ReasonCounts noted_;

 private:
  QuestionReading reading_;
  JsonRecords records_;
  RecordFields fields_;
  SeenIds ids_;
};

// The texts of a list of strings.
std::vector<std::string> texts_of(const RecordField& list);

}  // namespace bigbird
