// Lifting whole files; see liftover.h.
#include "lib/genomes/liftover/liftover.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/io/files/output_set.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {
namespace {

// narrowPeak's column 10: the offset of the peak's summit. Nothing where it is none (-1, or no number).
std::optional<std::int64_t> peak_of(const std::vector<std::string_view>& fields, std::int64_t length) {
  std::int64_t offset = 0;
  if (fields.size() != 10) return std::nullopt;
  const auto [end, error] = std::from_chars(fields[9].data(), fields[9].data() + fields[9].size(), offset);
  if (error != std::errc() || end != fields[9].data() + fields[9].size()) return std::nullopt;
  return offset >= 0 && offset < length ? std::optional<std::int64_t>(offset) : std::nullopt;
}

constexpr int mitochondrion = 25;
constexpr const char* chain_hint = "give the chain file that lifts from the input's assembly";

// An excerpt of a contig begins at its first base and is shorter; the length of another assembly, or more
// bases than there are, says that it is another sequence.
bool is_another_sequence(std::string_view name, std::int64_t length, std::int64_t expected) {
  if (length == expected) return false;
  return length > expected || !assembly_of_length(chromosome_number(name), length).empty();
}

// Mitochondria of different length are different sequences: their names match only with their lengths.
std::optional<std::size_t> find_contig(const ContigNames& names, const Contig& contig) {
  return chromosome_number(contig.name) == mitochondrion ? names.find(contig.name, contig.length)
                                                         : names.find(contig.name);
}

constexpr std::int64_t progress_step = 1 << 14;

// Whether records come by contig and ascending, from the lines as they are written.
class OrderCheck {
 public:
  void see(std::string_view line) {
    if (!ordered_) return;
    const std::size_t tab = line.find('\t');
    const std::string_view chrom = line.substr(0, tab);
    std::int64_t begin = 0;
    for (std::size_t i = tab + 1; i < line.size() && line[i] >= '0' && line[i] <= '9'; ++i)
      begin = begin * 10 + (line[i] - '0');
    if (chrom != chrom_) {
      ordered_ = seen_.insert(std::string(chrom)).second;
      chrom_ = chrom;
    } else {
      ordered_ = begin >= last_;
    }
    last_ = begin;
  }
  bool ordered() const { return ordered_; }

 private:
  bool ordered_ = true;
  std::string chrom_;
  std::int64_t last_ = 0;
  std::set<std::string> seen_;
};

bool is_vcf(const std::string& path, std::string_view first_line) {
  return first_line.starts_with("##fileformat=VCF") || first_line.starts_with("#CHROM\tPOS") ||
         vcf_type_of(path).value_or(VcfType::bcf) != VcfType::bcf;
}

}  // namespace

std::string BedLifter::lift(std::string_view line, const LineReader& lines, std::string& out) {
  parse_bed_line(line, lines, options_.bed_columns, fields_, record_);
  const auto from = assembly_.from(record_.chrom, [&] { return lines.where(); });
  if (!from) return lift_outcome_text(LiftOutcome::unknown_contig);
  const Contig& old_contig = assembly_.from_contig(*from);
  const bool is_empty = record_.begin == record_.end;
  if (record_.end > old_contig.length || (is_empty && record_.begin == old_contig.length))
    return beyond_contig_reason;

  if (record_.columns == 7) return "A thick start without a thick end";

  parts_.clear();
  for (const BedBlock& block : record_.blocks) {
    const std::int64_t begin = record_.begin + block.begin;
    if (block.length == 0) return "A block without bases";
    parts_.push_back({begin, begin + block.length});
  }
  if (parts_.empty()) parts_.push_back({record_.begin, is_empty ? record_.begin + 1 : record_.end});
  std::optional<ChainInterval> inner;
  const std::optional<std::int64_t> peak = peak_of(fields_, record_.end - record_.begin);
  const bool has_thick = record_.columns > 7;
  if (has_thick && record_.thick_begin < record_.thick_end) {
    inner = ChainInterval{record_.thick_begin, record_.thick_end};
  } else if (peak) {
    inner = ChainInterval{record_.begin + *peak, record_.begin + *peak + 1};
  }
  const LiftedParts lifted = assembly_.chain().lift_parts(old_contig.name, parts_, inner, options_.min_match);
  if (!lifted.ok()) return lift_outcome_text(lifted.outcome);
  const auto to = assembly_.to(lifted.chrom);
  if (!to) return not_in_genome_reason;
  if (lifted.parts.back().end > assembly_.contigs()[*to].length) return beyond_new_reason;

  std::int64_t begin = lifted.parts.front().begin;
  std::int64_t end = lifted.parts.back().end;
  // The point before a base is, on the other strand, the point after it.
  if (is_empty) (lifted.reversed ? begin : end) = lifted.reversed ? end : begin;
  std::vector<std::string> changed(fields_.size());
  changed[0] = assembly_.contigs()[*to].name;
  changed[1] = std::to_string(begin);
  changed[2] = std::to_string(end);
  if (record_.columns > 5 && lifted.reversed && record_.strand != '.')
    changed[5] = record_.strand == '+' ? '-' : '+';
  if (has_thick) {
    const bool kept = lifted.inner.has_value();
    changed[6] = std::to_string(kept ? lifted.inner->begin : begin);
    changed[7] = std::to_string(kept ? lifted.inner->end : begin);
  } else if (peak) {
    changed[9] = lifted.inner ? std::to_string(lifted.inner->begin - begin) : "-1";
  }
  if (!record_.blocks.empty()) {
    for (const ChainInterval& part : lifted.parts) {
      changed[10] += fmt::format("{},", part.end - part.begin);
      changed[11] += fmt::format("{},", part.begin - begin);
    }
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (i > 0) out += '\t';
    out += changed[i].empty() ? fields_[i] : std::string_view(changed[i]);
  }
  out += '\n';
  return {};
}

