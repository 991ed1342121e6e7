// lib/io/text holds files of texts: lines, CSV and TSV, labelled texts, JSON records, documents, summaries.
// Records are streamed and UTF-8 is checked here; what a field means is known above.
//
// Rows of CSV and TSV files, streamed. CSV: RFC 4180. TSV: a row is a line and " is text, as everywhere in
// the field (IANA's text/tab-separated-values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/text/text_lines.h"

namespace bigbird {

enum class Quoting {
  automatic,  // doubled; with tabs none, unless all fields of the first row stand in quotes (R's write.table)
  doubled,    // a field that begins with " ends at the next single "; "" inside of it is one "
  none        // " is text and a row is a line, as in GLUE's files
};

enum class RaggedRows {
  refused,  // Error{bad_input}
  kept      // handed out as they are: who calls drops and counts them (QQP of GLUE)
};

struct DelimitedOptions {
  char separator = ',';
  Quoting quoting = Quoting::automatic;
  bool header = true;  // the first row names the columns
  RaggedRows ragged = RaggedRows::refused;
  bool replace_invalid = false;
};

// A column as a user names it: a name of the header, else a number from 1. With a header a name that is
// itself a number ("2") wins over the number.
//
// A line of nothing but its end is skipped, unless rows have one column: there it is an empty field. Line
// ends inside of quotes are \n, whatever they are in the file. Outside of quotes " is text ("5\" disk"
// without its own quotes), as Python's csv and pandas have it.
//
// Error{bad_input} "FILE:LINE: ...": all of TextLines; no header; a row with another number of fields than
// the header, or than the first row (LINE is where the row begins); a quote that is never closed, or followed
// by anything but a separator (LINE is that of the opening quote); a name twice in the header once it is
// asked for; a header that stands again in a later row (files put one behind another), or that holds a
// carriage return (lines that end without \n).
//
// At the end the log says what may have been misread: fields that hold a tab or a line end, fields in quotes
// where automatic quoting reads quotes as text, empty lines that were passed over.
class DelimitedReader {
 public:
  explicit DelimitedReader(const std::string& path, const DelimitedOptions& options = {});
  explicit DelimitedReader(TextInput input, const DelimitedOptions& options = {});

  // Names of the columns; empty without a header.
  const std::vector<std::string>& header() const { return header_; }
  // Fields of a row: of the header, else of the first row (reads ahead to it); 0 for a file without rows.
  std::size_t width();
  // The first row without taking it; nullptr for a file without rows.
  const std::vector<std::string>* peek();
  // From now on the first row is the header; before any row was taken, without a header.
  void use_first_row_as_header();

  bool has_column(std::string_view name_or_number);
  // 0-based index of a column; Error{bad_input} that lists the columns that are there.
  std::size_t column(std::string_view name_or_number);

  // The next row; false at the end.
  bool next(std::vector<std::string>& row);
  // 1-based line that the row returned last begins at.
  std::uint64_t line_number() const { return row_line_; }
  // "FILE:LINE" of it.
  std::string where() const;
  const std::string& path() const { return lines_.path(); }
  std::uint64_t replaced() const { return lines_.replaced(); }

 private:
  bool read_row(std::vector<std::string>& row, std::uint64_t& line);
  void tally_fields(const std::vector<std::string>& row, std::uint64_t line);
  void say_tally();
  void split_quoted(std::string_view line, std::vector<std::string>& row, std::size_t& fields);
  void check_width(const std::vector<std::string>& row, std::uint64_t line) const;

  TextLines lines_;
  DelimitedOptions options_;
  std::vector<std::string> header_;
  std::vector<std::string> ahead_;  // the row that peek() has read
  std::uint64_t ahead_line_ = 0;
  bool has_ahead_ = false;
  std::size_t width_ = 0;             // 0: not known yet
  bool quoting_chosen_ = false;       // what automatic came to is in options_
  std::uint64_t odd_fields_ = 0;      // with a tab or a line end
  std::uint64_t first_odd_line_ = 0;  // of the first of them
  std::uint64_t quoted_fields_ = 0;   // in quotes that are read as text
  std::uint64_t first_quoted_line_ = 0;
  std::uint64_t empty_lines_ = 0;
  bool said_ = false;
  std::uint64_t row_line_ = 0;
};

// The first line of an input, without taking it: as much of it as the first 64 KiB hold. Reads no further
// than that line's end needs.
std::string first_line_of(TextInput& input);
// Its fields, without the quotes around them: enough to see whether they are names of columns.
std::vector<std::string> fields_of_line(std::string_view line, char separator);

// What separates the fields of a table whose format says `usual`: another one of comma, tab and semicolon
// (Excel where the comma is for decimals) where the first line has one field by `usual`, and by the other
// several, one of which `is_name` knows. Said as a warning.
char separator_of_table(TextInput& input, char usual, const std::function<bool(const std::string&)>& is_name);

}  // namespace bigbird
