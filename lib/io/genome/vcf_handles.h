// Private to lib/io: the text of VCF, checked line by line with line numbers (vcf_text.cpp: htslib's own
// parser mends or drops much of what is wrong without a word); owning handles of htslib's variant files; and
// what VcfRecord and VcfReader hold.
#pragma once

#include <htslib/bgzf.h>
#include <htslib/hts.h>
#include <htslib/kstring.h>
#include <htslib/tbx.h>
#include <htslib/vcf.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
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

// The value of an INFO entry of a line with 8 columns at least; empty where there is none.
std::string info_value(std::string_view line, std::string_view key);

struct HtsFileCloser {
  void operator()(htsFile* file) const { hts_close(file); }
};
using HtsFileHandle = std::unique_ptr<htsFile, HtsFileCloser>;

struct BcfHeaderDeleter {
  void operator()(bcf_hdr_t* header) const { bcf_hdr_destroy(header); }
};
using BcfHeaderHandle = std::unique_ptr<bcf_hdr_t, BcfHeaderDeleter>;

struct BcfRecordDeleter {
  void operator()(bcf1_t* record) const { bcf_destroy(record); }
};
using BcfRecordHandle = std::unique_ptr<bcf1_t, BcfRecordDeleter>;

// A kstring that frees itself.
struct TextBuffer {
  TextBuffer() = default;
  ~TextBuffer() { free(text.s); }
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;
  kstring_t text{0, 0, nullptr};
};

// One of the two: the line of text, or the record of a BCF.
struct VcfRecord::Line {
  std::string text;
  BcfRecordHandle bcf;
};

struct TabixDeleter {
  void operator()(tbx_t* index) const { tbx_destroy(index); }
};
struct IndexDeleter {
  void operator()(hts_idx_t* index) const { hts_idx_destroy(index); }
};
struct IteratorDeleter {
  void operator()(hts_itr_t* iterator) const { hts_itr_destroy(iterator); }
};

// The records that overlap regions, through an index: each once, in file order.
class VcfRegions {
 public:
  // Errors: no index, one that cannot be read, or one that does not fit the file (table_index.h); regions
  // beyond their contig, or of unknown contigs; a region beyond what a .tbi can hold.
  VcfRegions(htsFile* file, const std::string& path, const VcfHeader& header, const bcf_hdr_t* bcf_header,
             const std::vector<std::string>& regions);

  // htslib's code: 0 or more for a record, -1 at the end, less for damage.
  int next_line(kstring_t* line);
  int next_record(bcf1_t* record);
  // True for a record at this place that an earlier region held already.
  bool seen_before(std::int64_t position) const { return position < previous_end_; }
  // The Error of data that cannot be read where the index points.
  [[noreturn]] void throw_damaged(const std::string& path) const;

 private:
  struct Query {
    int contig = 0;  // of the index
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  template <typename Step>
  int next(const Step& step);
  bool open_next();

  htsFile* file_;
  std::string index_name_, hint_;
  std::unique_ptr<tbx_t, TabixDeleter> tabix_;      // of text
  std::unique_ptr<hts_idx_t, IndexDeleter> index_;  // of BCF
  std::unique_ptr<hts_itr_t, IteratorDeleter> iterator_;
  std::vector<Query> queries_;
  std::size_t opened_ = 0;
  std::int64_t previous_end_ = -1;
};

struct VcfReader::State {
  std::string path;
  HtsFileHandle file;
  bool is_bcf = false;
  VcfHeader header;
  BcfHeaderHandle bcf_header;
  std::unique_ptr<VcfRegions> regions;
  TextBuffer line;
  bool has_line = false;          // `line` is the first record, not handed out yet
  std::uint64_t line_number = 0;  // of `line`
  std::uint64_t blank_line = 0;   // where an empty line was seen; 0: none yet
  std::uint64_t records = 0;      // handed out, and as many BCF records read
  std::uint64_t bcf_records = 0;
  std::string kept_info;  // key of the INFO field that records keep; empty: none
  BcfRecordHandle bcf_record;
  std::int64_t resting_at = -1;  // where to go on: the file is closed meanwhile

  void open();
  void rest();
  void wake();
  void drop_byte_order_mark();  // of `line`
  void read_text_header();
  void read_bcf_header();
  bool next_line();  // into `line`, numbered
  bool next_text(VcfRecord& record);
  bool next_bcf(VcfRecord& record);
  const BGZF* compressed() const;  // null for plain text
  bool is_damaged() const;
  void check_end() const;
  void stop_if_asked() const;
  std::string where() const;
};

// What becomes of a line of VCF when htslib makes a BCF record of it (vcf_round_trip.cpp). Values that do not
// fit the type that the header declares (1.22e+06 of an Integer, "." of a genotype that is declared an
// Integer, 1e-300 of a Float) are changed there without a word, so the record is written as text again and
// compared.
//
// The first value of `line` that is another one in `made`, the text of the record that was made of it, in
// words ("INFO/DP=1.22e+06 would become 1"); empty where there is none. Numbers are compared as numbers, to
// the six digits that `made` has; missing values at the ends of samples and empty entries of INFO say
// nothing.
std::string changed_value(std::string_view line, std::string_view made);

}  // namespace bigbird