LiftoverAssembly::LiftoverAssembly(const ChainFile& chain, const std::string& fasta) : chain_(chain) {
  if (!fasta.empty()) genome_.emplace(fasta);
  names_ = genome_ ? ContigNames(genome_->contigs()) : chain.to();
  for (const Contig& contig : chain.to().contigs()) {
    const auto found = find_contig(names_, contig);
    if (!found) continue;
    if (is_another_sequence(contig.name, names_[*found].length, contig.length)) {
      throw_bad_input(fmt::format("{}: {} has {} bases, but the chain file lifts to a {} of {}", fasta,
                                  names_[*found].name, names_[*found].length, contig.name, contig.length),
                      "give the genome that the chain file lifts to");
    }
    to_.emplace(contig.name, *found);
  }
  if (to_.empty()) {
    throw_bad_input(fmt::format("{}: holds none of the contigs that the chain file lifts to", fasta),
                    "give the genome that the chain file lifts to");
  }
}

void LiftoverAssembly::declare(std::string_view name, std::int64_t length, const std::string& where) {
  const auto found =
      length == 0 ? chain_.from().find(name) : find_contig(chain_.from(), {std::string(name), length});
  if (found && length != 0 && is_another_sequence(name, length, chain_.from()[*found].length)) {
    throw_bad_input(fmt::format("{}: {} has {} bases, but the chain file lifts from a {} of {}", where, name,
                                length, chain_.from()[*found].name, chain_.from()[*found].length),
                    chain_hint);
  }
  if (found || (length != 0 && chromosome_number(name) == mitochondrion)) {
    from_.insert_or_assign(std::string(name), found);
  } else {
    resolve(name, where);
  }
}

std::optional<std::size_t> LiftoverAssembly::resolve(std::string_view name, const std::string& where) {
  const std::string clash = chain_.from().assembly_clash(name);
  if (!clash.empty()) throw_bad_input(fmt::format("{}: {}", where, clash), chain_hint);
  return from_.emplace(name, chain_.from().find(name)).first->second;
}

std::optional<std::size_t> LiftoverAssembly::to(const std::string& chain_name) const {
  const auto found = to_.find(chain_name);
  return found == to_.end() ? std::nullopt : std::optional<std::size_t>(found->second);
}

LiftoverSummary lift_file(const LiftoverOptions& options) {
  LineReader lines(options.input);
  std::string_view line;
  bool more = lines.next(line);
  if (more && (line.starts_with("BCF\2") || line.starts_with("CRAM") || line.starts_with("BAM\1"))) {
    throw_bad_input(fmt::format("{}: is a binary file, not BED or VCF", options.input),
                    "turn a BCF into text first, and read that from -: bcftools view IN.bcf");
  }
  const ChainFile chain(options.chain);
  LiftoverAssembly assembly(chain, options.fasta);
  LiftoverSummary summary;
  const bool vcf = is_vcf(options.input, line);
  summary.format = vcf ? LiftoverFormat::vcf : LiftoverFormat::bed;
  BedLifter bed(assembly, options);
  VcfLifter variants(assembly, options.fasta, options.provenance);
  OutputSet outputs({{message("`output`"), options.output}, {message("`unmapped`"), options.unmapped}});
  OutputStream out(options.output);
  const auto unmapped = options.unmapped.empty() ? nullptr : std::make_unique<OutputStream>(options.unmapped);
  if (!vcf && options.provenance_in_tables) {
    for (const std::string& text : options.provenance) out.write("##" + text + "\n");
  }
  OrderCheck order;
  Progress progress("liftover", 0, "records");
  std::string text;
  std::string first_reason;
  for (; more; more = lines.next(line)) {
    text.clear();
    if (vcf ? line.starts_with('#') : is_bed_header(line)) {
      if (vcf) {
        variants.header(line, lines, text);
        if (unmapped) unmapped->write(std::string(line) + "\n");
      } else {
        (text += line) += '\n';
      }
      out.write(text);
      continue;
    }
    if (vcf && line.empty()) continue;
    ++summary.records;
    const std::string reason = vcf ? variants.lift(line, lines, text) : bed.lift(line, lines, text);
    if (reason.empty()) {
      ++summary.lifted;
      order.see(text);
      out.write(text);
    } else {
      summary.reasons.add(reason);
      if (unmapped) unmapped->write(fmt::format("#{}\n{}\n", reason, line));
    }
    if (summary.records % progress_step == 0) {
      progress.advance(static_cast<std::uint64_t>(progress_step));
      throw_if_cancelled();
    }
  }
  const std::uint64_t unknown = summary.reasons.count(lift_outcome_text(LiftOutcome::unknown_contig));
  if (unknown > 0 && unknown == static_cast<std::uint64_t>(summary.records)) {
    throw_bad_input(fmt::format("{}: none of its contigs is in {}", options.input, options.chain),
                    fmt::format("the chain file lifts from {}, ...", chain.from()[0].name));
  }
  summary.in_order = order.ordered();
  if (unmapped) unmapped->close();
  out.close();
  outputs.commit();
  return summary;
}

}  // namespace bigbird
