// Tables of alleles; see variant_table.h.
#include "lib/genomics/variants/variant_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/genome/region.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr std::size_t info_column = 7;  // of a VCF

// VALUE of KEY in ##INFO=<ID=X,Number=A,...>: these two come before any text in quotes.
std::string_view header_value(std::string_view line, std::string_view key) {
  const std::size_t found = line.find(key);
  if (found == std::string_view::npos) return {};
  const std::string_view value = line.substr(found + key.size());
  return value.substr(0, value.find_first_of(",>"));
}

std::string without_prefix(std::string name) {
  return name.starts_with("bb_") ? name.substr(3) : name;
}

constexpr std::array<std::pair<std::string_view, int>, 8> label_words = {{{"0", 0},
                                                                          {"1", 1},
                                                                          {"pathogenic", 1},
                                                                          {"likely_pathogenic", 1},
                                                                          {"pathogenic/likely_pathogenic", 1},
                                                                          {"benign", 0},
                                                                          {"likely_benign", 0},
                                                                          {"benign/likely_benign", 0}}};

std::optional<int> label_of(std::string_view text) {
  for (const auto& [word, label] : label_words) {
    if (text == word) return label;
  }
  return std::nullopt;
}

}  // namespace

std::string_view part_of(std::string_view text, char separator, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + 1);
  }
  return text.substr(0, text.find(separator));
}

VariantTable::VariantTable(const std::string& path) : lines_(path) {
  read_header();
}

void VariantTable::read_header() {
  std::string_view line;
  while (lines_.next(line)) {
    if (line.starts_with("BCF\2")) {
      throw_bad_input(path() + ": is a BCF; tables and VCF are read here",
                      "bcftools view FILE | bigbird ...  -");
    }
    if (line.empty()) continue;
    if (line.starts_with("##INFO=<")) {
      const std::string id(header_value(line, "ID="));
      const std::string name = without_prefix(lower_ascii(id));
      const auto known = std::find(columns_.begin(), columns_.end(), name);
      // Of two fields of one name, ours counts.
      if (id.empty() || (known != columns_.end() && !id.starts_with("BB_"))) continue;
      const auto column = static_cast<std::size_t>(known - columns_.begin());
      if (known == columns_.end()) columns_.push_back(name);
      by_allele_.resize(columns_.size());
      by_allele_[column] = header_value(line, "Number=") == "A";
      std::erase_if(info_, [&](const auto& entry) { return entry.second.column == column; });
      info_[id] = {column, by_allele_[column]};
    }
    if (line.starts_with("##")) continue;
    split_tabs(line, split_);
    width_ = split_.size();
    is_vcf_ = width_ > info_column && split_[0] == "#CHROM" && split_[info_column] == "INFO";
    if (is_vcf_) return;
    columns_.clear();
    return name_table_columns(line);
  }
  throw_bad_input(path() + ": has no line that names its columns",
                  "a table begins with chrom, pos, ref, alt and further columns, a VCF with ##fileformat");
}

void VariantTable::name_table_columns(std::string_view line) {
  if (line.starts_with('#')) line.remove_prefix(1);
  split_tabs(line, split_);
  std::vector<std::string> names;
  for (const std::string_view name : split_) {
    if (std::find(names.begin(), names.end(), lower_ascii(name)) != names.end()) {
      throw_bad_input(fmt::format("{}: two columns are called {}", where(), name), "give each its own name");
    }
    names.push_back(lower_ascii(name));
  }
  const auto place_of = [&](const char* name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      throw_bad_input(fmt::format("{}: there is no column {}", where(), name),
                      "the first line names the columns, separated by tabs: chrom, pos, ref, alt and others");
    }
    return static_cast<std::size_t>(found - names.begin());
  };
  chrom_ = place_of("chrom");
  // pos1: the same, said more plainly.
  const bool plain = std::find(names.begin(), names.end(), "pos") == names.end() &&
                     std::find(names.begin(), names.end(), "pos1") != names.end();
  pos_ = place_of(plain ? "pos1" : "pos");
  ref_ = place_of("ref");
  alt_ = place_of("alt");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == chrom_ || i == pos_ || i == ref_ || i == alt_) continue;
    columns_.push_back(names[i]);
    places_.push_back(i);
  }
}

