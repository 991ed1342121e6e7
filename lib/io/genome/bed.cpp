// BED reading and writing; see bed.h.
#include "lib/io/genome/bed.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "lib/core/error.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

void split_blanks(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  std::size_t begin = 0;
  while ((begin = line.find_first_not_of(' ', begin)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end;
  }
}

// "10,20,30" or "10,20,30,": calls take(index, text) for each.
template <typename Take>
std::size_t for_each_in_list(std::string_view list, const Take& take) {
  std::size_t count = 0;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    take(count++, list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return count;
}

void read_blocks(const std::vector<std::string_view>& fields, const std::string& where, BedRecord& record) {
  const auto fail = [&](const std::string& what) {
    throw_bad_input(
        fmt::format("{}: {}", where, what),
        "BED12 blocks are ascending, do not overlap, and reach from start to end; see the UCSC definition");
  };
  const std::int64_t count = parse_integer(fields[9], where, "block count");
  // Every block takes at least one letter of the list, which bounds what a hostile count could reserve.
  if (count < 1 || static_cast<std::uint64_t>(count) > fields[10].size()) {
    fail(fmt::format("a block count of {} for the block sizes {}", count, fields[10].substr(0, 40)));
  }
  record.blocks.resize(static_cast<std::size_t>(count));
  const auto check_index = [&](std::size_t index) {
    if (index >= record.blocks.size()) fail(fmt::format("more blocks listed than the block count {}", count));
  };
  const std::size_t sizes = for_each_in_list(fields[10], [&](std::size_t index, std::string_view text) {
    check_index(index);
    record.blocks[index].length = parse_integer(text, where, "block size");
  });
  const std::size_t starts = for_each_in_list(fields[11], [&](std::size_t index, std::string_view text) {
    check_index(index);
    record.blocks[index].begin = parse_integer(text, where, "block start");
  });
  if (sizes != record.blocks.size() || starts != record.blocks.size()) {
    fail(fmt::format("{} block sizes and {} block starts for a block count of {}", sizes, starts, count));
  }
  const std::int64_t whole = record.end - record.begin;
  std::int64_t reached = 0;
  for (const BedBlock& block : record.blocks) {
    if (block.length < 0 || block.begin < reached || block.length > whole - block.begin) {
      fail(
          fmt::format("block {}+{} overlaps another or is outside of the record", block.begin, block.length));
    }
    reached = block.begin + block.length;
  }
  if (record.blocks.front().begin != 0) fail("the first block does not begin at the record's start");
  if (reached != whole) fail("the last block does not end at the record's end");
}

void append_number(std::string& out, std::int64_t value) {
  char digits[24];
  const auto result = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, result.ptr);
}

void append_score(std::string& out, double score) {
  // 2^53: whole numbers up to here are exact.
  if (std::trunc(score) == score && std::fabs(score) < 9007199254740992.0) {
    append_number(out, static_cast<std::int64_t>(score));
    return;
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof digits, score);
  out.append(digits, result.ptr);
}

// Both lists of a BED12 line, written in place: this is what takes the time in a genome's documents.
void append_blocks(std::string& out, const std::vector<BedBlock>& blocks) {
  constexpr std::size_t most_digits = 21;  // of a 64-bit number, its sign, and the comma
  const std::size_t used = out.size();
  const std::size_t bound = used + 2 * blocks.size() * most_digits + 1;
  out.resize(bound);
  char* next = out.data() + used;
  char* const end = out.data() + bound;
  for (const BedBlock& block : blocks) {
    next = std::to_chars(next, end, block.length).ptr;
    *next++ = ',';
  }
  *next++ = '\t';
  for (const BedBlock& block : blocks) {
    next = std::to_chars(next, end, block.begin).ptr;
    *next++ = ',';
  }
  out.resize(static_cast<std::size_t>(next - out.data()));
}

}  // namespace

BedReader::BedReader(const std::string& path, int most_columns) : lines_(path), most_columns_(most_columns) {}

