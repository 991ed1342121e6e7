// Contig naming; see contig_names.h. Accessions and lengths: NCBI assembly reports of GRCh37
// (GCF_000001405.13) and GRCh38 (GCF_000001405.26).
#include "lib/io/genome/contig_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"

namespace bigbird {
namespace {

constexpr int chromosome_x = 23;
constexpr int chromosome_y = 24;
constexpr int mitochondrion = 25;

// The RefSeq version of NC_0000xx in each assembly and the lengths, by chromosome_number - 1 (1..22, X, Y).
struct ChromosomeFacts {
  int grch37_version;
  std::int64_t grch37_length;
  int grch38_version;
  std::int64_t grch38_length;
};
constexpr std::array<ChromosomeFacts, 24> chromosome_facts{{
    {10, 249250621, 11, 248956422}, {11, 243199373, 12, 242193529}, {11, 198022430, 12, 198295559},
    {11, 191154276, 12, 190214555}, {9, 180915260, 10, 181538259},  {11, 171115067, 12, 170805979},
    {13, 159138663, 14, 159345973}, {10, 146364022, 11, 145138636}, {11, 141213431, 12, 138394717},
    {10, 135534747, 11, 133797422}, {9, 135006516, 10, 135086622},  {11, 133851895, 12, 133275309},
    {10, 115169878, 11, 114364328}, {8, 107349540, 9, 107043718},   {9, 102531392, 10, 101991189},
    {9, 90354753, 10, 90338345},    {10, 81195210, 11, 83257441},   {9, 78077248, 10, 80373285},
    {9, 59128983, 10, 58617616},    {10, 63025520, 11, 64444167},   {8, 48129895, 9, 46709983},
    {10, 51304566, 11, 50818468},   {10, 155270560, 11, 156040895}, {9, 59373566, 10, 57227415},
}};
constexpr std::int64_t rcrs_length = 16569;
constexpr std::int64_t hg19_chrm_length = 16571;

struct Accession {
  int chromosome = 0;
  std::int64_t length = 0;  // of the sequence that the accession names; 0 when its version is not known here
  std::int64_t other_length = 0;  // of the same chromosome in the other assembly
};

// The whole text as a number of at most `digits` digits; -1 when it is none.
int whole_number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? value : -1;
}

Accession accession_of(int chromosome, bool is_grch37, bool is_grch38) {
  const ChromosomeFacts& facts = chromosome_facts[static_cast<std::size_t>(chromosome - 1)];
  if (is_grch37) return {chromosome, facts.grch37_length, facts.grch38_length};
  if (is_grch38) return {chromosome, facts.grch38_length, facts.grch37_length};
  return {chromosome, 0, 0};
}

// RefSeq NC_000001..NC_000024 and GenBank CM000663..CM000686 with any version; the two mitochondria by their
// own accessions.
Accession parse_accession(std::string_view name) {
  if (name == "NC_012920.1" || name == "J01415.2") return {mitochondrion, rcrs_length, hg19_chrm_length};
  if (name == "NC_001807.4") return {mitochondrion, hg19_chrm_length, rcrs_length};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const int version = whole_number(name.substr(dot + 1));
  const std::string_view stem = name.substr(0, dot);
  if (stem.size() == 9 && stem.starts_with("NC_")) {
    const int chromosome = whole_number(stem.substr(3));
    if (chromosome < 1 || chromosome > chromosome_y) return {};
    const ChromosomeFacts& facts = chromosome_facts[static_cast<std::size_t>(chromosome - 1)];
    return accession_of(chromosome, version == facts.grch37_version, version == facts.grch38_version);
  }
  if (stem.size() == 8 && stem.starts_with("CM")) {
    const int chromosome = whole_number(stem.substr(2)) - 662;
    if (chromosome < 1 || chromosome > chromosome_y) return {};
    return accession_of(chromosome, version == 1, version == 2);
  }
  return {};
}

std::string convention_of(std::string_view name) {
  if (name.starts_with("NC_")) return "RefSeq accessions";
  if (name.starts_with("CM")) return "GenBank accessions";
  const std::size_t prefix = name.find_first_of("0123456789XY");
  return fmt::format("{0}1, {0}2 ...", name.substr(0, prefix));
}

// Once for a genome, not for each of its chromosomes; the mitochondrion, whose sequences differ, by its name.
void say_alias(int chromosome, std::string_view name, std::string_view present) {
  log_info_once(chromosome == mitochondrion
                    ? fmt::format("contig {} is taken as {} of the reference", name, present)
                    : fmt::format("contigs {} are taken as {} of the reference", convention_of(name),
                                  convention_of(present)));
}

}  // namespace

std::string assembly_of_length(int chromosome, std::int64_t length) {
  if (chromosome < 1 || chromosome > chromosome_y) return {};
  const ChromosomeFacts& facts = chromosome_facts[static_cast<std::size_t>(chromosome - 1)];
  if (length == facts.grch37_length) return "GRCh37";
  return length == facts.grch38_length ? "GRCh38" : "";
}

