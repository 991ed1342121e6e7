// See allele_windows.h.
#include "lib/genomics/variants/allele_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/genomics/language_scorer.h"

namespace bigbird {

AlleleWindows::AlleleWindows(const VariantScoringOptions& options, const std::optional<ModelWindow>& model)
    : path_(options.input),
      context_(options, ScoringModels{.window = model, .digests = {}, .rules = {}}),
      input_(options, context_.fasta, context_.contigs),
      judge_(context_.fasta, context_.contigs, context_.rules) {}

bool AlleleWindows::read_chunk() {
  std::vector<VcfRecord> records;
  if (!input_.next(records)) return false;
  windows_.clear();
  next_ = 0;
  for (const VcfRecord& record : records) {
    const std::vector<PlacedAllele> placed = judge_.judge(record);
    std::vector<AlleleResult> results(placed.size());
    for (std::size_t number = 0; number < placed.size(); ++number) {
      const PlacedAllele& allele = placed[number];
      results[number].reason = allele.reason;
      results[number].flags = allele.flags;
      if (allele.reason != SkipReason::none) continue;
      const Contig& contig = context_.contigs[allele.contig];
      const std::int64_t end = allele.window_begin + static_cast<std::int64_t>(allele.reference.size());
      const auto at = static_cast<std::size_t>(allele.begin - allele.window_begin);
      windows_.push_back(
          {fmt::format("{}:{}:{}:{}", record.chrom, record.position + 1, record.ref, record.alts[number]),
           contig.name, std::max<std::int64_t>(0, allele.window_begin), std::min(end, contig.length), '+', -1,
           allele.reference,
           SequenceChange{allele.reference, at, allele.ref.size(), allele.alt}.alternative(),
           static_cast<std::int64_t>(at)});
    }
    tally_.add(record, results);
  }
  return true;
}

bool AlleleWindows::next(Window& window) {
  while (next_ == windows_.size()) {
    if (read_chunk()) continue;
    if (const auto nothing = why_nothing_was_scored(tally_, path_)) throw Error(*nothing);
    return false;
  }
  window = std::move(windows_[next_++]);
  return true;
}

}  // namespace bigbird
