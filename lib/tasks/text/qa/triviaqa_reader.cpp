// Questions of TriviaQA; see triviaqa_reader.h.
#include "lib/tasks/text/qa/triviaqa_reader.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "lib/tasks/text/qa/alias_positions.h"
#include "lib/tasks/text/qa/record_fields.h"

namespace bigbird {
namespace {

constexpr const char* absent_document = "document not in the folder of evidence";
constexpr const char* no_alias = "no name of the answer in the document";

JsonRecordsOptions trivia_records(const TriviaOptions& options) {
  JsonRecordsOptions records;
  records.list_keys = {"Data"};
  records.replace_invalid = options.replace_invalid;
  return records;
}

bool leads_out(std::string_view name) {
  if (name.empty() || name.front() == '/') return true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

struct TriviaReader::State {
  State(const std::string& path, const TriviaOptions& chosen)
      : options(chosen), records(path, trivia_records(chosen)), fields(path, "question") {}

  bool next_question();
  void add_documents(const RecordField& root, const char* key, const char* folder);
  bool read_document(TriviaExample& example);
  void check_end() const;

  struct Document {
    std::string name;
    std::string path;
  };

  TriviaOptions options;
  JsonRecords records;
  RecordFields fields;
  SeenIds ids;
  std::string question_id;
  std::string question;
  std::vector<std::string> aliases;
  std::vector<Document> documents;  // of the question at hand
  std::size_t document = 0;         // the next of them
  std::uint64_t found = 0;          // documents
  std::uint64_t named = 0;
  ReasonCounts skipped{{absent_document, no_alias}};
};

void TriviaReader::State::add_documents(const RecordField& root, const char* key, const char* folder) {
  if (!root.has(key)) return;
  const RecordField pages = root[key];
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::string& name = pages.at(i)["Filename"].text();
    if (leads_out(name)) {
      pages.at(i)["Filename"].fail("leads out of the folder of evidence", "file names are relative to it");
    }
    documents.push_back({name, fmt::format("{}/{}/{}", options.evidence, folder, name)});
  }
}

bool TriviaReader::State::next_question() {
  JsonRecord record;
  if (!records.next(record)) return false;
  fields.parse(record);
  const RecordField root = fields.root();
  question_id = root["QuestionId"].text();
  fields.set_id(question_id);
  ids.add(question_id, fields.where());
  question = root["Question"].text();
  if (is_blank(question)) root["Question"].fail("is empty", "give the question a text, or leave it out");
  aliases.clear();
  if (options.purpose != QuestionPurpose::predict) {
    const RecordField names = root["Answer"]["NormalizedAliases"];
    for (std::size_t i = 0; i < names.size(); ++i) aliases.push_back(names.at(i).text());
  }
  documents.clear();
  document = 0;
  if (options.domain == TriviaDomain::web) add_documents(root, "SearchResults", "web");
  add_documents(root, "EntityPages", "wikipedia");
  named += documents.size();
  return true;
}

bool TriviaReader::State::read_document(TriviaExample& example) {
  const Document& entry = documents[document++];
  if (!file_exists(entry.path)) {
    skipped.add(absent_document);
    return false;
  }
  ++found;
  const bool is_web = options.domain == TriviaDomain::web;
  example.question_id = question_id;
  example.document = entry.name;
  example.aliases = aliases;
  example.question.id = is_web ? question_id + "--" + entry.name : question_id;
  example.question.where = fmt::format("{}, document {}", fields.where(), text_for_message(entry.name));
  example.question.question = question;
  example.question.answers.clear();
  example.question.context = std::make_shared<const std::string>(
      checked_text(InputStream(entry.path).read_all(), entry.path, options.replace_invalid));
  example.places.clear();
  if (!aliases.empty()) example.places = AliasFinder(*example.question.context).find(aliases);
  if (options.purpose != QuestionPurpose::train || !example.places.empty()) return true;
  skipped.add(no_alias);
  return false;
}

void TriviaReader::State::check_end() const {
  const auto domain = records.members().find("Domain");
  const bool is_web = options.domain == TriviaDomain::web;
  const char* wanted = is_web ? "\"Web\"" : "\"Wikipedia\"";
  if (domain != records.members().end() && domain->second != wanted) {
    throw_bad_input(fmt::format("{}: its \"Domain\" is {}, and it was read as {}", records.path(),
                                domain->second, wanted),
                    "`domain` is wikipedia or web, as in the name of the file");
  }
  if (named > 0 && found == 0) {
    throw_bad_input(
        fmt::format("{}: none of its {} documents is below {}", records.path(), named, options.evidence),
        "`evidence` is the folder that holds wikipedia and web");
  }
}

TriviaReader::TriviaReader(const std::string& path, const TriviaOptions& options)
    : state_(std::make_unique<State>(path, options)) {}

TriviaReader::~TriviaReader() = default;
TriviaReader::TriviaReader(TriviaReader&&) noexcept = default;
TriviaReader& TriviaReader::operator=(TriviaReader&&) noexcept = default;

bool TriviaReader::next(TriviaExample& example) {
  for (;;) {
    while (state_->document < state_->documents.size()) {
      if (state_->read_document(example)) return true;
    }
    if (state_->next_question()) continue;
    state_->check_end();
    return false;
  }
}

const ReasonCounts& TriviaReader::skipped() const {
  return state_->skipped;
}
std::uint64_t TriviaReader::questions() const {
  return state_->ids.size();
}

}  // namespace bigbird
