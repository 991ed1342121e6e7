// Answers of TriviaQA; see gold.h.
#include "lib/tasks/text/qa/triviaqa/gold.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/json_records.h"
#include "lib/tasks/text/qa/question_file.h"

namespace bigbird {
namespace {

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
