// Texts with labels, and which columns hold them; see labelled_texts.h.
#include "lib/io/text/labelled_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/labelled_sources.h"

namespace bigbird {

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
      fmt::format("{}: the id '{}' is the one of {} as well", shown({line, column}), text_for_message(id),
                  shown(found->second)),
      message("ids must differ; set `id_column` to another column, or leave the column out to count rows"));
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

bool LabelledTexts::next(LabelledText& row) {
  if (!source_->read(row)) return false;
  source_->count();
  return true;
}

std::uint64_t LabelledTexts::rows() const {
  return source_->rows();
}
std::uint64_t LabelledTexts::replaced() const {
  return source_->replaced();
}
std::string LabelledTexts::columns() const {
  return source_->columns();
}

}  // namespace bigbird