bool is_bed_header(std::string_view line) {
  if (line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#') return true;
  for (const std::string_view word : {"track", "browser"}) {
    // A contig may be called "track1"; a header line has a blank after the word, and no tab.
    if (line.starts_with(word) && (line.size() == word.size() || line[word.size()] == ' ')) return true;
  }
  return false;
}

void parse_bed_line(std::string_view line, const LineReader& lines, int most_columns,
                    std::vector<std::string_view>& fields, BedRecord& record) {
  if (line.find('\t') != std::string_view::npos) {
    split_tabs(line, fields);
  } else {
    split_blanks(line, fields);
  }
  const auto fail = [&](const std::string& what, const char* hint) {
    throw_bad_input(lines.where() + ": " + what, hint);
  };
  if (fields.size() < 3 || fields[0].empty()) {
    fail(fmt::format("{} columns; BED needs at least 3", fields.size()),
         "columns: contig, start, end, separated by tabs");
  }
  std::size_t columns = std::min(fields.size(), static_cast<std::size_t>(most_columns));
  if (columns > 12) columns = 12;
  if (columns == 10 || columns == 11) columns = 6;
  // The place is formatted only when something is wrong: this runs for every line.
  const auto integer = [&](std::size_t field, const char* what) {
    std::int64_t value = 0;
    const std::string_view text = fields[field];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      return parse_integer(text, lines.where(), what);
    return value;
  };
  record.columns = static_cast<int>(columns);
  record.chrom = fields[0];
  record.begin = integer(1, "start");
  record.end = integer(2, "end");
  if (record.begin < 0) fail(fmt::format("start {} is negative", record.begin), "BED positions are 0-based");
  if (record.begin > record.end) {
    fail(fmt::format("start {} is after end {}", record.begin, record.end),
         "BED is 0-based and half-open: start <= end, also on the - strand");
  }
  record.name = columns > 3 ? fields[3] : std::string_view(".");
  record.score = columns > 4 && fields[4] != "." ? parse_number(fields[4], lines.where(), "score") : 0;
  record.strand = '.';
  if (columns > 5) {
    if (fields[5] != "+" && fields[5] != "-" && fields[5] != ".") {
      fail(fmt::format("strand is not + - or .: {}", fields[5].substr(0, 40)),
           "column 6 of BED is the strand");
    }
    record.strand = fields[5].front();
  }
  record.thick_begin = columns > 6 ? integer(6, "thick start") : record.begin;
  record.thick_end = columns > 7 ? integer(7, "thick end") : record.end;
  if (columns == 7) record.thick_end = record.end;
  const bool no_thick = record.thick_begin == record.thick_end;  // written as 0 0 or start start
  if (!no_thick && (record.thick_begin < record.begin || record.thick_end > record.end ||
                    record.thick_begin > record.thick_end)) {
    fail(fmt::format("thick range {}-{} is outside of the record", record.thick_begin, record.thick_end),
         "columns 7 and 8 of BED are the thick start and end");
  }
  record.item_rgb = columns > 8 ? fields[8] : std::string_view("0");
  record.blocks.clear();
  if (columns == 12) read_blocks(fields, lines.where(), record);
}

bool BedReader::next(BedRecord& record) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (is_bed_header(line));
  parse_bed_line(line, lines_, most_columns_, fields_, record);
  return true;
}

std::vector<BedRecord> read_bed(const std::string& path, int most_columns) {
  BedReader reader(path, most_columns);
  std::vector<BedRecord> records;
  BedRecord record;
  while (reader.next(record)) records.push_back(record);
  return records;
}

void append_bed_line(std::string& out, const BedRecord& record) {
  out += record.chrom;
  out += '\t';
  append_number(out, record.begin);
  out += '\t';
  append_number(out, record.end);
  if (record.columns > 3) (out += '\t') += record.name;
  if (record.columns > 4) append_score(out += '\t', record.score);
  if (record.columns > 5) (out += '\t') += record.strand;
  if (record.columns > 6) append_number(out += '\t', record.thick_begin);
  if (record.columns > 7) append_number(out += '\t', record.thick_end);
  if (record.columns > 8) (out += '\t') += record.item_rgb;
  if (record.columns > 9) {
    append_number(out += '\t', static_cast<std::int64_t>(record.blocks.size()));
    out += '\t';
    append_blocks(out, record.blocks);
  }
  out += '\n';
}

}  // namespace bigbird
