// Files of answers, written and read; see answer_files.h.
#include "lib/text/qa/answer_files.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/ordered_map.h"
#include "lib/io/text/json_records.h"

namespace bigbird {
namespace {

constexpr std::size_t indent = 4;

using PredictionJson = nlohmann::basic_json<OrderedMap>;

// The one object of a file, with its place for messages. Python keeps the last of equal keys and says
// nothing; here that is an error, at every depth.
class PredictionObject {
 public:
  explicit PredictionObject(const std::string& path) : path_(path) {
    JsonRecords records(path);
    if (!records.next(record_)) {
      throw_bad_input(path + ": is empty", "predictions are one JSON object: {\"id\": \"text\"}");
    }
    parse();
    if (!json_.is_object()) {
      refuse("is not an object {...}", "predictions are one JSON object: {\"id\": \"text\"}");
    }
    JsonRecord more;
    if (records.next(more)) {
      throw_bad_input(record_place(path, more) + ": there is more after the object of predictions",
                      "predictions are one JSON object: {\"id\": \"text\"}");
    }
  }

  const PredictionJson& json() const { return json_; }
  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw_bad_input(record_place(path_, record_) + ": " + what, hint);
  }
  [[noreturn]] void refuse_value(const std::string& id, const std::string& what) const {
    refuse(fmt::format("the prediction of '{}' is {}", text_for_message(id), what),
           "is the file of another format?");
  }

 private:
  void parse() {
    std::vector<std::set<std::string>> keys;
    const PredictionJson::parser_callback_t no_key_twice = [&](int, PredictionJson::parse_event_t event,
                                                               PredictionJson& value) {
      if (event == PredictionJson::parse_event_t::object_start) keys.emplace_back();
      if (event == PredictionJson::parse_event_t::object_end) keys.pop_back();
      if (event == PredictionJson::parse_event_t::key &&
          !keys.back().insert(value.get<std::string>()).second) {
        refuse(fmt::format("has '{}' twice", text_for_message(value.get<std::string>())),
               "a question has one prediction");
      }
      return true;
    };
    try {
      json_ = PredictionJson::parse(record_.json, no_key_twice);
    } catch (const nlohmann::json::exception& error) {
      throw_json_error(path_, record_, error);
    }
    record_.json.clear();
  }

  std::string path_;
  JsonRecord record_;
  PredictionJson json_;
};

// The library would cut 1.5 to 1, and make of a number beyond the type another one.
template <typename Json>
bool is_whole_number(const Json& value) {
  if (!value.is_number_integer()) return false;
  return !value.is_number_unsigned() || value.template get<std::uint64_t>() >> 63 == 0;
}

AnswerTexts texts_of(const PredictionObject& file, const PredictionJson& object) {
  AnswerTexts texts;
  for (const auto& [id, value] : object.items()) {
    if (!value.is_string()) file.refuse_value(id, "not a string");
    texts.emplace(id, value.get<std::string>());
  }
  return texts;
}

std::vector<SupportingFact> facts_of(const PredictionObject& file, const std::string& id,
                                     const PredictionJson& list) {
  if (!list.is_array()) file.refuse_value(id, "not a list");
  std::vector<SupportingFact> facts;
  for (const PredictionJson& fact : list) {
    if (!fact.is_array() || fact.size() != 2 || !fact[0].is_string() || !is_whole_number(fact[1]))
      file.refuse_value(id, "not a list of [title, number of the sentence]");
    facts.emplace_back(fact[0].get<std::string>(), fact[1].get<std::int64_t>());
  }
  return facts;
}

const PredictionJson& part_of(const PredictionObject& file, const char* key) {
  static const PredictionJson nothing = PredictionJson::object();
  const auto found = file.json().find(key);
  if (found == file.json().end()) return nothing;
  if (!found->is_object()) {
    file.refuse(fmt::format("'{}' is not an object {{...}}", key),
                "predictions of HotpotQA are {\"answer\": {id: text}, \"sp\": {id: [[title, n]]}}");
  }
  return *found;
}

std::int64_t nq_number(const nlohmann::json& value, const char* key, const std::string& place) {
  if (!is_whole_number(value)) {
    throw_bad_input(fmt::format("{}: '{}' is not a whole number", place, key),
                    "numbers have no quotes and no point");
  }
  return value.get<std::int64_t>();
}

NqSpan nq_span(const nlohmann::json& span, const std::string& place) {
  if (!span.is_object()) throw_bad_input(place + ": a span is not an object {...}", "-1 means nothing");
  const auto number = [&](const char* key) {
    const auto found = span.find(key);
    return found == span.end() ? -1 : nq_number(*found, key, place);
  };
  return {number("start_byte"), number("end_byte"), number("start_token"), number("end_token")};
}

NqPrediction nq_prediction(const nlohmann::json& json, const std::string& place) {
  NqPrediction prediction;
  prediction.id = nq_number(json.at("example_id"), "example_id", place);
  prediction.long_answer = nq_span(json.at("long_answer"), place);
  prediction.long_score = json.at("long_answer_score").get<double>();
  for (const nlohmann::json& span : json.at("short_answers"))
    prediction.short_answers.push_back(nq_span(span, place));
  prediction.short_score = json.at("short_answers_score").get<double>();
  prediction.yes_no = parse_nq_yes_no(json.at("yes_no_answer").get<std::string>(), place);
  return prediction;
}

}  // namespace

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string keyed_entry(const std::string& id, std::string_view json, int depth) {
  const std::string margin(indent * static_cast<std::size_t>(depth), ' ');
  std::string entry = margin + json_string(id) + ": ";
  for (const char c : json) {
    entry += c;
    if (c == '\n') entry += margin;  // strings hold no bare line ends
  }
  return entry;
}

