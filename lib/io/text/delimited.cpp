// Rows of CSV and TSV files; see delimited.h.
#include "lib/io/text/delimited.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"

namespace bigbird {
namespace {

const char* separator_name(char separator) {
  return separator == '\t' ? "a tab" : separator == ',' ? "a comma" : "a semicolon";
}

// A number from 1 to `width` as its 0-based column; npos for anything else.
std::size_t column_by_number(std::string_view text, std::size_t width) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 1 && number <= width ? number - 1 : std::string_view::npos;
}

bool stands_in_quotes(std::string_view field) {
  return field.size() >= 2 && field.front() == '"' && field.back() == '"';
}

std::string known_columns(const std::vector<std::string>& header, std::size_t width) {
  if (header.empty()) return fmt::format("without a header, columns are numbers from 1 to {}", width);
  std::string names;
  for (const std::string& name : header) names += (names.empty() ? "" : ", ") + text_for_message(name);
  return "the columns are: " + names;
}

}  // namespace

DelimitedReader::DelimitedReader(const std::string& path, const DelimitedOptions& options)
    : DelimitedReader(TextInput(path), options) {}

DelimitedReader::DelimitedReader(TextInput input, const DelimitedOptions& options)
    : lines_(std::move(input), options.replace_invalid), options_(options) {
  if (options_.header) use_first_row_as_header();
}

std::string DelimitedReader::where() const {
  return fmt::format("{}:{}", path(), row_line_);
}

void DelimitedReader::use_first_row_as_header() {
  if (!next(header_)) {
    throw_bad_input(fmt::format("{}: no header: the file is empty", path()),
                    "the first row must name the columns");
  }
  for (const std::string& name : header_) {
    if (name.find('\r') == std::string::npos) continue;
    throw_bad_input(fmt::format("{}: the header holds a carriage return (CR)", where()),
                    "lines end with LF or CR LF; convert the file first: tr '\\r' '\\n'");
  }
}

const std::vector<std::string>* DelimitedReader::peek() {
  if (!has_ahead_) {
    if (!read_row(ahead_, ahead_line_)) return nullptr;
    has_ahead_ = true;
  }
  return &ahead_;
}

std::size_t DelimitedReader::width() {
  if (width_ == 0) peek();
  return width_;
}

bool DelimitedReader::has_column(std::string_view name_or_number) {
  return std::find(header_.begin(), header_.end(), name_or_number) != header_.end() ||
         column_by_number(name_or_number, width()) != std::string_view::npos;
}

std::size_t DelimitedReader::column(std::string_view name_or_number) {
  const auto found = std::find(header_.begin(), header_.end(), name_or_number);
  if (found != header_.end()) {
    if (std::find(found + 1, header_.end(), name_or_number) != header_.end()) {
      throw_bad_input(fmt::format("{}: two columns are named '{}'", path(), text_for_message(name_or_number)),
                      "rename one of them, or give its number");
    }
    return static_cast<std::size_t>(found - header_.begin());
  }
  const std::size_t number = column_by_number(name_or_number, width());
  if (number == std::string_view::npos) {
    throw_bad_input(fmt::format("{}: no column '{}'", path(), text_for_message(name_or_number)),
                    known_columns(header_, width()));
  }
  return number;
}

bool DelimitedReader::next(std::vector<std::string>& row) {
  if (has_ahead_) {
    row.swap(ahead_);
    row_line_ = ahead_line_;
    has_ahead_ = false;
    return true;
  }
  return read_row(row, row_line_);
}

bool DelimitedReader::read_row(std::vector<std::string>& row, std::uint64_t& line_number) {
  std::string_view line;
  for (;;) {
    if (!lines_.next(line)) {
      say_tally();
      return false;
    }
    if (!line.empty() || width_ == 1) break;
    ++empty_lines_;
  }
  line_number = lines_.line_number();
  std::size_t fields = 0;
  if (options_.quoting == Quoting::automatic) {
    quoting_chosen_ = true;
    std::size_t quoted = 0, all = 0;
    for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1, ++all) {
      end = line.find(options_.separator, begin);
      quoted +=
          stands_in_quotes(line.substr(begin, end == std::string_view::npos ? end : end - begin)) ? 1u : 0u;
    }
    options_.quoting =
        options_.separator != '\t' || (all > 1 && quoted == all) ? Quoting::doubled : Quoting::none;
  }
  if (options_.quoting == Quoting::none) {
    for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
      end = line.find(options_.separator, begin);
      if (fields == row.size()) row.emplace_back();
      row[fields++].assign(line.substr(begin, end == std::string_view::npos ? end : end - begin));
    }
  } else {
    split_quoted(line, row, fields);
  }
  row.resize(fields);
  if (width_ == 0) width_ = fields;
  check_width(row, line_number);
  tally_fields(row, line_number);
  return true;
}

void DelimitedReader::tally_fields(const std::vector<std::string>& row, std::uint64_t line) {
  // Of one column any text may be the name of it.
  if (row.size() > 1 && &row != &header_ && row == header_) {
    throw_bad_input(fmt::format("{}:{}: the header is here again", path(), line),
                    "take the line out: files that were joined have one each");
  }
  for (const std::string& field : row) {
    if (field.find_first_of("\t\n\r") != std::string::npos) {
      if (odd_fields_++ == 0) first_odd_line_ = line;
    }
    if (options_.quoting == Quoting::none && stands_in_quotes(field)) {
      if (quoted_fields_++ == 0) first_quoted_line_ = line;
    }
  }
}

