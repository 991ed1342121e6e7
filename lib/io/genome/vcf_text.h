// Private to lib/io: the text of VCF, checked line by line with line numbers: header lines, the line of
// column names, and records. htslib's own parser mends or drops much of what is wrong without a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

struct VcfHeader {
  std::vector<std::string> lines;  // "##...", in file order
  std::string columns;             // "#CHROM\tPOS..." as it is, or made up (finish_header)
  std::size_t column_count = 0;    // of a record; 0: the column line is missing and no record was seen
  bool whole = true;               // records have QUAL, FILTER and INFO as well; else 5 columns are kept
  bool headerless = true;          // neither "##" lines nor a column line
  std::vector<Contig> contigs;     // of ##contig lines, length 0 where they give none
  std::unordered_map<std::string, std::int64_t> lengths;  // of `contigs`
  std::vector<std::string> build_hints;                   // ##reference=, ##contig with assembly=
};

// Takes a line that begins with '#'. False when it ends the header (the line of column names). Errors: column
// names that are not VCF's, or not separated by tabs.
bool add_header_line(VcfHeader& header, std::string_view line, const std::string& where);
// Once the first record's line (empty: there is none) is known: makes up what the header lacks.
void finish_header(VcfHeader& header, std::string_view first_record);

// Splits and checks one record; fills all of `record` but number, where and the line. Returns the line as it
// is to be written: with 8 columns at least. Errors: spaces for tabs, too few or too many columns, POS that
// is no number, empty fields, a header line among the records.
std::string parse_record_line(std::string_view line, const VcfHeader& header, const std::string& where,
                              VcfRecord& record);

// The value of KEY in a structured line ##name=<A=1,B="x,y">; empty when it is not there.
std::string structured_value(std::string_view line, std::string_view key);

// The line with INFO entries `added` ("BB_X=1;BB_Y=2", may be empty) in place of entries named in `ids`.
std::string with_info(const std::string& line, const std::vector<std::string>& ids, std::string_view added);

}  // namespace bigbird
