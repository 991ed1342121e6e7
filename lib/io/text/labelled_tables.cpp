// Labelled texts in CSV and TSV files; see labelled_texts.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/error.h"
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
                        "every row needs a label; leave the row out, or look at `label_column`");
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
    const auto in_first = [&](const std::string& name) {
      return std::find(first->begin(), first->end(), name) != first->end();
    };
    bool by_number = false;
    for (const std::string* given :
         {&options().text_column, &options().pair_column, &options().label_column, &options().id_column}) {
      if (given->empty()) continue;
      for (const std::string& name : split_column_list(*given)) {
        if (is_column_number(name)) {
          by_number = true;
        } else if (in_first(name)) {
          return true;
        }
      }
    }
    return !by_number || std::any_of(usual_names.begin(), usual_names.end(), in_first);
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

}  // namespace

std::unique_ptr<LabelledTexts::Source> open_table_source(TextInput input, const LabelledTextOptions& options,
                                                         char separator) {
  return std::make_unique<TableSource>(std::move(input), options, separator);
}

}  // namespace bigbird