void DelimitedReader::say_tally() {
  if (said_) return;
  said_ = true;
  if (odd_fields_ > 0) {
    log_warning(
        fmt::format("{}: {} field{} with a tab or a line end inside, the first in the row of line {}{}",
                    path(), odd_fields_, odd_fields_ == 1 ? "" : "s", first_odd_line_,
                    options_.quoting == Quoting::doubled
                        ? message("; where \" is text, set `quoting` none: every line is a row then")
                        : ""));
  }
  if (quoting_chosen_ && quoted_fields_ > 0) {
    log_warning(
        message("{}: {} field{} in quotes, the first in line {}: the quotes are read as text; set "
                "`quoting` csv where they are not",
                path(), quoted_fields_, quoted_fields_ == 1 ? "" : "s", first_quoted_line_));
  }
  if (empty_lines_ > 0)
    log_info(
        fmt::format("{}: {} empty line{} passed over", path(), empty_lines_, empty_lines_ == 1 ? "" : "s"));
}

void DelimitedReader::split_quoted(std::string_view line, std::vector<std::string>& row,
                                   std::size_t& fields) {
  std::size_t at = 0;
  for (;;) {
    if (fields == row.size()) row.emplace_back();
    std::string& field = row[fields++];
    field.clear();
    if (at >= line.size() || line[at] != '"') {
      const std::size_t end = line.find(options_.separator, at);
      field.assign(line.substr(at, end == std::string_view::npos ? end : end - at));
      if (end == std::string_view::npos) return;
      at = end + 1;
      continue;
    }
    const std::uint64_t opening = lines_.line_number();
    ++at;
    for (;;) {
      const std::size_t quote = line.find('"', at);
      field += line.substr(at, quote == std::string_view::npos ? quote : quote - at);
      if (quote == std::string_view::npos) {
        if (!lines_.next(line)) {
          throw_bad_input(
              fmt::format("{}:{}: the quote that opens field {} is never closed", path(), opening, fields),
              message(
                  "a \" inside of a quoted field is written twice; where \" is text, set `quoting` none"));
        }
        field += '\n';
        at = 0;
        if (field.size() > longest_line) throw_line_too_long(path(), opening - 1, longest_line);
      } else if (quote + 1 < line.size() && line[quote + 1] == '"') {
        field += '"';
        at = quote + 2;
      } else {
        at = quote + 1;
        break;
      }
    }
    if (at >= line.size()) return;
    if (line[at] != options_.separator) {
      throw_bad_input(
          fmt::format("{}:{}: after the closing quote of field {} there is '{}' where {} is expected", path(),
                      opening, fields, text_for_message(line.substr(at), 1),
                      separator_name(options_.separator)),
          message("a \" inside of a quoted field is written twice; where \" is text, set `quoting` none"));
    }
    ++at;
  }
}

void DelimitedReader::check_width(const std::vector<std::string>& row, std::uint64_t line) const {
  if (row.size() == width_ || options_.ragged == RaggedRows::kept) return;
  std::string hint = "a field that holds the separator or a newline is in quotes";
  if (options_.separator == '\t') {
    const bool quotes = options_.quoting == Quoting::none && quoting_chosen_ &&
                        std::any_of(row.begin(), row.end(), [](const std::string& field) {
                          return !field.empty() && (field.front() == '"' || field.back() == '"');
                        });
    hint =
        quotes
            ? message(
                  "fields are separated by single tabs; where quotes keep tabs and line ends together, set "
                  "`quoting` csv")
            : "fields are separated by single tabs";
  }
  throw_bad_input(fmt::format("{}:{}: {} field{} where the {} has {}", path(), line, row.size(),
                              row.size() == 1 ? "" : "s", header_.empty() ? "first row" : "header", width_),
                  hint);
}

std::string first_line_of(TextInput& input) {
  constexpr std::size_t most = 1 << 16;
  std::size_t end = 0;
  while ((end = input.window().find('\n')) == std::string_view::npos && input.window().size() < most) {
    if (!input.fill()) break;
  }
  std::string line(input.window().substr(0, std::min(end, most)));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

std::vector<std::string> fields_of_line(std::string_view line, char separator) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = line.find(separator, begin);
    std::string_view field = line.substr(begin, end == std::string_view::npos ? end : end - begin);
    if (stands_in_quotes(field)) field = field.substr(1, field.size() - 2);
    fields.emplace_back(field);
  }
  return fields;
}

char separator_of_table(TextInput& input, char usual,
                        const std::function<bool(const std::string&)>& is_name) {
  const std::string line = first_line_of(input);
  if (line.find(usual) != std::string::npos) return usual;
  for (const char other : {';', '\t', ','}) {
    const std::vector<std::string> fields = fields_of_line(line, other);
    if (other == usual || fields.size() < 2 || std::none_of(fields.begin(), fields.end(), is_name)) continue;
    log_warning(fmt::format("{}: fields are separated by {}, not by {}", input.path(), separator_name(other),
                            separator_name(usual)));
    return other;
  }
  return usual;
}

}  // namespace bigbird