AnswerEntry text_entry(const std::string& id, const std::string& text) {
  return {keyed_entry(id, json_string(text))};
}

void AnswerFile::add(const AnswerEntry& entry) {
  sink_(std::string(any_ ? std::string_view(",\n") : layout_->frame.front()) + entry.front());
  for (std::size_t section = 1; section < later_.size(); ++section)
    later_[section] += (any_ ? ",\n" : "") + entry.at(section);
  any_ = true;
}

void AnswerFile::finish() {
  if (!any_) return sink_(layout_->empty);
  std::string text;
  for (std::size_t section = 1; section <= later_.size(); ++section) {
    text += '\n';
    text += layout_->frame[section];
    if (section < later_.size()) text += later_[section];
  }
  sink_(text);
}

AnswerTexts read_answer_texts(const std::string& path) {
  const PredictionObject file(path);
  return texts_of(file, file.json());
}

std::optional<std::string> predicted_text(const AnswerTexts& predictions, const std::string& id) {
  const auto found = predictions.find(id);
  return found == predictions.end() ? std::nullopt : std::optional<std::string>(found->second);
}

NoAnswerScores read_null_odds(const std::string& path) {
  const PredictionObject file(path);
  NoAnswerScores scores;
  for (const auto& [id, value] : file.json().items()) {
    if (!value.is_number()) file.refuse_value(id, "not a number");
    scores.emplace_back(id, value.get<double>());
  }
  return scores;
}

HotpotPredictions read_hotpot_predictions(const std::string& path) {
  const PredictionObject file(path);
  if (!file.json().contains("answer") && !file.json().contains("sp")) {
    file.refuse("has neither 'answer' nor 'sp'",
                "predictions of HotpotQA are {\"answer\": {id: text}, \"sp\": {id: [[title, n]]}}");
  }
  HotpotPredictions predictions;
  predictions.answers = texts_of(file, part_of(file, "answer"));
  for (const auto& [id, list] : part_of(file, "sp").items())
    predictions.supporting_facts.emplace(id, facts_of(file, id, list));
  return predictions;
}

std::vector<NqPrediction> read_nq_predictions(const std::string& path) {
  JsonRecordsOptions options;
  options.list_keys = {"predictions"};
  options.layout = JsonLayout::list;
  JsonRecords records(path, options);
  std::vector<NqPrediction> predictions;
  std::set<std::int64_t> seen;
  JsonRecord record;
  while (records.next(record)) {
    try {
      const nlohmann::json json = nlohmann::json::parse(record.json);
      predictions.push_back(nq_prediction(json, record_place(path, record)));
    } catch (const nlohmann::json::exception& error) {
      throw_json_error(path, record, error);
    }
    if (!seen.insert(predictions.back().id).second) {
      throw_bad_input(
          fmt::format("{}: has '{}' a second time", record_place(path, record), predictions.back().id),
          "a question has one prediction");
    }
  }
  return predictions;
}

}  // namespace bigbird
