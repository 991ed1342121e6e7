// TSV tables; see tsv.h.
#include "lib/io/tables/tsv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lib/core/error.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

bool is_missing(std::string_view text) {
  return text.empty() || text == "." || text == missing_field || text == "nan" || text == "NaN";
}

std::string text_field(std::string_view text) {
  return text.empty() || text == "." ? missing_field : std::string(text);
}

void split_tabs(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  std::size_t begin = 0;
  for (;;) {
    const std::size_t tab = line.find('\t', begin);
    fields.push_back(line.substr(begin, tab == std::string_view::npos ? tab : tab - begin));
    if (tab == std::string_view::npos) return;
    begin = tab + 1;
  }
}

namespace {

template <typename Number>
Number parse_whole(std::string_view text, const std::string& where, std::string_view what, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_bad_input(fmt::format("{}: {} is not {}: {}", where, what, kind, text.substr(0, 80)),
                    "check the columns of that line");
  }
  return value;
}

}  // namespace

double parse_number(std::string_view text, const std::string& where, std::string_view what) {
  return parse_whole<double>(text, where, what, "a number");
}

std::int64_t parse_integer(std::string_view text, const std::string& where, std::string_view what) {
  return parse_whole<std::int64_t>(text, where, what, "a whole number");
}

TsvReader::TsvReader(const std::string& path) : lines_(path) {
  std::string_view line;
  while (lines_.next(line)) {
    if (line.empty()) continue;
    if (line.starts_with("##")) {
      comments_.emplace_back(line.substr(2));
      continue;
    }
    std::vector<std::string_view> fields;
    split_tabs(line.substr(line.front() == '#' ? 1 : 0), fields);
    columns_.assign(fields.begin(), fields.end());
    if (comments_.empty()) comments_ = provenance_beside(path);
    return;
  }
  throw_bad_input(fmt::format("{}: no line with the names of columns", path),
                  "the first line that does not start with ## must name the columns: first<TAB>second");
}

bool TsvReader::has_column(const std::string& name) const {
  return std::find(columns_.begin(), columns_.end(), name) != columns_.end();
}

std::size_t TsvReader::column(const std::string& name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) {
    throw_bad_input(fmt::format("{}: no column named {}", path(), name),
                    fmt::format("the columns are: {}", fmt::join(columns_, ", ")));
  }
  if (std::find(found + 1, columns_.end(), name) != columns_.end())
    throw_bad_input(fmt::format("{}: two columns are named {}", path(), name), "rename one of them");
  return static_cast<std::size_t>(found - columns_.begin());
}

bool TsvReader::next(std::vector<std::string_view>& fields) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (line.empty());
  split_tabs(line, fields);
  if (fields.size() != columns_.size()) {
    throw_bad_input(
        fmt::format("{}: {} columns where the header has {}", where(), fields.size(), columns_.size()),
        "columns are separated by single tabs");
  }
  return true;
}

TsvWriter::TsvWriter(OutputStream& out, const std::vector<std::string>& columns,
                     const std::vector<std::string>& comments)
    : out_(out), column_count_(columns.size()) {
  for (const std::string& comment : comments) out_.write("##" + comment + "\n");
  out_.write(fmt::format("{}\n", fmt::join(columns, "\t")));
}

void TsvWriter::row(const std::vector<std::string>& fields) {
  if (fields.size() != column_count_) {
    throw_runtime(
        fmt::format("{}: a row of {} fields for {} columns", out_.path(), fields.size(), column_count_));
  }
  line_.clear();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].find_first_of("\t\n\r") != std::string::npos) {
      throw_runtime(
          fmt::format("{}: a field holds a tab or a line end: {}", out_.path(), fields[i].substr(0, 40)));
    }
    if (i > 0) line_ += '\t';
    line_ += fields[i];
  }
  line_ += '\n';
  out_.write(line_);
}

}  // namespace bigbird
