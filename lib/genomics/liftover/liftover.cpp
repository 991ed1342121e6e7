// Lifting whole files; see liftover.h.
#include "lib/genomics/liftover/liftover.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/genomics/liftover/vcf.h"
#include "lib/io/files/output_set.h"

namespace bigbird {
namespace {

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
         has_suffix(path, ".vcf") || has_suffix(path, ".vcf.gz");
}

}  // namespace

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
  if (!vcf) {
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
