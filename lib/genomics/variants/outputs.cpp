// The files of a run over variants; see outputs.h.
#include "lib/genomics/variants/outputs.h"

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/sha256.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {

std::string report_prefix(const std::string& report, VariantFormat format, const std::string& output) {
  if (!report.empty()) return report;
  return output == "-" ? "" : variant_prefix(format, output);
}

// A row for each allele that was not scored.
class VariantOutputs::SkippedTable {
 public:
  SkippedTable(const std::string& path, const std::vector<std::string>& comments)
      : out_(path), table_(out_, {"chrom", "pos", "id", "ref", "alt", "reason"}, comments) {}

  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) {
    for (std::size_t allele = 0; allele < alleles.size(); ++allele) {
      if (alleles[allele].reason == SkipReason::none) continue;
      std::vector<std::string> fields = allele_fields(record, allele);
      fields.emplace_back(skip_reason_name(alleles[allele].reason));
      table_.row(fields);
      ++rows_;
    }
  }
  std::uint64_t rows() const { return rows_; }
  void close() { out_.close(); }

 private:
  OutputStream out_;
  TsvWriter table_;
  std::uint64_t rows_ = 0;
};

VariantOutputs::VariantOutputs(const VariantWriterOptions& options, const std::string& report,
                               const VcfReader& reader, const std::vector<Contig>& contigs,
                               const VariantColumns& columns)
    : report_(report),
      prefix_(variant_prefix(options.format, options.output)),
      files_(score_files(options.format, options.output, options.values_per_profile)),
      scores_(make_variant_writer(options, reader, contigs, columns)) {
  std::vector<OutputName> names;
  for (const std::string& file : files_) names.push_back({message("`output`"), file});
  if (!report_.empty()) {
    for (const char* suffix : {".skipped.tsv", ".summary.json"})
      names.push_back({message("`report`"), report_ + suffix});
    require_different(names);
    skipped_ = std::make_unique<SkippedTable>(report_ + ".skipped.tsv", options.comments);
  }
}

void add_digests(const OutputSet& outputs, const std::vector<std::string>& files, const std::string& prefix,
                 VariantSummary& summary) {
  for (const std::string& file : files) {
    const FileDigest digest = digest_of_file(outputs.written_path(file));
    if (!digest.sha256.empty()) summary.scores.push_back({file.substr(prefix.size()), digest});
  }
}

VariantOutputs::~VariantOutputs() = default;

void VariantOutputs::write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) {
  scores_->write(record, alleles);
  if (skipped_) skipped_->write(record, alleles);
}

std::vector<std::string> VariantOutputs::files() const {
  std::vector<std::string> files = files_;
  if (skipped_) files.insert(files.end(), {report_ + ".skipped.tsv", report_ + ".summary.json"});
  return files;
}

void VariantOutputs::close(VariantSummary summary, Scores scores, OutputSet& outputs) {
  if (scores == Scores::keep) scores_->close();
  if (!skipped_) return;
  if (scores == Scores::keep && prefix_ != "-") add_digests(outputs, files_, prefix_, summary);
  if (skipped_->rows() != summary.tally.skipped.total()) {
    throw_runtime("the counts of skipped alleles disagree");
  }
  skipped_->close();
  write_text_atomic(report_ + ".summary.json", summary_json(summary));
}

}  // namespace bigbird
