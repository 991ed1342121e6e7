// Labelled texts in CSV and TSV, in JSON, as files in a folder for each class, and texts a line each; see
// labelled_texts.h.
#include "lib/io/text/labelled_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_input.h"

namespace bigbird {
namespace {

constexpr std::array<const char*, 8> usual_names{"label",     "sentence1", "sentence2", "text",
                                                 "text_pair", "sentence",  "id",        "idx"};

bool is_column_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string with_newlines(std::string text) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool newline = text[at] == '\\' && at + 1 < text.size() && text[at + 1] == 'n';
    text[out++] = newline ? '\n' : text[at];
    if (newline) ++at;
  }
  text.resize(out);
  return text;
}

// What the options name columns by; lists as their parts.
std::vector<std::string> named_columns(const LabelledTextOptions& options) {
  std::vector<std::string> names;
  for (const std::string* given :
       {&options.text_column, &options.pair_column, &options.label_column, &options.id_column}) {
    if (given->empty()) continue;
    for (std::string& name : split_column_list(*given)) names.push_back(std::move(name));
  }
  return names;
}

// Names of columns are words: a sentence, a number or nothing at all is none.
bool looks_like_data(const std::string& cell) {
  return cell.empty() || cell.find_first_of(" .!?") != std::string::npos || is_column_number(cell);
}

// Whether a cell of the first row names a column: one that is looked for where nothing is given, or that the
// options name.
bool is_known_column(const LabelledTextOptions& options, const std::string& cell) {
  if (std::find(usual_names.begin(), usual_names.end(), cell) != usual_names.end()) return true;
  const std::vector<std::string> names = named_columns(options);
  return !is_column_number(cell) && std::find(names.begin(), names.end(), cell) != names.end();
}

// Whether the options say that there are columns or a header.
bool speaks_of_columns(const LabelledTextOptions& options) {
  return options.header != HeaderRow::automatic || !named_columns(options).empty();
}

class TableSource : public LabelledTexts::Source {
 public:
  TableSource(TextInput input, const LabelledTextOptions& options, char separator)
      : Source(input.path(), options),
        reader_(std::move(input),
                {separator, options.quoting, false, RaggedRows::refused, options.replace_invalid}) {
    if (has_header()) reader_.use_first_row_as_header();
    names_ = reader_.header();
    if (names_.empty()) {
      for (std::size_t i = 1; i <= reader_.width(); ++i) names_.push_back(std::to_string(i));
    }
    // Without a row there is nothing to choose, and nothing to read.
    if (names_.empty()) return;
    chosen_ = choose_columns(path(), names_, options,
                             [&](const std::string& name) { return reader_.column(name); });
  }

  bool read(LabelledText& row) override {
    if (!reader_.next(fields_)) return false;
    row.place = reader_.where();
    row.text = joined(chosen_.text);
    row.pair.reset();
    if (!chosen_.pair.empty()) row.pair = joined(chosen_.pair);
    row.labels.clear();
    row.label_is_list = false;
    if (chosen_.label) {
      const std::string& label = fields_[*chosen_.label];
      if (is_blank(label)) {
        throw_bad_input(fmt::format("{}: the label is empty (column '{}')", row.place,
                                    text_for_message(names_[*chosen_.label])),
                        message("every row needs a label; leave the row out, or look at `label_column`"));
      }
      row.labels.push_back(label);
    }
    row.id = chosen_.id ? fields_[*chosen_.id] : std::to_string(rows());
    if (chosen_.id) check_id(row.id, reader_.line_number(), 0);
    return true;
  }

  std::uint64_t replaced() const override { return reader_.replaced(); }
  std::string columns() const override { return names_.empty() ? "" : describe_columns(names_, chosen_); }

 private:
  bool has_header() {
    if (options().header != HeaderRow::automatic) return options().header == HeaderRow::yes;
    const std::vector<std::string>* first = reader_.peek();
    if (first == nullptr) return false;
    if (std::any_of(first->begin(), first->end(),
                    [&](const std::string& cell) { return is_known_column(options(), cell); })) {
      return true;
    }
    bool by_number = false, by_name = false;
    for (const std::string& name : named_columns(options()))
      (is_column_number(name) ? by_number : by_name) = true;
    if (by_number) return false;
    // A name that is asked for and not there will be missed; without one, nobody would notice.
    if (!by_name && std::any_of(first->begin(), first->end(), looks_like_data)) {
      log_warning(
          message("{}: the first row is taken for the names of the columns, though '{}' looks like "
                  "data; set `no_header` where it is a row",
                  path(), text_for_message(fmt::format("{}", fmt::join(*first, " | ")))));
    }
    return true;
  }

