// TSV tables as the toolkit writes and reads them: one line with the names of the columns, then rows; NA
// where there is no value. Readers of tables (pandas, R, polars) open them by their usual line. On request
// lines of provenance, after "##", stand on top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/file.h"

namespace bigbird {

// What stands in a cell without a value.
inline constexpr const char* missing_field = "NA";
// Whether a cell has none: "", ".", "NA", "nan", "NaN". Earlier versions wrote ".".
bool is_missing(std::string_view text);
// A text of which "." and "" mean that there is none, as it is written: a contig, a strand, a group.
std::string text_field(std::string_view text);

class TsvReader {
 public:
  // Reads the "##" lines and the line of names, before whose first a '#' may stand (as earlier versions wrote
  // it). Error when there is no line of names.
  explicit TsvReader(const std::string& path);

  // The "##" lines without the two signs; without one, those that lie beside the file (provenance_beside).
  const std::vector<std::string>& comments() const { return comments_; }
  const std::vector<std::string>& columns() const { return columns_; }
  // Index of a column; Error naming the file when it is not there.
  std::size_t column(const std::string& name) const;
  bool has_column(const std::string& name) const;
  // The fields of the next row, as views valid until the next call; false at the end. Blank lines are
  // skipped. Error naming file and line when a row has another number of fields than the header.
  bool next(std::vector<std::string_view>& fields);
  // "FILE:LINE" of the row returned last.
  std::string where() const { return lines_.where(); }
  const std::string& path() const { return lines_.path(); }

 private:
  LineReader lines_;
  std::vector<std::string> comments_;
  std::vector<std::string> columns_;
};

// Splits at every tab (empty fields are kept).
void split_tabs(std::string_view line, std::vector<std::string_view>& fields);

// Numbers as a file holds them; Error "WHERE: WHAT is not a number: TEXT" else. The whole text must be used.
double parse_number(std::string_view text, const std::string& where, std::string_view what);
std::int64_t parse_integer(std::string_view text, const std::string& where, std::string_view what);

class TsvWriter {
 public:
  // Writes "##" + each comment (none wanted: empty list), then the names of the columns.
  TsvWriter(OutputStream& out, const std::vector<std::string>& columns,
            const std::vector<std::string>& comments);

  // One row; its size must equal the columns'. Fields must hold no tab and no newline (Error{runtime}).
  void row(const std::vector<std::string>& fields);

 private:
  OutputStream& out_;
  std::size_t column_count_;
  std::string line_;
};

}  // namespace bigbird
