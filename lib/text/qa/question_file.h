// Files of questions, record by record: what the readers of all data sets stand on, and how a file is read.
// The fields of a record go by name, with errors that say where: "dev.json:1:30: question 'q7':
// 'qas[2].answers' is missing".
//
// One question about one text is the same whatever data set it came from. Positions in texts are code points
// (an index of a Python str), half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/io/text/json_records.h"

namespace bigbird {

// What a file of questions is read for: training and evaluation want answers, prediction does not look at
// them.
enum class QuestionPurpose { train, evaluate, predict };

struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextSpan&) const = default;
};

// An answer as the file gives it. `span` is where it stands in the context; for QuestionPurpose::evaluate it
// may be wrong, since only the text is scored.
struct GoldAnswer {
  std::string text;
  TextSpan span;
};

struct QuestionExample {
  std::string id;
  std::string question;
  // Questions about one paragraph share it. Never null.
  std::shared_ptr<const std::string> context;
  // None for an unanswerable question, and for QuestionPurpose::predict.
  std::vector<GoldAnswer> answers;
  std::string where;  // "FILE: question 'ID' (line N)", to open a message with
};

class RecordFields;

// A value of a record. Valid as long as its RecordFields and until that one's next parse().
class RecordField {
 public:
  bool is_integer() const;
  bool is_object() const;

  // Of an object: whether it has the key with a value that is not null.
  bool has(const char* key) const;
  // Of an object; Error{bad_input} where there is no such key, or null behind it.
  RecordField operator[](const char* key) const;
  // Of a list; index < size().
  RecordField at(std::size_t index) const;
  // Of a list, else Error{bad_input}.
  std::size_t size() const;
  // Error{bad_input} where the value is of another type.
  const std::string& text() const;
  std::int64_t integer() const;
  bool boolean() const;

  // "'qas[2].answers' " + what, with the place of the record in front.
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const;

 private:
  friend class RecordFields;
  RecordField(const RecordFields& record, const void* value) : record_(&record), value_(value) {}

  const RecordFields* record_;
  const void* value_;  // the JSON library's; headers know nothing of it
};

class RecordFields {
 public:
  // `unit` is what an id belongs to: "question", "record".
  RecordFields(std::string path, std::string unit);
  ~RecordFields();
  RecordFields(const RecordFields&) = delete;
  RecordFields& operator=(const RecordFields&) = delete;

  // Takes the next record; Error{bad_input} for numbers that no double holds.
  void parse(const JsonRecord& record);
  RecordField root() const;
  // Whose fields are read from here on; forgotten by parse().
  void set_id(std::string id) { id_ = std::move(id); }
  std::uint64_t line() const { return line_; }
  // "FILE:LINE:COLUMN" and, once there is an id, ": question 'ID'".
  std::string where() const;

 private:
  friend class RecordField;
  struct Document;
  std::unique_ptr<Document> document_;
  std::string path_;
  std::string unit_;
  std::string place_;
  std::string id_;
  std::uint64_t line_ = 0;
};

// Ids of a file and the numbers, from 1, of what has them.
class SeenIds {
 public:
  // Error{bad_input} naming both where the id was there before; `where` is the place of the new one, with its
  // id.
  void add(const std::string& id, const std::string& where);
  std::uint64_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

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
  // What the file says beside its records, as JSON; empty: nothing. Whole once the last record was read.
  std::string member(const std::string& key) const;
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