  std::string joined(const std::vector<std::size_t>& columns) const {
    std::string text;
    for (const std::size_t column : columns) {
      if (column != columns.front()) text += ' ';
      text += fields_[column];
    }
    return options().backslash_newline ? with_newlines(std::move(text)) : text;
  }

  DelimitedReader reader_;
  std::vector<std::string> names_;
  ChosenColumns chosen_;
  std::vector<std::string> fields_;
};

class LineSource : public LabelledTexts::Source {
 public:
  LineSource(TextInput input, const LabelledTextOptions& options)
      : Source(input.path(), options), lines_(std::move(input), options.replace_invalid) {
    if (options.labels == Labels::required) {
      throw_usage(fmt::format("{}: lines of text have no labels", path()),
                  message("set `format` to csv, tsv or jsonl where it is a table"));
    }
    if (speaks_of_columns(options)) {
      throw_usage(fmt::format("{}: lines of text have no columns", path()),
                  message("set `format` to csv or tsv where it is a table"));
    }
  }

  bool read(LabelledText& row) override {
    std::string_view line;
    if (!lines_.next(line)) return false;
    row = {};
    row.text = line;
    if (options().backslash_newline) row.text = with_newlines(std::move(row.text));
    row.id = std::to_string(rows());
    row.place = lines_.where();
    return true;
  }

  std::uint64_t replaced() const override { return lines_.replaced(); }
  std::string columns() const override { return "text: every line; id: its number from 0"; }

 private:
  TextLines lines_;
};

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
    row.place = records_.place_of(record_);
    const auto object = parse_record<LabelledJson>(path(), record_);
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

class FolderSource : public LabelledTexts::Source {
 public:
  FolderSource(const std::string& path, const LabelledTextOptions& options) : Source(path, options) {
    if (!folder_exists(path)) {
      throw_bad_input(fmt::format("{}: is not a folder", path),
                      message("`format` folder reads FOLDER/CLASS/*.txt; check the path"));
    }
    classes_ = folders_in(path);
    const bool bare =
        options.labels == Labels::ignored || (options.labels == Labels::optional && classes_.empty());
    if (bare && !text_files_in(path).empty()) {
      classes_.insert(classes_.begin(), "");
    } else if (classes_.empty()) {
      throw_bad_input(fmt::format("{}: no folder of a class in it", path),
                      "every class is a folder of .txt files: FOLDER/CLASS/*.txt");
    }
  }

  bool read(LabelledText& row) override {
    while (file_ == files_.size()) {
      if (next_class_ == classes_.size()) return false;
      class_ = classes_[next_class_++];
      files_ = text_files_in(class_.empty() ? path() : path() + "/" + class_);
      file_ = 0;
      if (files_.empty()) {
        throw_bad_input(fmt::format("{}/{}: no .txt file in the folder of this class", path(), class_),
                        "remove the folder, or put the texts of the class there");
      }
    }
    row.id = class_.empty() ? files_[file_] : class_ + "/" + files_[file_];
    row.place = path() + "/" + row.id;
    ++file_;
    row.pair.reset();
    row.labels.clear();
    row.label_is_list = false;
    if (options().labels != Labels::ignored && !class_.empty()) row.labels.push_back(class_);
    TextLines lines(row.place, options().replace_invalid);
    row.text = joined_lines(lines);
    replaced_ += lines.replaced();
    return true;
  }

  std::uint64_t replaced() const override { return replaced_; }
  std::string columns() const override {
    return options().labels == Labels::ignored ? "text: the files; id: their paths"
                                               : "text: the files; label: their folder; id: their paths";
  }

 private:
  std::vector<std::string> classes_;  // "" for the folder itself
  std::size_t next_class_ = 0;
  std::string class_;
  std::vector<std::string> files_;
  std::size_t file_ = 0;
  std::uint64_t replaced_ = 0;
};

// What is not white space at the begin of the input, without taking it: `count` bytes, or all there are.
std::string first_bytes(TextInput& input, std::size_t count) {
  constexpr const char* blanks = " \t\r\n";
  while (true) {
    const std::string_view window = input.window();
    const std::size_t begin = std::min(window.find_first_not_of(blanks), window.size());
    if (window.size() - begin >= count || !input.fill()) {
      const std::string_view now = input.window();
      const std::size_t at = std::min(now.find_first_not_of(blanks), now.size());
      return std::string(now.substr(at, count));
    }
  }
}

