// WikiHop: reader and inputs; see wikihop.h.
#include "lib/tasks/text/qa/wikihop.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "lib/tasks/text/qa/piece_names.h"
#include "lib/tasks/text/qa/record_fields.h"

namespace bigbird {
namespace {

constexpr const char* answer_no_candidate = "answer is no candidate";
constexpr const char* without_supports = "no supports";

JsonRecordsOptions wikihop_records(bool replace_invalid) {
  JsonRecordsOptions records;
  records.replace_invalid = replace_invalid;
  return records;
}

std::vector<std::string> texts_of(const RecordField& list) {
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) texts.push_back(list.at(i).text());
  return texts;
}

std::string comparable_candidate(const std::string& text) {
  return lower(strip_white_space(text));
}

}  // namespace

struct WikiHopReader::State {
  State(const std::string& path, QuestionPurpose chosen, bool replace_invalid)
      : purpose(chosen), records(path, wikihop_records(replace_invalid)), fields(path, "question") {}

  QuestionPurpose purpose;
  JsonRecords records;
  RecordFields fields;
  SeenIds ids;
  ReasonCounts noted;
};

WikiHopReader::WikiHopReader(const std::string& path, QuestionPurpose purpose, bool replace_invalid)
    : state_(std::make_unique<State>(path, purpose, replace_invalid)) {}

WikiHopReader::~WikiHopReader() = default;
WikiHopReader::WikiHopReader(WikiHopReader&&) noexcept = default;
WikiHopReader& WikiHopReader::operator=(WikiHopReader&&) noexcept = default;

bool WikiHopReader::next(WikiHopExample& example) {
  JsonRecord record;
  if (!state_->records.next(record)) return false;
  RecordFields& fields = state_->fields;
  fields.parse(record);
  const RecordField root = fields.root();
  example = {};
  example.id = root["id"].text();
  fields.set_id(example.id);
  example.where = fields.where();
  state_->ids.add(example.id, example.where);
  example.query = root["query"].text();
  if (is_blank(example.query)) root["query"].fail("is empty", "give the query a text, or leave it out");
  example.candidates = texts_of(root["candidates"]);
  if (example.candidates.empty()) root["candidates"].fail("is empty", "there is nothing to choose from");
  example.supports = texts_of(root["supports"]);
  if (example.supports.empty()) state_->noted.add(without_supports);
  if (state_->purpose == QuestionPurpose::predict) return true;
  example.answer = root["answer"].text();
  const std::string wanted = comparable_candidate(example.answer);
  const auto found =
      std::find_if(example.candidates.begin(), example.candidates.end(),
                   [&](const std::string& text) { return comparable_candidate(text) == wanted; });
  if (found != example.candidates.end()) {
    example.answer_candidate = static_cast<std::size_t>(found - example.candidates.begin());
  } else if (state_->purpose == QuestionPurpose::train) {
    root["answer"].fail("is no candidate", "candidates and answer are compared in small letters");
  } else {
    state_->noted.add(answer_no_candidate);
  }
  return true;
}

const ReasonCounts& WikiHopReader::noted() const {
  return state_->noted;
}

WikiHopEncoder::WikiHopEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding)
    : tokenizer_(tokenizer),
      encoding_(encoding),
      query_opens_(piece_named(tokenizer, "<sep_0>")),
      query_closes_(piece_named(tokenizer, "<sep_1>")),
      candidate_opens_(piece_named(tokenizer, "<ans>")),
      candidate_closes_(piece_named(tokenizer, "<sep_4>")) {}

std::vector<std::uint32_t> WikiHopEncoder::ids_of(const std::string& text, UnknownTally* unknown) const {
  const EncodedText encoded = encode_text(tokenizer_, strip_white_space(text), encoding_);
  if (unknown != nullptr) unknown->add(encoded);
  return encoded.ids;
}

WikiHopInputs WikiHopEncoder::encode(const WikiHopExample& example, std::size_t length,
                                     UnknownTally* unknown) const {
  const std::uint32_t sep = tokenizer_.special().sep;
  WikiHopInputs inputs;
  WikiHopInput head;
  const auto append = [](std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& ids) {
    to.insert(to.end(), ids.begin(), ids.end());
  };
  head.ids = {tokenizer_.special().cls, query_opens_};
  append(head.ids, ids_of(example.query, unknown));
  head.ids.push_back(query_closes_);
  for (const std::string& candidate : example.candidates) {
    inputs.candidate_marks.push_back(head.ids.size());
    head.ids.push_back(candidate_opens_);
    append(head.ids, ids_of(candidate, unknown));
    head.ids.push_back(candidate_closes_);
  }
  head.ids.push_back(sep);
  head.types.assign(head.ids.size(), 0);

  std::vector<std::uint32_t> text;
  for (const std::string& support : example.supports) {
    if (!text.empty()) text.push_back(sep);
    append(text, ids_of(support, unknown));
  }
  // One token of text at least, and the last [SEP].
  if (head.ids.size() + 2 > length) {
    throw_usage(fmt::format("{}: `length` {} leaves no room beside query and candidates, {} tokens",
                            example.where, length, head.ids.size()),
                "a larger `length`");
  }
  const std::size_t room = length - head.ids.size() - 1;
  for (std::size_t at = 0; at == 0 || at < text.size(); at += room) {
    WikiHopInput& input = inputs.windows.emplace_back(head);
    const auto first = text.begin() + static_cast<std::ptrdiff_t>(at);
    input.ids.insert(input.ids.end(), first,
                     first + static_cast<std::ptrdiff_t>(std::min(room, text.size() - at)));
    input.ids.push_back(sep);
    input.types.resize(input.ids.size(), 1);
  }
  return inputs;
}

}  // namespace bigbird
