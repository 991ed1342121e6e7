// GLUE's files; see glue_files.h.
#include "lib/text/classify/glue_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/text/text_lines.h"
#include "lib/metrics/class_metrics.h"

namespace bigbird {
namespace {

constexpr const char* no_label = "-";  // MNLI: the annotators did not agree

DelimitedOptions glue_form(bool replace_invalid) {
  DelimitedOptions options;
  options.separator = '\t';
  options.quoting = Quoting::none;
  options.header = false;
  options.ragged = RaggedRows::kept;
  options.replace_invalid = replace_invalid;
  return options;
}

std::vector<GlueColumn> columns_read(const GlueLayout& layout) {
  std::vector<GlueColumn> columns = {layout.first};
  for (const auto& column : {layout.second, layout.label, layout.index})
    if (column) columns.push_back(*column);
  return columns;
}

bool is_header_of(const GlueLayout& layout, const std::vector<std::string>& cells) {
  const std::vector<GlueColumn> columns = columns_read(layout);
  return cells.size() == layout.columns &&
         std::all_of(columns.begin(), columns.end(),
                     [&](const GlueColumn& column) { return cells[column.number] == column.name; });
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<double> similarity_score(const std::string& text) {
  const auto value = parse_regression_label(text);
  return value && *value >= 0 && *value <= 5 ? value : std::nullopt;
}

bool is_label_of(const GlueTask& task, const std::string& cell) {
  if (task.classes.empty()) return similarity_score(cell).has_value();
  return std::any_of(task.classes.begin(), task.classes.end(),
                     [&](const GlueClass& one) { return one.word == class_of_label(cell); });
}

// A row in place of the header: what has to be a label or an index is one.
bool is_row_of(const GlueTask& task, const GlueLayout& layout, const std::vector<std::string>& cells) {
  if (cells.size() != layout.columns) return false;
  if (layout.index) return is_whole_number(cells[layout.index->number]);
  const std::string& label = cells[layout.label->number];
  return is_label_of(task, label) || (task.name == "mnli" && label == no_label);
}

std::string layout_words(const std::vector<GlueLayout>& layouts) {
  std::vector<std::string> words;
  for (const GlueLayout& layout : layouts) words.push_back(std::to_string(layout.columns));
  return fmt::format("{}", fmt::join(words, " or "));
}

}  // namespace

GlueFile::GlueFile(const std::string& path, const GlueTask& task, GlueRows rows, bool replace_invalid)
    : reader_(path, glue_form(replace_invalid)), task_(task), rows_(rows) {
  if (rows != GlueRows::test) demand_labelled_files(task);
  read_first_line();
}

void GlueFile::read_first_line() {
  const std::vector<std::string>* const first = reader_.peek();
  if (first == nullptr) throw_bad_input(path() + ": the file is empty", "download it again");
  const bool test = rows_ == GlueRows::test;
  const std::vector<GlueLayout> layouts = test ? std::vector{task_.test} : task_.labelled;
  for (const GlueLayout& layout : layouts) {
    const bool header = is_header_of(layout, *first);
    if (!header && !is_row_of(task_, layout, *first)) continue;
    layout_ = layout;
    if (header) reader_.use_first_row_as_header();
    if (header != layout.header) {
      log_info(path() + (header
                             ? ": has a header line, which the published file has not"
                             : ": has no header line, unlike the published file; its first line is a row"));
    }
    return;
  }
  if (!test && is_header_of(task_.test, *first)) {
    throw_bad_input(
        fmt::format("{}:1: the header of {}'s test file, which has no labels", path(), task_.folder),
        "give a train or dev file");
  }
  if (test && std::any_of(task_.labelled.begin(), task_.labelled.end(),
                          [&](const GlueLayout& layout) { return is_header_of(layout, *first); })) {
    throw_bad_input(fmt::format("{}:1: the header of {}'s train and dev files, not of its test file", path(),
                                task_.folder),
                    "give the test file, or predict the split that it is");
  }
  const bool width = std::any_of(layouts.begin(), layouts.end(),
                                 [&](const GlueLayout& layout) { return layout.columns == first->size(); });
  std::vector<std::string> names;
  for (const GlueColumn& column : columns_read(layouts.back()))
    names.push_back(fmt::format("'{}' as column {}", column.name, column.number + 1));
  throw_bad_input(width ? fmt::format("{}:1: neither the header of {}'s {} files nor a row of them", path(),
                                      task_.folder, test ? "test" : "labelled")
                        : fmt::format("{}:1: {} fields, and {}'s {} files have {}", path(), first->size(),
                                      task_.folder, test ? "test" : "labelled", layout_words(layouts)),
                  fmt::format("tab-separated as in GLUE's download: {}", fmt::join(names, ", ")));
}

std::string GlueFile::label_of(const std::string& cell) const {
  if (task_.classes.empty()) {
    if (!similarity_score(cell)) {
      throw_bad_input(
          fmt::format("{}: score '{}' is no number from 0 to 5", reader_.where(), text_for_message(cell)),
          "scores are learned as they are, not divided by 5");
    }
    return cell;
  }
  std::vector<std::string> words;
  for (const GlueClass& one : task_.classes) {
    if (one.word == class_of_label(cell)) return one.name;
    words.push_back(one.word);
  }
  throw_bad_input(
      fmt::format("{}: label '{}' is none of {}'s", reader_.where(), text_for_message(cell), task_.folder),
      fmt::format("they are: {}", fmt::join(words, ", ")));
}

void GlueFile::check_index(const std::string& index) {
  if (!is_whole_number(index)) {
    throw_bad_input(
        fmt::format("{}: index '{}' is no whole number", reader_.where(), text_for_message(index)),
        "the first column of a test file is the index of the submission");
  }
  if (!indices_.insert(index).second) {
    throw_bad_input(fmt::format("{}: index {} stands in a line before it too", reader_.where(), index),
                    "a row of a test file has an index of its own");
  }
}

bool GlueFile::next(LabelledText& row) {
  while (reader_.next(cells_)) {
    if (cells_.size() != layout_.columns) {
      if (task_.short_rows && rows_ != GlueRows::test) {
        ++tally_.dropped;
        continue;
      }
      throw_bad_input(fmt::format("{}: {} fields, and {}'s rows have {}", reader_.where(), cells_.size(),
                                  task_.folder, layout_.columns),
                      "tab-separated as in GLUE's download; a text has no tab and no line end");
    }
    const std::uint64_t number = number_++;
    row = {};
    if (rows_ == GlueRows::labelled) {
      const std::string& cell = cells_[layout_.label->number];
      if (task_.name == "mnli" && cell == no_label) {
        ++tally_.unlabelled;
        continue;
      }
      row.labels = {label_of(cell)};
    }
    row.id = std::to_string(number);
    if (layout_.index) {
      row.id = cells_[layout_.index->number];
      check_index(row.id);
    }
    row.place = reader_.where();
    if (layout_.second) row.pair = std::move(cells_[layout_.second->number]);
    row.text = std::move(cells_[layout_.first.number]);
    ++tally_.rows;
    return true;
  }
  return false;
}

TextRows glue_rows(const std::string& path, const GlueTask& task, bool replace_invalid) {
  const auto file = std::make_shared<GlueFile>(path, task, GlueRows::labelled, replace_invalid);
  return {path, [file](LabelledText& row) {
            const bool more = file->next(row);
            if (!more) say_glue_tally(*file);
            return more;
          }};
}

void say_glue_tally(const GlueFile& file) {
  const GlueTally& tally = file.tally();
  log_info(fmt::format("{}: {} rows read", file.path(), tally.rows));
  if (tally.unlabelled > 0) {
    log_info(fmt::format("{}: {} rows have no label ('{}') and are skipped", file.path(), tally.unlabelled,
                         no_label));
  }
  if (tally.dropped > 0) {
    log_info(
        fmt::format("{}: {} rows have another number of fields and are dropped", file.path(), tally.dropped));
  }
  if (file.replaced() > 0) {
    log_warning(
        fmt::format("{}: {} U+FFFD put in for bytes that are not UTF-8", file.path(), file.replaced()));
  }
}

}  // namespace bigbird