// An object, or a list that begins with one.
bool begins_as_json(TextInput& input) {
  const std::string first = first_bytes(input, 1);
  if (first == "{") return true;
  if (first != "[") return false;
  std::string line = first_line_of(input);
  const std::size_t bracket = line.find('[');
  const std::size_t next = line.find_first_not_of(" \t\r", bracket == std::string::npos ? 0 : bracket + 1);
  return bracket == std::string::npos || next == std::string::npos || line[next] == '{' || line[next] == ']';
}

bool begins_as_xml(TextInput& input) {
  if (first_bytes(input, 1) != "<") return false;
  const std::string begin = first_bytes(input, 8);
  return begin.rfind("<?xml", 0) == 0 || begin.rfind("<!", 0) == 0 || begin.rfind("<article", 0) == 0;
}

// No more is read than tells it: a stream may go on slowly. `options`: that the first row is no header, where
// it shows.
TableFormat format_of_content(TextInput& input, LabelledTextOptions& options) {
  if (begins_as_json(input)) return TableFormat::jsonl;
  if (begins_as_xml(input)) return TableFormat::articles;
  const std::string line = first_line_of(input);
  const auto known = [&](const std::string& cell) { return is_known_column(options, cell); };
  const auto has_blank = [](const std::string& cell) { return cell.find(' ') != std::string::npos; };
  const std::vector<std::string> by_tab = fields_of_line(line, '\t');
  if (by_tab.size() > 1) {
    if (!speaks_of_columns(options) && std::none_of(by_tab.begin(), by_tab.end(), known) &&
        std::any_of(by_tab.begin(), by_tab.end(), has_blank)) {
      options.header = HeaderRow::no;
    }
    return TableFormat::tsv;
  }
  if (speaks_of_columns(options)) return TableFormat::csv;
  for (const char separator : {',', ';'}) {
    const std::vector<std::string> fields = fields_of_line(line, separator);
    if (std::any_of(fields.begin(), fields.end(), known)) return TableFormat::csv;
  }
  const std::vector<std::string> by_comma = fields_of_line(line, ',');
  const bool words =
      by_comma.size() > 1 && std::none_of(by_comma.begin(), by_comma.end(),
                                          [&](const auto& cell) { return cell.empty() || has_blank(cell); });
  return words ? TableFormat::csv : TableFormat::lines;
}

TableFormat format_of_path(const std::string& path) {
  if (path != "-" && folder_exists(path)) return TableFormat::folder;
  if (is_one_of(path, {".csv"})) return TableFormat::csv;
  if (is_one_of(path, {".tsv", ".tab"})) return TableFormat::tsv;
  if (is_one_of(path, {".jsonl", ".ndjson", ".json"})) return TableFormat::jsonl;
  if (is_one_of(path, {".xml"})) return TableFormat::articles;
  if (is_one_of(path, {".txt"})) return TableFormat::automatic;
  throw_usage(fmt::format("{}: its name does not show its format", path),
              message("set `format` to csv, tsv, jsonl, lines, folder or articles"));
}

}  // namespace

std::unique_ptr<LabelledTexts::Source> open_labelled_source(const std::string& path,
                                                            const LabelledTextOptions& given) {
  LabelledTextOptions options = given;
  const auto refuse_label_files = [&](TableFormat found) {
    if (found == TableFormat::articles || options.label_files.empty()) return;
    throw_usage(fmt::format("{}: its labels are with its texts", path),
                message("`label_files` is for articles (.xml)"));
  };
  TableFormat format = options.format;
  if (format == TableFormat::automatic && path != "-") format = format_of_path(path);
  if (format == TableFormat::folder) {
    refuse_label_files(format);
    return std::make_unique<FolderSource>(path, options);
  }
  TextInput input(path);
  if (format == TableFormat::automatic) format = format_of_content(input, options);
  refuse_label_files(format);
  if (format == TableFormat::jsonl) return std::make_unique<JsonSource>(std::move(input), options);
  if (format == TableFormat::articles) return open_article_source(std::move(input), options);
  if (format == TableFormat::lines) return std::make_unique<LineSource>(std::move(input), options);
  const char separator =
      separator_of_table(input, format == TableFormat::tsv ? '\t' : ',',
                         [&](const std::string& cell) { return is_known_column(options, cell); });
  return std::make_unique<TableSource>(std::move(input), options, separator);
}

}  // namespace bigbird
