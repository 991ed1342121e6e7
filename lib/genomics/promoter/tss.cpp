// Reading and lifting of TSS catalogues; see tss.h.
#include "lib/genomics/promoter/tss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/genome/chain.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr const char* bed_hint = "give a BED of one-base TSS with 6 columns, or EPDnew's BED with 8";
constexpr const char* sga_hint =
    "SGA has the columns accession, TSS, position (1-based), strand, count, name, between tabs";
constexpr const char* fps_hint =
    "FPS lines are of the form: FP   NAME                :+S  EU:NC_000001.11      1+    959256; 1.001";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_fps(std::string_view line) {
  return line.starts_with("FP ") || line.starts_with("FP\t");
}

TssFormat format_of(std::string_view line, std::vector<std::string_view>& fields) {
  if (is_fps(line)) return TssFormat::fps;
  split_tabs(line, fields);
  const bool is_sga = fields.size() >= 5 && is_number(fields[2]) && !is_number(fields[1]) &&
                      (fields[3] == "+" || fields[3] == "-" || fields[3] == "0");
  return is_sga ? TssFormat::sga : TssFormat::bed;
}

std::string_view without_end_blanks(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

// Cuts the last word off `text`; empty when there is none.
std::string_view take_last_word(std::string_view& text) {
  text = without_end_blanks(text);
  const std::size_t blank = text.find_last_of(" \t");
  const std::size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
  const std::string_view word = text.substr(begin);
  text.remove_suffix(word.size());
  return word;
}

std::string one_blank_between_words(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    const bool is_blank = letter == ' ' || letter == '\t';
    if (!is_blank) {
      result += letter;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result.empty() ? "." : result;
}

// "ISG15" of "ISG15_1".
std::string gene_of(const std::string& name) {
  const std::size_t bar = name.rfind('_');
  const bool numbered = bar != std::string::npos && bar > 0 && bar + 1 < name.size() &&
                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(bar) + 1, name.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  return numbered ? name.substr(0, bar) : name;
}

// What a place is called where a name is missing or not unique.
std::string place_name(const std::string& chrom, std::int64_t tss, char strand) {
  return fmt::format("{}:{}:{}", chrom, tss, strand);
}

// A name that says its assembly, another than that of the sequences at hand, makes every position wrong.
void refuse_another_assembly(const TssReader& reader, const std::string& chrom, const ContigNames& contigs,
                             bool lifting) {
  const std::string clash = contigs.assembly_clash(chrom);
  if (clash.empty()) return;
  throw_bad_input(
      fmt::format("{}: {}", reader.where(), clash),
      lifting
          ? "the chain file lifts from another assembly than the TSS are of: give the one that fits"
          : message("the TSS and the genome are of different assemblies: lift the TSS with `chain` CHAIN"));
}

}  // namespace

void TssReader::fail(const std::string& what) const {
  const char* hint = *format_ == TssFormat::bed ? bed_hint : *format_ == TssFormat::sga ? sga_hint : fps_hint;
  throw_bad_input(fmt::format("{}: {}", where(), what), hint);
}

bool TssReader::next(TssRow& row) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (is_bed_header(line));
  if (!format_) format_ = format_of(line, fields_);
  if (*format_ == TssFormat::bed) {
    read_bed(line, row);
  } else if (*format_ == TssFormat::sga) {
    read_sga(line, row);
  } else {
    read_fps(line, row);
  }
  return true;
}

void TssReader::read_bed(std::string_view line, TssRow& row) {
  parse_bed_line(line, lines_, 12, fields_, record_);
  if (record_.columns < 6) fail(fmt::format("{} columns, but the strand is in column 6", record_.columns));
  if (record_.strand != '+' && record_.strand != '-') fail("a TSS needs a strand, + or -");
  row.name = record_.name;
  row.chrom = record_.chrom;
  row.strand = record_.strand;
  if (record_.end - record_.begin == 1) {
    row.tss = record_.begin;
  } else if (record_.columns >= 8 && record_.thick_begin < record_.thick_end) {
    row.tss = row.strand == '+' ? record_.thick_begin : record_.thick_end - 1;
  } else {
    fail(fmt::format("{} bases wide without a thick range: which base is the TSS is not known",
                     record_.end - record_.begin));
  }
}

void TssReader::read_sga(std::string_view line, TssRow& row) {
  split_tabs(line, fields_);
  if (fields_.size() < 5) fail(fmt::format("{} columns; SGA has at least 5", fields_.size()));
  if (fields_[0].empty()) fail("no accession in column 1");
  if (fields_[1] != "TSS") fail(fmt::format("the feature is {}, not TSS", fields_[1].substr(0, 40)));
  if (fields_[3] != "+" && fields_[3] != "-") fail("a TSS needs a strand, + or -");
  const std::int64_t position = parse_integer(fields_[2], where(), "position");
  if (position < 1) fail(fmt::format("position {}; SGA positions begin at 1", position));
  parse_number(fields_[4], where(), "count");
  row.name = fields_.size() > 5 && !fields_[5].empty() ? fields_[5] : std::string_view(".");
  row.chrom = fields_[0];
  row.tss = position - 1;
  row.strand = fields_[3].front();
}

