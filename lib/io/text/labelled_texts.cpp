// Texts with labels from JSON Lines, CSV, TSV, folders and articles; see labelled_texts.h.
#include "lib/io/text/labelled_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/labelled_sources.h"

namespace bigbird {
namespace {

bool is_one_of(std::string_view path, std::initializer_list<const char*> suffixes) {
  if (path.size() > 3 && path.substr(path.size() - 3) == ".gz") path.remove_suffix(3);
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return has_suffix(std::string(path), suffix); });
}

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
  throw_usage(fmt::format("{}: its name does not tell its format", path),
              message("set `format` to csv, tsv, jsonl, lines, folder or articles"));
}

}  // namespace

std::unique_ptr<LabelledTexts::Source> open_labelled_source(const std::string& path,
                                                            const LabelledTextOptions& given) {
  LabelledTextOptions options = given;
  const auto refuse_label_files = [&](TableFormat found) {
    if (found == TableFormat::articles || options.label_files.empty()) return;
    throw_usage(fmt::format("{}: its labels stand with its texts", path),
                message("`label_files` is for articles (.xml)"));
  };
  TableFormat format = options.format;
  if (format == TableFormat::automatic && path != "-") format = format_of_path(path);
  if (format == TableFormat::folder) {
    refuse_label_files(format);
    return open_folder_source(path, options);
  }
  TextInput input(path);
  if (format == TableFormat::automatic) format = format_of_content(input, options);
  refuse_label_files(format);
  if (format == TableFormat::jsonl) return open_json_source(std::move(input), options);
  if (format == TableFormat::articles) return open_article_source(std::move(input), options);
  if (format == TableFormat::lines) return open_line_source(std::move(input), options);
  const char separator =
      separator_of_table(input, format == TableFormat::tsv ? '\t' : ',',
                         [&](const std::string& cell) { return is_known_column(options, cell); });
  return open_table_source(std::move(input), options, separator);
}

void LabelledTexts::Source::check_id(const std::string& id, std::uint64_t line, std::uint64_t column) {
  Sha256 sha;
  sha.update(id.data(), id.size());
  const std::string digest = sha.finish();
  const auto half = [&](std::size_t at) { return std::stoull(digest.substr(at, 16), nullptr, 16); };
  const auto [found, added] = ids_.try_emplace({half(0), half(16)}, Place{line, column});
  if (added) return;
  const auto shown = [&](const Place& place) {
    return place.column == 0 ? fmt::format("{}:{}", path_, place.line)
                             : fmt::format("{}:{}:{}", path_, place.line, place.column);
  };
  throw_bad_input(
      fmt::format("{}: the id '{}' is that of {} as well", shown({line, column}), text_for_message(id),
                  shown(found->second)),
      message("ids must differ; set `id_column` to another column, or leave the column out to count rows"));
}

void LabelledTexts::Source::count(const LabelledText& row) {
  ++rows_;
  if (is_blank(row.text) && (!row.pair || is_blank(*row.pair))) ++blank_;
}

std::vector<std::string> split_column_list(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = list.find(',', begin);
    names.push_back(list.substr(begin, comma == std::string::npos ? comma : comma - begin));
    if (comma == std::string::npos) return names;
    begin = comma + 1;
  }
}

ChosenColumns choose_columns(const std::string& path, const std::vector<std::string>& names,
                             const LabelledTextOptions& options,
                             const std::function<std::size_t(const std::string&)>& find) {
  const auto there = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  // A name with a comma in it is one column where there is such a column.
  const auto listed = [&](const std::string& list) {
    std::vector<std::size_t> columns;
    if (std::find(names.begin(), names.end(), list) != names.end()) return std::vector{find(list)};
    for (const std::string& name : split_column_list(list)) columns.push_back(find(name));
    return columns;
  };
  ChosenColumns chosen;
  if (options.labels != Labels::ignored) {
    if (!options.label_column.empty()) {
      chosen.label = find(options.label_column);
    } else if (there("label")) {
      chosen.label = find("label");
    } else if (options.labels == Labels::required) {
      std::string known;
      for (const std::string& name : names) known += (known.empty() ? "" : ", ") + text_for_message(name);
      throw_bad_input(fmt::format("{}: no column 'label'", path),
                      message("set `label_column` to one of: {} (a table without a header: `header` no, and "
                              "numbers from 1)",
                              known));
    }
  }
  if (!options.id_column.empty()) {
    chosen.id = find(options.id_column);
  } else if (there("id") || there("idx")) {
    chosen.id = find(there("id") ? "id" : "idx");
  }

  if (!options.text_column.empty()) chosen.text = listed(options.text_column);
  if (!options.pair_column.empty()) chosen.pair = listed(options.pair_column);
  if (!chosen.text.empty()) return chosen;
  constexpr std::array<std::pair<const char*, const char*>, 3> usual{
      {{"sentence1", "sentence2"}, {"text", "text_pair"}, {"sentence", "sentence"}}};
  for (const auto& [text, pair] : usual) {
    if (!there(text)) continue;
    chosen.text = {find(text)};
    const bool with_pair = options.pair_column.empty() && std::string_view(pair) != text && there(pair);
    if (with_pair) chosen.pair = {find(pair)};
    return chosen;
  }
  // A column of labels that are not read is none of the texts.
  const auto ignored_label = [&](std::size_t column) {
    const std::string& label = options.label_column;
    return label.empty() ? names[column] == "label"
                         : names[column] == label || std::to_string(column + 1) == label;
  };
  std::vector<std::size_t> others;
  for (std::size_t column = 0; column < names.size(); ++column) {
    const bool taken = chosen.label == column || chosen.id == column || ignored_label(column) ||
                       std::find(chosen.pair.begin(), chosen.pair.end(), column) != chosen.pair.end();
    if (!taken) others.push_back(column);
  }
  if (others.empty()) {
    throw_bad_input(fmt::format("{}: no column of texts", path), message("set `text_column`"));
  }
  chosen.text = {others[0]};
  if (options.pair_column.empty() && others.size() > 1) chosen.pair = {others[1]};
  return chosen;
}

std::string describe_columns(const std::vector<std::string>& names, const ChosenColumns& chosen) {
  const auto list = [&](const std::vector<std::size_t>& columns) {
    std::string text;
    for (const std::size_t column : columns)
      text += (text.empty() ? "" : ", ") + text_for_message(names[column]);
    return text;
  };
  std::string text = "text: " + list(chosen.text);
  if (!chosen.pair.empty()) text += "; pair: " + list(chosen.pair);
  if (chosen.label) text += "; label: " + list({*chosen.label});
  return text + "; id: " + (chosen.id ? list({*chosen.id}) : "number of the row");
}

LabelledTexts::LabelledTexts(const std::string& path, const LabelledTextOptions& options)
    : source_(open_labelled_source(path, options)) {}

LabelledTexts::~LabelledTexts() = default;
LabelledTexts::LabelledTexts(LabelledTexts&&) noexcept = default;
LabelledTexts& LabelledTexts::operator=(LabelledTexts&&) noexcept = default;

bool LabelledTexts::next(LabelledText& row) {
  if (!source_->read(row)) return false;
  source_->count(row);
  return true;
}

std::uint64_t LabelledTexts::rows() const {
  return source_->rows();
}
std::uint64_t LabelledTexts::replaced() const {
  return source_->replaced();
}
std::uint64_t LabelledTexts::blank() const {
  return source_->blank();
}
std::string LabelledTexts::columns() const {
  return source_->columns();
}

}  // namespace bigbird
