// Labelled texts in JSON Lines, or in one list of JSON; see labelled_texts.h.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/labelled_sources.h"

namespace bigbird {
namespace {

using LabelledJson = nlohmann::basic_json<OrderedMap>;  // the order of the keys is that of the columns

JsonRecordsOptions labelled_record_options(const LabelledTextOptions& options) {
  JsonRecordsOptions records;
  records.list_keys = {"data"};
  records.replace_invalid = options.replace_invalid;
  return records;
}

class JsonSource : public LabelledTexts::Source {
 public:
  JsonSource(TextInput input, const LabelledTextOptions& options)
      : Source(input.path(), options), records_(std::move(input), labelled_record_options(options)) {}

  bool read(LabelledText& row) override {
    if (!records_.next(record_)) return false;
    row.place =
        records_.is_list() ? record_place(path(), record_) : fmt::format("{}:{}", path(), record_.line);
    LabelledJson object;
    try {
      object = LabelledJson::parse(record_.json);
    } catch (const LabelledJson::exception& error) {
      throw_json_error(path(), record_, error);
    }
    if (!object.is_object()) {
      throw_bad_input(fmt::format("{}: a record is {}, not an object", row.place, object.type_name()),
                      "a record looks like {\"text\": \"...\", \"label\": \"...\"}");
    }
    if (names_.empty()) choose(object);
    row.id = std::to_string(rows());
    std::string where = row.place;
    if (chosen_.id) {
      const LabelledJson& id = field(object, *chosen_.id, where);
      if (!id.is_string() && !id.is_number()) wrong_type(id, *chosen_.id, where, "a string or a number");
      row.id = id.is_string() ? id.get<std::string>() : json_text(id);
      check_id(row.id, record_.line, records_.is_list() ? record_.column : 0);
      where += fmt::format(": id '{}'", text_for_message(row.id));
    }
    row.text = joined(object, chosen_.text, where);
    row.pair.reset();
    if (!chosen_.pair.empty()) row.pair = joined(object, chosen_.pair, where);
    row.labels.clear();
    row.label_is_list = false;
    if (chosen_.label) read_labels(object, row, where);
    return true;
  }

  std::uint64_t replaced() const override { return records_.replaced(); }
  std::string columns() const override { return names_.empty() ? "" : describe_columns(names_, chosen_); }

 private:
  void choose(const LabelledJson& object) {
    for (const auto& [name, value] : object.items()) names_.push_back(name);
    chosen_ = choose_columns(path(), names_, options(), [&](const std::string& name) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found == names_.end()) missing(object, name, fmt::format("{}:{}", path(), record_.line));
      return static_cast<std::size_t>(found - names_.begin());
    });
  }

  [[noreturn]] void missing(const LabelledJson& object, const std::string& name,
                            const std::string& place) const {
    std::string known;
    for (const auto& [key, value] : object.items()) {
      known += (known.empty() ? "" : ", ") + text_for_message(key);
    }
    throw_bad_input(fmt::format("{}: no field '{}'", place, text_for_message(name)),
                    "the fields are: " + text_for_message(known, 300));
  }

  [[noreturn]] void wrong_type(const LabelledJson& value, std::size_t column, const std::string& place,
                               const char* expected) const {
    throw_bad_input(fmt::format("{}: field '{}' is {}, not {}", place, text_for_message(names_[column]),
                                value.type_name(), expected),
                    "mend the record, or name another field");
  }

  const LabelledJson& field(const LabelledJson& object, std::size_t column, const std::string& place) const {
    const auto found = object.find(names_[column]);
    if (found == object.end()) missing(object, names_[column], place);
    return *found;
  }

  std::string joined(const LabelledJson& object, const std::vector<std::size_t>& columns,
                     const std::string& place) const {
    std::string text;
    for (const std::size_t column : columns) {
      const LabelledJson& value = field(object, column, place);
      if (!value.is_string()) wrong_type(value, column, place, "a string");
      if (column != columns.front()) text += ' ';
      text += value.get_ref<const std::string&>();
    }
    return text;
  }

  void add_label(const LabelledJson& value, LabelledText& row, const std::string& where) const {
    const bool right = value.is_string() || value.is_number() || value.is_boolean();
    if (!right) wrong_type(value, *chosen_.label, where, "a label");
    std::string label = value.is_string() ? value.get<std::string>() : json_text(value);
    if (is_blank(label)) {
      throw_bad_input(
          fmt::format("{}: the label is empty (field '{}')", where, text_for_message(names_[*chosen_.label])),
          message("every row needs a label; leave the row out, or look at `label_column`"));
    }
    row.labels.push_back(std::move(label));
  }

  void read_labels(const LabelledJson& object, LabelledText& row, const std::string& where) const {
    const LabelledJson& value = field(object, *chosen_.label, where);
    row.label_is_list = value.is_array();
    if (!value.is_array()) return add_label(value, row, where);
    for (const LabelledJson& label : value) add_label(label, row, where);
  }

  JsonRecords records_;
  JsonRecord record_;
  std::vector<std::string> names_;  // the keys of the first record
  ChosenColumns chosen_;
};

}  // namespace

std::unique_ptr<LabelledTexts::Source> open_json_source(TextInput input, const LabelledTextOptions& options) {
  return std::make_unique<JsonSource>(std::move(input), options);
}

}  // namespace bigbird
