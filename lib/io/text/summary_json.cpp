// Documents and summaries in JSON Lines, or in one list of JSON; see summary_pairs.h.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/summary_sources.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

using SummaryJson = nlohmann::basic_json<OrderedMap>;

JsonRecordsOptions summary_record_options(const SummaryPairOptions& options) {
  JsonRecordsOptions records;
  records.list_keys = {"data"};
  records.replace_invalid = options.replace_invalid;
  return records;
}

class SummaryJsonSource : public SummaryPairs::Source {
 public:
  SummaryJsonSource(TextInput input, const SummaryPairOptions& options)
      : Source(input.path(), options), records_(std::move(input), summary_record_options(options)) {}

  bool read(SummaryPair& pair) override {
    if (!records_.next(record_)) return false;
    pair.place =
        records_.is_list() ? record_place(path(), record_) : fmt::format("{}:{}", path(), record_.line);
    SummaryJson object;
    try {
      object = SummaryJson::parse(record_.json);
    } catch (const SummaryJson::exception& error) {
      throw_json_error(path(), record_, error);
    }
    if (!object.is_object()) {
      throw BadRow(fmt::format("{}: a record is {}, not an object", pair.place, object.type_name()),
                   "a record looks like {\"document\": \"...\", \"summary\": \"...\"}");
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    fields_ = choose_summary_fields(options(), names, pair.place);
    pair.id = fields_.id.empty() ? row_number() : id_of(object.at(fields_.id), pair.place);
    if (wants_document())
      pair.document = text_of(object.at(fields_.document), fields_.document, pair.place, false);
    if (!wants_summary()) return true;
    const SummaryJson& summary = object.at(fields_.summary);
    if (options().list_of_summaries && summary.is_array()) {
      for (const SummaryJson& one : summary)
        pair.summaries.push_back(text_of(one, fields_.summary, pair.place, true));
      if (summary.empty())
        throw BadRow(
            fmt::format("{}: field '{}' has no summary", pair.place, text_for_message(fields_.summary)),
            message("leave the record out, or set `skip_bad`"));
    } else {
      pair.summaries.push_back(text_of(summary, fields_.summary, pair.place, true));
    }
    return true;
  }

  std::uint64_t replaced() const override { return records_.replaced(); }
  std::string fields() const override { return describe_summary_fields(fields_); }

 private:
  static std::string id_of(const SummaryJson& id, const std::string& place) {
    if (id.is_string()) return id.get<std::string>();
    if (id.is_number()) return json_text(id);
    throw BadRow(fmt::format("{}: the id is {}, not a string or a number", place, id.type_name()),
                 message("mend the record, or set `id_field`"));
  }

  [[noreturn]] static void no_text(const SummaryJson& value, const std::string& field,
                                   const std::string& place) {
    throw BadRow(fmt::format("{}: field '{}' is {}, not a text or a list of sentences", place,
                             text_for_message(field), value.type_name()),
                 "mend the record, or name another field");
  }

  static std::string sentence_of(const SummaryJson& value, const std::string& field,
                                 const std::string& place) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) no_text(value, field, place);
    std::string sentence;
    for (const SummaryJson& word : value) {
      if (!word.is_string()) no_text(word, field, place);
      sentence += (sentence.empty() ? "" : " ") + word.get<std::string>();
    }
    return sentence;
  }

  static std::string text_of(const SummaryJson& value, const std::string& field, const std::string& place,
                             bool is_summary) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) no_text(value, field, place);
    constexpr std::string_view opening = "<S>", closing = "</S>";
    std::string text;
    bool first = true;
    for (const SummaryJson& element : value) {
      std::string sentence = sentence_of(element, field, place);
      if (is_summary && sentence.size() >= opening.size() + closing.size() && sentence.starts_with(opening) &&
          sentence.ends_with(closing)) {
        sentence = sentence.substr(opening.size(), sentence.size() - opening.size() - closing.size());
      }
      if (!std::exchange(first, false)) text += '\n';
      text += sentence;
    }
    return text;
  }

  JsonRecords records_;
  JsonRecord record_;
  SummaryFields fields_;
};

}  // namespace

std::unique_ptr<SummaryPairs::Source> open_summary_json(TextInput input, const SummaryPairOptions& options) {
  return std::make_unique<SummaryJsonSource>(std::move(input), options);
}

}  // namespace bigbird