void TssReader::read_fps(std::string_view line, TssRow& row) {
  if (!is_fps(line)) fail("the line does not begin with FP, as the first does");
  // Names may hold blanks and colons but, like every field before it, no semicolon: read from there
  // leftwards.
  const std::size_t stop = line.find(';');
  if (stop == std::string_view::npos) fail("no ; after the position");
  std::string_view head = without_end_blanks(line.substr(2, stop - 2));
  const std::size_t sign = head.find_last_of("+-");
  if (sign == std::string_view::npos || sign == 0) fail("no strand, + or -, before the position");
  const std::size_t digits = head.find_first_not_of(' ', sign + 1);
  const std::string_view number = digits == std::string_view::npos ? "" : head.substr(digits);
  if (!is_number(number)) fail(fmt::format("the position is not a whole number: {}", number.substr(0, 40)));
  const char topology = head[sign - 1];
  if (topology != '0' && topology != '1') fail("no 0 or 1 (circular or linear) before the strand");
  const std::int64_t position = parse_integer(number, where(), "position");
  if (position < 1) fail(fmt::format("position {}; FPS positions begin at 1", position));
  row.strand = head[sign];
  row.tss = position - 1;
  head = head.substr(0, sign - 1);
  const std::string_view accession = take_last_word(head);
  const std::size_t bank = accession.find(':');
  if (bank == std::string_view::npos || bank == 0 || bank + 1 == accession.size())
    fail("no accession of the form EU:NC_000001.11 before the strand");
  row.chrom = accession.substr(bank + 1);
  const std::size_t colon = head.rfind(':');
  if (colon == std::string_view::npos) fail("no : after the name");
  row.name = one_blank_between_words(head.substr(0, colon));
}

TssCatalogue read_tss(const std::string& path, const std::string& chain, const ContigNames& genome) {
  const std::unique_ptr<ChainFile> lift = chain.empty() ? nullptr : std::make_unique<ChainFile>(chain);
  TssCatalogue catalogue;
  std::vector<std::string> names;  // of the sites, as the file has them
  std::set<std::string> unknown;
  std::set<std::tuple<std::string, std::size_t, std::int64_t, char>> seen;
  TssReader reader(path);
  TssRow row;
  while (reader.next(row)) {
    ++catalogue.rows;
    std::int64_t tss = row.tss;
    std::string chrom = row.chrom;
    char strand = row.strand;
    const std::string name = row.name == "." ? place_name(chrom, tss, strand) : row.name;
    refuse_another_assembly(reader, chrom, lift ? lift->from() : genome, lift != nullptr);
    const auto drop = [&](std::string reason) {
      catalogue.dropped.push_back({name, chrom, tss, strand, std::move(reason)});
    };
    if (lift) {
      const Lifted lifted = lift->lift_base(chrom, tss);
      if (!lifted.ok()) {
        drop(std::string("not lifted: ") + lift_outcome_text(lifted.outcome));
        continue;
      }
      chrom = lifted.chrom;
      tss = lifted.begin;
      if (lifted.reversed) strand = strand == '+' ? '-' : '+';
    }
    const auto contig = genome.find(chrom);
    if (!contig) {
      unknown.insert(chrom);
      drop("contig not in the genome");
    } else if (tss >= genome[*contig].length) {
      drop("beyond the end of its contig");
    } else if (!seen.insert({name, *contig, tss, strand}).second) {
      drop("repeated row");
    } else {
      catalogue.sites.push_back({name, gene_of(name), *contig, tss, strand});
      names.push_back(name);
    }
  }
  if (catalogue.rows == 0)
    throw_bad_input(path + ": no TSS in it", "give EPDnew's BED, SGA or FPS, or a BED of one-base TSS");
  if (catalogue.sites.empty()) {
    const DroppedTss& first = catalogue.dropped.front();
    throw_bad_input(
        fmt::format("{}: none of its {} TSS can be used; the first, {} at {}:{}, is dropped: {}", path,
                    catalogue.rows, first.id, first.chrom, first.tss, first.reason),
        message("check that the TSS and the genome are of the same assembly, or lift with `chain` CHAIN"));
  }
  if (!unknown.empty()) {
    log_warning(fmt::format("{}: TSS on {} contigs that the genome lacks are dropped ({} ...)", path,
                            unknown.size(), *unknown.begin()));
  }
  std::map<std::string, int> uses;
  for (const std::string& name : names) ++uses[name];
  for (TssSite& site : catalogue.sites) {
    if (uses[site.id] > 1)
      site.id = fmt::format("{}@{}", site.id, place_name(genome[site.contig].name, site.tss, site.strand));
  }
  return catalogue;
}

}  // namespace bigbird
