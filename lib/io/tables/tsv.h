// TSV tables as the toolkit writes and reads them: "##" lines (provenance), one header line starting with
// "#", then rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/file.h"

namespace bigbird {

class TsvReader {
 public:
  // Reads the "##" lines and the header. Error when there is no header line starting with '#'.
  explicit TsvReader(const std::string& path);

  // The "##" lines without the two signs.
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
  // Writes "##" + each comment (none wanted: empty list), then "#" + the columns.
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