std::optional<std::size_t> VariantTable::find_column(std::string_view name) const {
  const std::string lower = lower_ascii(name);
  auto found = std::find(columns_.begin(), columns_.end(), lower);
  if (found == columns_.end()) found = std::find(columns_.begin(), columns_.end(), without_prefix(lower));
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::size_t VariantTable::column(std::string_view name) const {
  if (const auto found = find_column(name)) return *found;
  throw_bad_input(fmt::format("{}: there is no {} {}", path(), is_vcf_ ? "INFO field" : "column", name),
                  columns_.empty() ? "it has chrom, pos, ref and alt only"
                                   : fmt::format("it has {}", fmt::join(columns_, ", ")));
}

bool VariantTable::next(VariantRow& row) {
  if (next_alt(row)) return true;
  std::string_view line;
  do {
    if (!next_line(line)) return false;
  } while (line.empty());
  split_tabs(line, split_);
  if (split_.size() != width_) {
    throw_bad_input(fmt::format("{}: {} columns, but the header has {}", where(), split_.size(), width_),
                    "the file may be cut short or damaged at this line");
  }
  if (is_vcf_) return next_record(row);
  row.chrom = split_[chrom_];
  row.position = parse_integer(split_[pos_], where(), "pos") - 1;
  row.ref = split_[ref_];
  row.alt = split_[alt_];
  row.fields.resize(columns_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::string_view field = split_[places_[i]];
    row.fields[i] = field == "." ? std::string_view() : field;
  }
  return true;
}

bool VariantTable::next_line(std::string_view& line) {
  if (index_ == nullptr) return lines_.next(line);
  while (next_region_ == 0 || !index_->next(line)) {
    if (next_region_ == regions_.size()) return false;
    const TableRegion& region = regions_[next_region_++];
    region_ = format_region(index_->contigs()[region.contig], region.begin, region.end);
    index_->query(region.contig, region.begin, region.end);
  }
  return true;
}

void VariantTable::read_regions(IndexedTable& index, std::vector<TableRegion> regions) {
  index_ = &index;
  regions_ = std::move(regions);
  next_region_ = 0;
}

bool VariantTable::next_record(VariantRow& row) {
  record_.chrom = split_[0];
  record_.position = parse_integer(split_[1], where(), "POS") - 1;
  record_.ref = split_[3];
  record_.fields.assign(columns_.size(), {});
  alts_.clear();
  for (std::string_view rest = split_[4]; !rest.empty();) {
    alts_.emplace_back(part_of(rest, ',', 0));
    rest.remove_prefix(std::min(rest.size(), alts_.back().size() + 1));
  }
  for (std::string_view rest = split_[info_column]; !rest.empty();) {
    const std::string_view entry = part_of(rest, ';', 0);
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const std::size_t sign = entry.find('=');
    const auto field = info_.find(std::string(entry.substr(0, sign)));
    if (field == info_.end() || sign == std::string_view::npos) continue;
    record_.fields[field->second.column] = entry.substr(sign + 1);
  }
  if (alts_.empty()) throw_bad_input(where() + ": ALT is empty", "write \".\" for what is not known");
  next_alt_ = 0;
  return next_alt(row);
}

bool VariantTable::next_alt(VariantRow& row) {
  if (next_alt_ >= alts_.size()) return false;
  row = record_;
  row.alt = alts_[next_alt_];
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    if (by_allele_[i]) row.fields[i] = part_of(record_.fields[i], ',', next_alt_);
    if (row.fields[i] == ".") row.fields[i].clear();
  }
  ++next_alt_;
  return true;
}

VariantLabels::VariantLabels(const std::string& path, const std::string& column, AlleleKeys& keys) {
  VariantTable table(path);
  const std::string name = lower_ascii(!column.empty() ? column : table.is_vcf() ? "CLNSIG" : "label");
  const std::size_t place = table.column(name);
  const bool clinvar = table.is_vcf() && name == "clnsig";
  const auto class_place = table.find_column(table.is_vcf() ? "mc" : "class");
  VariantRow row;
  while (table.next(row)) {
    const std::string& text = row.fields[place];
    const std::string word = lower_ascii(part_of(text, '|', 0));
    const std::optional<int> label =
        !table.is_vcf() && text != "0" && text != "1" ? std::nullopt : label_of(word);
    if (!label) {
      if (!clinvar && !(table.is_vcf() && text.empty())) {
        throw_bad_input(
            fmt::format("{}: {} is neither 0 nor 1: {}", table.where(), name, text.empty() ? "." : text),
            "label positives with 1 and negatives with 0, and leave out other rows");
      }
      left_out_.add(text.empty() ? "no label" : part_of(text, '|', 0));
      continue;
    }
    const auto key = keys.of(row.chrom, row.position, row.ref, row.alt);
    if (!key) {
      left_out_.add("unknown contig");
      continue;
    }
    const auto [found, is_new] = labels_.try_emplace(*key);
    AlleleLabel& known = found->second;
    if (is_new) {
      known.label = *label;
      known.line = table.line_number();
      positives_ += *label == 1 ? 1U : 0U;
    } else if (known.label != *label) {
      throw_bad_input(fmt::format("{}: {} {}, but the same allele has {} in line {}", table.where(), name,
                                  *label, known.label, known.line),
                      "keep one row for each allele");
    } else {
      ++repeated_;
    }
    if (class_place) add_classes(known, row.fields[*class_place], table.is_vcf());
  }
  if (labels_.empty()) {
    throw_bad_input(path + ": no allele has a label",
                    left_out_.empty() ? "the file has no rows" : "left out: " + left_out_.text());
  }
}

// "missense_variant,stop_gained"; of MC "SO:0001583|missense_variant,SO:0001587|nonsense".
void VariantLabels::add_classes(AlleleLabel& label, std::string_view text, bool sequence_ontology) {
  while (!text.empty()) {
    const std::string_view entry = part_of(text, ',', 0);
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::string name(sequence_ontology ? part_of(entry, '|', 1) : entry);
    if (is_missing(name)) continue;
    const auto next = static_cast<std::uint32_t>(classes_.size());
    const auto [known, is_new] = class_numbers_.emplace(name, next);
    if (is_new) classes_.push_back(name);
    const std::uint32_t number = known->second;
    if (std::find(label.classes.begin(), label.classes.end(), number) == label.classes.end())
      label.classes.push_back(number);
  }
}

const AlleleLabel* VariantLabels::find(const AlleleKey& key) const {
  const auto found = labels_.find(key);
  return found == labels_.end() ? nullptr : &found->second;
}

}  // namespace bigbird
