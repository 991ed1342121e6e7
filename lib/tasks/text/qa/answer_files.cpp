// Files of answers; see answer_files.h.
#include "lib/tasks/text/qa/answer_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"

namespace bigbird {
namespace {

constexpr int json_indent = 4;

// A value as it stands behind the key of an entry; its own lines are indented once more.
std::string entry_text(const nlohmann::ordered_json& value) {
  const std::string text =
      value.dump(json_indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string indented;
  for (const char c : text) {
    indented += c;
    // Strings hold no bare line ends.
    if (c == '\n') indented.append(json_indent, ' ');
  }
  return indented;
}

nlohmann::ordered_json candidate_json(const CandidateAnswer& candidate) {
  return {{"start_logit", static_cast<double>(candidate.start_logit)},
          {"end_logit", static_cast<double>(candidate.end_logit)},
          {"text", candidate.text},
          {"probability", candidate.probability},
          {"start", candidate.span.begin},
          {"end", candidate.span.end}};
}

nlohmann::ordered_json nq_span_json(const NqSpan& span) {
  return {{"start_byte", span.start_byte},
          {"end_byte", span.end_byte},
          {"start_token", span.start_token},
          {"end_token", span.end_token}};
}

}  // namespace

void AnswerFileWriter::write_entry(const std::string& id, const std::string& value) {
  sink_(fmt::format("{}\n{:{}}{}: {}", any_ ? "," : "{", "", json_indent, entry_text(id), value));
  any_ = true;
}

void AnswerFileWriter::add(const DecodedAnswer& answer) {
  if (kind_ == AnswerFile::predictions) return write_entry(answer.id, entry_text(answer.text));
  if (kind_ == AnswerFile::null_odds) {
    return write_entry(answer.id, entry_text(static_cast<double>(answer.null_odds)));
  }
  auto list = nlohmann::ordered_json::array();
  for (const CandidateAnswer& candidate : answer.candidates) list.push_back(candidate_json(candidate));
  write_entry(answer.id, entry_text(list));
}

void AnswerFileWriter::add(const std::string& id, std::span<const ScoredAnswer> answers) {
  if (kind_ == AnswerFile::null_odds) {
    throw_usage("the pipeline's decoding gives no null odds", "they are those of run_qa's decoding");
  }
  if (kind_ == AnswerFile::predictions) {
    return write_entry(id, entry_text(answers.empty() ? std::string() : answers.front().text));
  }
  auto list = nlohmann::ordered_json::array();
  for (const ScoredAnswer& answer : answers) {
    list.push_back({{"text", answer.text},
                    {"probability", answer.score},
                    {"start", answer.span.begin},
                    {"end", answer.span.end}});
  }
  write_entry(id, entry_text(list));
}

void AnswerFileWriter::add_text(const std::string& id, const std::string& text) {
  if (kind_ != AnswerFile::predictions) {
    throw_usage("an answer alone has no candidates and no null odds", "they are of squad");
  }
  write_entry(id, entry_text(text));
}

void AnswerFileWriter::finish() {
  sink_(any_ ? "\n}\n" : "{}\n");
}

void HotpotFileWriter::add(const std::string& id, const std::string& text,
                           std::span<const SupportingFact> facts) {
  const std::string key = entry_text(id);
  sink_(fmt::format("{}\n{:{}}{}: {}", any_ ? "," : "{\n    \"answer\": {", "", 2 * json_indent, key,
                    entry_text(text)));
  std::string list;
  for (const auto& [title, number] : facts)
    list += fmt::format("{}[{}, {}]", list.empty() ? "" : ", ", entry_text(title), number);
  facts_ += fmt::format("{}\n{:{}}{}: [{}]", any_ ? "," : "", "", 2 * json_indent, key, list);
  any_ = true;
}

void HotpotFileWriter::finish() {
  if (!any_) return sink_("{\n    \"answer\": {},\n    \"sp\": {}\n}\n");
  sink_("\n    },\n    \"sp\": {" + facts_ + "\n    }\n}\n");
}

void NqFileWriter::add(const NqPrediction& prediction) {
  nlohmann::ordered_json json;
  json["example_id"] = prediction.id;
  json["long_answer"] = nq_span_json(prediction.long_answer);
  json["long_answer_score"] = prediction.long_score;
  json["short_answers"] = nlohmann::ordered_json::array();
  for (const NqSpan& span : prediction.short_answers) json["short_answers"].push_back(nq_span_json(span));
  json["short_answers_score"] = prediction.short_score;
  json["yes_no_answer"] = find_name(nq_yes_no_names, prediction.yes_no);
  sink_((any_ ? ",\n" : "{\"predictions\": [\n") + json_text(json));
  any_ = true;
}

void NqFileWriter::finish() {
  sink_(any_ ? "\n]}\n" : "{\"predictions\": []}\n");
}

}  // namespace bigbird
