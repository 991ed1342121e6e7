// Labelled texts in CSV and TSV files, and texts a line each; see labelled_texts.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/text/labelled_sources.h"

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

}  // namespace

bool is_known_column(const LabelledTextOptions& options, const std::string& cell) {
  if (std::find(usual_names.begin(), usual_names.end(), cell) != usual_names.end()) return true;
  const std::vector<std::string> names = named_columns(options);
  return !is_column_number(cell) && std::find(names.begin(), names.end(), cell) != names.end();
}

bool speaks_of_columns(const LabelledTextOptions& options) {
  return options.header != HeaderRow::automatic || !named_columns(options).empty();
}

std::unique_ptr<LabelledTexts::Source> open_line_source(TextInput input, const LabelledTextOptions& options) {
  return std::make_unique<LineSource>(std::move(input), options);
}

std::unique_ptr<LabelledTexts::Source> open_table_source(TextInput input, const LabelledTextOptions& options,
                                                         char separator) {
  return std::make_unique<TableSource>(std::move(input), options, separator);
}

}  // namespace bigbird
