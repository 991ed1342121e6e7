// All files that a run over variants writes: the scores, the alleles that have none, and the counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/genomics/variants/score_writers.h"
#include "lib/genomics/variants/summary.h"
#include "lib/io/files/output_set.h"

namespace bigbird {

// What the names of skipped.tsv and summary.json begin with: `report`, or where it is empty the prefix of the
// scores; empty (these files are not written) when they go to stdout.
std::string report_prefix(const std::string& report, VariantFormat format, const std::string& output);

// Adds what `files`, which begin with `prefix`, hold (be it that `outputs` has them still) to the summary's
// scores.
void add_digests(const OutputSet& outputs, const std::vector<std::string>& files, const std::string& prefix,
                 VariantSummary& summary);

class VariantOutputs {
 public:
  // Opens all of them. `report`: of report_prefix(). The references live as long as the outputs.
  VariantOutputs(const VariantWriterOptions& options, const std::string& report, const VcfReader& reader,
                 const std::vector<Contig>& contigs, const VariantColumns& columns);
  ~VariantOutputs();

  // A record with what became of its alleles, in its order.
  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles);

  enum class Scores { keep, discard };
  // All of them, the further ones too.
  std::vector<std::string> files() const;
  // Finishes the files, or all but the scores; they appear with `outputs`, which names them. What the scores
  // hold is added to the summary.
  void close(VariantSummary summary, Scores scores, OutputSet& outputs);

 private:
  class SkippedTable;

  std::string report_;
  std::string prefix_;              // of the scores
  std::vector<std::string> files_;  // of the scores
  std::unique_ptr<VariantWriter> scores_;
  std::unique_ptr<SkippedTable> skipped_;  // null without a report
};

}  // namespace bigbird
