// BED files, 3 to 12 columns. Coordinates are 0-based half-open, as in the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/file.h"

namespace bigbird {

// A block of a BED12 record; `begin` is relative to the record's begin, as in the file.
struct BedBlock {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  bool operator==(const BedBlock&) const = default;
};

struct BedRecord {
  std::string chrom;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name = ".";
  double score = 0;
  char strand = '.';
  std::int64_t thick_begin = 0;
  std::int64_t thick_end = 0;
  std::string item_rgb = "0";
  std::vector<BedBlock> blocks;
  int columns = 3;  // how many columns the line had, and how many are written
};

// Lines of a BED file, one at a time. Header lines (#, track, browser) and blank lines are skipped. Columns
// are separated by tabs, or by runs of blanks in a line without tabs. Lines of 12 columns are BED12; of 10 or
// 11 (narrowPeak and its kin) only the first 6 are read; other lines are read whole. `most_columns` cuts
// lines to their first columns, for formats such as broadPeak that share only those. Errors name file and
// line: fewer than 3 columns, a number that is none, start > end (start == end is an insertion point and
// legal), a strand that is none of + - ., thick range or blocks that do not fit.
class BedReader {
 public:
  explicit BedReader(const std::string& path, int most_columns = 12);

  // Fills `record` (its strings and vector are reused); false at the end.
  bool next(BedRecord& record);
  // "FILE:LINE" of the record returned last.
  std::string where() const { return lines_.where(); }
  std::uint64_t line_number() const { return lines_.line_number(); }

 private:
  LineReader lines_;
  int most_columns_;
  std::vector<std::string_view> fields_;
};

// For readers that keep what a record does not hold: whether a line is a comment, blank, track or browser
// line, and the record of any other line, which `lines` returned last. `fields` becomes all of its columns.
bool is_bed_header(std::string_view line);
void parse_bed_line(std::string_view line, const LineReader& lines, int most_columns,
                    std::vector<std::string_view>& fields, BedRecord& record);

std::vector<BedRecord> read_bed(const std::string& path, int most_columns = 12);

// Appends one line with record.columns columns (3 to 12) and its '\n'. Fast: meant for millions of blocks.
void append_bed_line(std::string& out, const BedRecord& record);

}  // namespace bigbird
