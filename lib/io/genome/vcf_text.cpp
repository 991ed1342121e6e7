// The text of VCF; see vcf_handles.h. Rules: VCF 4.3 specification, sections 1.2 to 1.6.
#include "lib/io/genome/vcf_handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "lib/core/error.h"
#include "lib/core/log.h"

namespace bigbird {
namespace {

constexpr std::size_t table_columns = 5;  // CHROM POS ID REF ALT
constexpr std::size_t site_columns = 8;   // and QUAL FILTER INFO
constexpr std::array<std::string_view, 9> column_names = {"#CHROM", "POS",    "ID",   "REF",   "ALT",
                                                          "QUAL",   "FILTER", "INFO", "FORMAT"};
// POS is a 32-bit number in BCF and in the specification; some assemblies need a little more in text.
constexpr std::int64_t largest_position = std::int64_t{1} << 40;

std::size_t count_columns(std::string_view line) {
  return static_cast<std::size_t>(std::count(line.begin(), line.end(), '\t')) + 1;
}

// The first `size` columns; as many as there are.
std::size_t first_columns(std::string_view line, std::array<std::string_view, site_columns>& columns) {
  std::size_t count = 0;
  while (count < columns.size()) {
    const std::size_t tab = line.find('\t');
    columns[count++] = line.substr(0, tab);
    if (tab == std::string_view::npos) break;
    line.remove_prefix(tab + 1);
  }
  return count;
}

bool has_spaces_for_tabs(std::string_view line) {
  std::size_t words = 0;
  bool inside = false;
  for (const char letter : line) {
    const bool blank = letter == ' ' || letter == '\t';
    if (!blank && !inside) ++words;
    inside = !blank;
  }
  return words >= table_columns && line.find(' ') != std::string_view::npos;
}

[[noreturn]] void throw_spaces(const std::string& where) {
  throw_bad_input(where + ": spaces where tabs are expected",
                  "columns of a VCF are separated by tabs: sed -E 's/ +/\\t/g' FILE mends a simple table");
}

bool is_quality(std::string_view text) {
  if (text == ".") return true;
  const std::string copy(text);
  char* end = nullptr;
  std::strtod(copy.c_str(), &end);
  return !copy.empty() && *end == '\0';
}

std::int64_t parse_position(std::string_view text, const std::string& where) {
  std::int64_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size() || position < 0 ||
      position > largest_position) {
    throw_bad_input(fmt::format("{}: POS is \"{}\", not a position", where, text.substr(0, 40)),
                    "POS is the 1-based place of REF's first base, a whole number");
  }
  return position;
}

void split_alts(std::string_view text, const std::string& where, std::vector<std::string>& alts) {
  alts.clear();
  if (text == ".") return;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view allele = text.substr(0, comma);
    if (allele.empty()) {
      throw_bad_input(where + ": an allele of ALT is empty",
                      "write \".\" when there is no alternative allele; a comma separates two alleles");
    }
    alts.emplace_back(allele);
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string structured_value(std::string_view line, std::string_view key) {
  const std::size_t open = line.find("=<");
  if (open == std::string_view::npos) return {};
  std::size_t at = open + 2;
  while (at < line.size() && line[at] != '>') {
    const std::size_t equals = line.find('=', at);
    if (equals == std::string_view::npos) return {};
    std::string_view name = line.substr(at, equals - at);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    std::string value;
    std::size_t next = equals + 1;
    bool quoted = false;
    for (; next < line.size(); ++next) {
      const char letter = line[next];
      if (letter == '"') {
        quoted = !quoted;
      } else if (quoted && letter == '\\' && next + 1 < line.size()) {
        value += line[++next];
      } else if (!quoted && (letter == ',' || letter == '>')) {
        break;
      } else {
        value += letter;
      }
    }
    if (name == key) return value;
    if (next >= line.size() || line[next] == '>') break;
    at = next + 1;
  }
  return {};
}

bool add_header_line(VcfHeader& header, std::string_view line, const std::string& where) {
  if (line.starts_with("##")) {
    header.headerless = false;
    header.lines.emplace_back(line);
    if (line.starts_with("##reference=")) header.build_hints.emplace_back(line);
    if (line.starts_with("##contig=<")) {
      const std::string name = structured_value(line, "ID");
      const std::string length = structured_value(line, "length");
      if (name.empty()) return true;
      std::int64_t bases = 0;
      std::from_chars(length.data(), length.data() + length.size(), bases);
      if (header.lengths.emplace(name, bases).second) header.contigs.push_back({name, bases});
      if (!structured_value(line, "assembly").empty()) header.build_hints.emplace_back(line);
    }
    return true;
  }
  std::array<std::string_view, site_columns> columns;
  std::size_t count = first_columns(line, columns);
  // Tables without a VCF header often name their columns in their own way.
  if (header.headerless && !line.starts_with("#CHROM")) return true;
  if (count < table_columns && has_spaces_for_tabs(line)) throw_spaces(where);
  for (std::size_t i = 0; i < std::max(count, table_columns); ++i) {
    if (i >= count || columns[i] != column_names[i]) {
      throw_bad_input(fmt::format("{}: column {} of the line of column names should be {}", where, i + 1,
                                  column_names[i]),
                      "a VCF's columns are #CHROM POS ID REF ALT QUAL FILTER INFO, separated by tabs");
    }
  }
  std::string_view trimmed = line;
  while (trimmed.ends_with('\t')) trimmed.remove_suffix(1);
  header.headerless = false;
  header.columns = std::string(trimmed);
  header.column_count = count_columns(trimmed);
  header.whole = header.column_count >= site_columns;
  return false;
}

void finish_header(VcfHeader& header, std::string_view first_record) {
  if (header.column_count == 0 && !first_record.empty()) {
    std::array<std::string_view, site_columns> columns;
    header.whole = first_columns(first_record, columns) == site_columns && is_quality(columns[5]);
    header.column_count = count_columns(first_record);
    if (header.whole && header.column_count > site_columns) {
      log_warning_once("the variant file has no #CHROM line: its samples are named sample1, sample2 ...");
    }
  }
  if (!header.columns.empty() && header.whole) return;
  header.columns.clear();
  for (std::size_t i = 0; i < site_columns; ++i) {
    header.columns += (i == 0 ? "" : "\t") + std::string(column_names[i]);
  }
  if (!header.whole || header.column_count <= site_columns) return;
  header.columns += "\tFORMAT";
  for (std::size_t sample = 1; sample + site_columns < header.column_count; ++sample) {
    header.columns += fmt::format("\tsample{}", sample);
  }
}

std::string parse_record_line(std::string_view line, const VcfHeader& header, const std::string& where,
                              VcfRecord& record) {
  if (line.starts_with('#')) {
    throw_bad_input(where + ": a header line among the records",
                    "files that were simply joined are not a VCF: use bcftools concat");
  }
  std::array<std::string_view, site_columns> columns;
  const std::size_t count = first_columns(line, columns);
  if (count < table_columns) {
    if (has_spaces_for_tabs(line)) throw_spaces(where);
    throw_bad_input(fmt::format("{}: {} column{}, where CHROM POS ID REF ALT are needed", where, count,
                                count == 1 ? "" : "s"),
                    "a record is one line of tab-separated columns");
  }
  const std::size_t all = count_columns(line);
  if (header.column_count != 0 && all != header.column_count && (header.whole || all < table_columns)) {
    throw_bad_input(
        fmt::format("{}: {} columns, but the {} {}", where, all,
                    header.headerless ? "first record has" : "line of column names has", header.column_count),
        "the file may be cut short or damaged at this line");
  }
  constexpr std::array<std::string_view, table_columns> names = {"CHROM", "POS", "ID", "REF", "ALT"};
  for (std::size_t i = 0; i < table_columns; ++i) {
    if (columns[i].empty()) {
      throw_bad_input(fmt::format("{}: {} is empty", where, names[i]), "write \".\" for what is not known");
    }
    if (i != 2 && columns[i].find(' ') != std::string_view::npos) {
      throw_bad_input(fmt::format("{}: a space in {}", where, names[i]),
                      "columns are separated by single tabs and hold no spaces");
    }
  }
  record.chrom = columns[0];
  record.position = parse_position(columns[1], where) - 1;
  record.id = columns[2];
  record.ref = columns[3];
  split_alts(columns[4], where, record.alts);
  const auto length = header.lengths.find(record.chrom);
  record.contig_length = length == header.lengths.end() ? 0 : length->second;
  record.filter = header.whole && !columns[6].empty() ? std::string(columns[6]) : ".";
  if (header.whole) return std::string(line);
  const char* const end = columns[4].data() + columns[4].size();
  return std::string(line.data(), static_cast<std::size_t>(end - line.data())) + "\t.\t.\t.";
}

namespace {

// Where the INFO column begins and ends.
std::pair<std::size_t, std::size_t> info_place(std::string_view line) {
  std::size_t begin = 0;
  for (std::size_t column = 0; column + 1 < site_columns; ++column) begin = line.find('\t', begin) + 1;
  const std::size_t end = line.find('\t', begin);
  return {begin, end == std::string_view::npos ? line.size() : end};
}

// take(entry, id) of every entry "ID=VALUE" or "ID".
template <typename Take>
void for_each_info(std::string_view info, const Take& take) {
  while (!info.empty()) {
    const std::size_t semicolon = info.find(';');
    const std::string_view entry = info.substr(0, semicolon);
    if (entry != "." && !entry.empty()) take(entry, entry.substr(0, entry.find('=')));
    if (semicolon == std::string_view::npos) break;
    info.remove_prefix(semicolon + 1);
  }
}

}  // namespace

std::string info_value(std::string_view line, std::string_view key) {
  const auto [begin, end] = info_place(line);
  std::string value;
  for_each_info(line.substr(begin, end - begin), [&](std::string_view entry, std::string_view id) {
    if (id == key && entry.size() > id.size()) value = entry.substr(id.size() + 1);
  });
  return value;
}

std::string with_info(const std::string& line, const std::vector<std::string>& ids, std::string_view added) {
  const auto [begin, end] = info_place(line);
  std::string info;
  const auto append = [&](std::string_view entry) {
    if (!info.empty()) info += ';';
    info += entry;
  };
  for_each_info(std::string_view(line).substr(begin, end - begin),
                [&](std::string_view entry, std::string_view id) {
                  if (std::find(ids.begin(), ids.end(), id) == ids.end()) append(entry);
                });
  if (!added.empty()) append(added);
  if (info.empty()) info = ".";
  return line.substr(0, begin) + info + line.substr(end);
}

}  // namespace bigbird