int chromosome_number(std::string_view name) {
  if (const Accession accession = parse_accession(name); accession.chromosome != 0)
    return accession.chromosome;
  if (name.starts_with("chr") || name.starts_with("Chr") || name.starts_with("CHR")) name.remove_prefix(3);
  if (name == "X") return chromosome_x;
  if (name == "Y") return chromosome_y;
  if (name == "M" || name == "MT") return mitochondrion;
  if (name.empty() || name.size() > 2 || name.front() == '0') return 0;
  const int number = whole_number(name);
  return number >= 1 && number <= 22 ? number : 0;
}

std::string canonical_contig_name(std::string_view name) {
  const int number = chromosome_number(name);
  if (number == 0) return std::string(name);
  if (number == chromosome_x) return "X";
  if (number == chromosome_y) return "Y";
  return number == mitochondrion ? "MT" : std::to_string(number);
}

std::string assembly_of(const Contig& contig) {
  const Accession accession = parse_accession(contig.name);
  if (accession.length != 0) return assembly_of_length(accession.chromosome, accession.length);
  return assembly_of_length(chromosome_number(contig.name), contig.length);
}

ContigNames::ContigNames(std::vector<Contig> contigs) : contigs_(std::move(contigs)) {
  for (std::size_t i = 0; i < contigs_.size(); ++i) {
    by_name_.emplace(contigs_[i].name, i);
    if (const int number = chromosome_number(contigs_[i].name); number != 0)
      by_chromosome_.emplace(number, i);
  }
}

std::optional<std::size_t> ContigNames::find(std::string_view name,
                                             std::optional<std::int64_t> length) const {
  const int number = chromosome_number(name);
  if (const auto found = by_name_.find(std::string(name)); found != by_name_.end()) {
    const bool differs = length.has_value() && *length != contigs_[found->second].length;
    if (number == mitochondrion && differs) return std::nullopt;
    return found->second;
  }
  if (number == 0) return std::nullopt;
  const auto found = by_chromosome_.find(number);
  if (found == by_chromosome_.end()) return std::nullopt;
  const Contig& contig = contigs_[found->second];
  const Accession asked = parse_accession(name);
  const Accession present = parse_accession(contig.name);
  const std::int64_t asked_length = length.value_or(number == mitochondrion ? asked.length : 0);
  if (number == mitochondrion && asked_length == 0) return std::nullopt;
  if (asked_length != 0 && asked_length != contig.length) return std::nullopt;
  // An accession says its assembly: it never means a contig that has another assembly's length or accession.
  if (asked.length != 0 && asked.other_length == contig.length) return std::nullopt;
  if (asked.length != 0 && present.length != 0 && asked.length != present.length) return std::nullopt;
  if (asked.chromosome != 0 && asked.length == 0 && !assembly_of_length(number, contig.length).empty())
    return std::nullopt;
  say_alias(number, name, contig.name);
  return found->second;
}

std::string ContigNames::assembly_clash(std::string_view name) const {
  const Accession asked = parse_accession(name);
  if (asked.chromosome < 1 || asked.chromosome > chromosome_y || find(name)) return {};
  const auto found = by_chromosome_.find(asked.chromosome);
  if (found == by_chromosome_.end()) return {};
  const Contig& contig = contigs_[found->second];
  const std::string theirs = assembly_of_length(asked.chromosome, asked.length);
  const std::string ours = assembly_of_length(asked.chromosome, contig.length);
  return fmt::format("{} is chromosome {} of {}, but {} here has {} bases{}", name,
                     canonical_contig_name(name), theirs.empty() ? "an assembly not known here" : theirs,
                     contig.name, contig.length, ours.empty() ? "" : ", as in " + ours);
}

std::size_t ContigNames::require(std::string_view name, const std::string& where,
                                 std::optional<std::int64_t> length) const {
  if (const auto found = find(name, length)) return *found;
  std::string some;
  const std::size_t shown = std::min<std::size_t>(contigs_.size(), 5);
  for (std::size_t i = 0; i < shown; ++i) some += (i == 0 ? "" : ", ") + contigs_[i].name;
  if (shown < contigs_.size()) some += ", ...";
  if (chromosome_number(name) == mitochondrion && by_chromosome_.contains(mitochondrion)) {
    throw_bad_input(
        fmt::format("{}: unknown contig {}", where, name),
        fmt::format(
            "{} of the reference is not taken for it: mitochondrial references of different length are "
            "different sequences",
            contigs_[by_chromosome_.at(mitochondrion)].name));
  }
  throw_bad_input(
      fmt::format("{}: unknown contig {}", where, name),
      contigs_.empty() ? "the reference has no contigs" : fmt::format("the reference has {}", some));
}

std::vector<std::size_t> ContigNames::default_chromosomes() const {
  std::vector<std::size_t> indices;
  for (int number = 1; number <= chromosome_y; ++number) {
    if (const auto found = by_chromosome_.find(number); found != by_chromosome_.end())
      indices.push_back(found->second);
  }
  return indices;
}

}  // namespace bigbird
