// Questions of TriviaQA; see read.h.
#include "lib/text/qa/triviaqa/read.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "lib/text/qa/triviaqa/aliases.h"

namespace bigbird {
namespace {

constexpr const char* absent_document = "document not in the folder of evidence";
constexpr const char* no_alias = "no name of the answer in the document";

bool leads_out(std::string_view name) {
  if (name.empty() || name.front() == '/') return true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

struct GoldDocument {
  std::string name;
  bool verified = false;
};

// A question with its documents: the domain, which says what a prediction is of, stands behind them in the
// file.
struct GoldRecord {
  TriviaGold gold;
  std::string question;
  std::vector<GoldDocument> documents;
};

void add_gold_documents(const RecordField& root, const char* key, std::vector<GoldDocument>& documents) {
  if (!root.has(key)) return;
  const RecordField pages = root[key];
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const RecordField page = pages.at(i);
    const bool verified = page.has("DocPartOfVerifiedEval") && page["DocPartOfVerifiedEval"].boolean();
    documents.push_back({page["Filename"].text(), verified});
  }
}

GoldRecord read_gold_record(RecordFields& fields, SeenIds& ids) {
  GoldRecord record;
  const RecordField root = fields.root();
  record.gold.id = root["QuestionId"].text();
  fields.set_id(record.gold.id);
  ids.add(record.gold.id, fields.where());
  record.question = root["Question"].text();
  const RecordField answer = root["Answer"];
  record.gold.normalized_aliases = texts_of(answer["NormalizedAliases"]);
  if (answer.has("HumanAnswers")) record.gold.human_answers = texts_of(answer["HumanAnswers"]);
  record.gold.verified =
      root.has("QuestionPartOfVerifiedEval") && root["QuestionPartOfVerifiedEval"].boolean();
  add_gold_documents(root, "EntityPages", record.documents);
  add_gold_documents(root, "SearchResults", record.documents);
  return record;
}

}  // namespace

TriviaReader::TriviaReader(const std::string& path, const QuestionReading& reading)
    : QuestionFile(path, reading, {"Data"}) {
  skipped_ = ReasonCounts({absent_document, no_alias});
}

void TriviaReader::add_documents(const RecordField& root, const char* key, const char* folder) {
  if (!root.has(key)) return;
  const RecordField pages = root[key];
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::string& name = pages.at(i)["Filename"].text();
    if (leads_out(name)) {
      pages.at(i)["Filename"].fail("leads out of the folder of evidence", "file names are relative to it");
    }
    documents_.push_back({name, fmt::format("{}/{}/{}", reading().evidence, folder, name)});
  }
}

bool TriviaReader::next_question() {
  const auto root = next_record();
  if (!root) return false;
  question_ = {};
  question_.question_id = (*root)["QuestionId"].text();
  where_ = begin_question(question_.question_id);
  question_.question.question = question_text((*root)["Question"]);
  if (reading().purpose != QuestionPurpose::predict)
    question_.aliases = texts_of((*root)["Answer"]["NormalizedAliases"]);
  documents_.clear();
  document_ = 0;
  if (reading().domain == TriviaDomain::web) add_documents(*root, "SearchResults", "web");
  add_documents(*root, "EntityPages", "wikipedia");
  named_ += documents_.size();
  return true;
}

bool TriviaReader::read_document(TriviaDocument& document) {
  const Place& place = documents_[document_++];
  if (!file_exists(place.path)) {
    skipped_.add(absent_document);
    return false;
  }
  ++found_;
  document = question_;
  document.document = place.name;
  document.question.id = question_.question_id;
  if (reading().domain == TriviaDomain::web) document.question.id += "--" + place.name;
  document.question.where = fmt::format("{}, document {}", where_, text_for_message(place.name));
  document.question.context = std::make_shared<const std::string>(
      checked_text(InputStream(place.path).read_all(), place.path, reading().replace_invalid));
  if (!document.aliases.empty())
    document.places = AliasFinder(*document.question.context).find(document.aliases);
  if (reading().purpose != QuestionPurpose::train || !document.places.empty()) return true;
  skipped_.add(no_alias);
  return false;
}

void TriviaReader::check_end() const {
  const auto domain = records().members().find("Domain");
  const bool is_web = reading().domain == TriviaDomain::web;
  const char* wanted = is_web ? "\"Web\"" : "\"Wikipedia\"";
  if (domain != records().members().end() && domain->second != wanted) {
    throw_bad_input(fmt::format("{}: its \"Domain\" is {}, and it was read as {}", records().path(),
                                domain->second, wanted),
                    message("`domain` is wikipedia or web, as in the name of the file"));
  }
  if (named_ > 0 && found_ == 0) {
    throw_bad_input(
        fmt::format("{}: none of its {} documents is below {}", records().path(), named_, reading().evidence),
        message("`evidence` is the folder that holds wikipedia and web"));
  }
}

bool TriviaReader::next(TriviaDocument& document) {
  for (;;) {
    while (document_ < documents_.size()) {
      if (read_document(document)) return true;
    }
    if (next_question()) continue;
    check_end();
    return false;
  }
}

bool TriviaReader::next(TriviaQuestion& question) {
  question.clear();
  for (;;) {
    if (!ahead_ && !next(ahead_.emplace())) ahead_.reset();
    if (!ahead_ || (!question.empty() && question.front().question.id != ahead_->question.id)) break;
    question.push_back(std::move(*ahead_));
    ahead_.reset();
  }
  return !question.empty();
}

TriviaGoldFile read_trivia_gold(const std::string& path, bool replace_invalid) {
  JsonRecordsOptions options;
  options.list_keys = {"Data"};
  options.replace_invalid = replace_invalid;
  JsonRecords records(path, options);
  RecordFields fields(path, "question");
  SeenIds ids;
  std::vector<GoldRecord> questions;
  JsonRecord json;
  while (records.next(json)) {
    fields.parse(json);
    questions.push_back(read_gold_record(fields, ids));
  }
  const auto member = [&](const char* key) {
    const auto found = records.members().find(key);
    return found == records.members().end() ? std::string() : found->second;
  };
  const std::string domain = member("Domain");
  if (!domain.empty() && domain != "\"Wikipedia\"" && domain != "\"Web\"") {
    throw_bad_input(fmt::format("{}: its \"Domain\" is {}", path, domain), "it is Wikipedia or Web");
  }
  TriviaGoldFile file;
  file.verified_only = member("VerifiedEval") == "true";
  for (GoldRecord& record : questions) {
    if (domain != "\"Web\"") {
      file.questions.push_back(std::move(record.question));
      file.gold.push_back(std::move(record.gold));
      continue;
    }
    for (const GoldDocument& document : record.documents) {
      TriviaGold gold = record.gold;
      gold.id += "--" + document.name;
      gold.verified = gold.verified && document.verified;
      file.questions.push_back(record.question);
      file.gold.push_back(std::move(gold));
    }
  }
  return file;
}

}  // namespace bigbird
