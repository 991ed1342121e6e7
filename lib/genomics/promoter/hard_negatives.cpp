// False calls of a scan as negatives; see hard_negatives.h.
#include "lib/genomics/promoter/hard_negatives.h"

#include <algorithm>
#include <tuple>

#include "lib/core/error.h"
#include "lib/genomics/promoter/leaks.h"
#include "lib/genomics/promoter/scan.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

bool is_near(const std::vector<std::int64_t>& sites, std::int64_t place, std::int64_t distance) {
  const auto site = std::lower_bound(sites.begin(), sites.end(), place - distance);
  return site != sites.end() && *site <= place + distance;
}

}  // namespace

std::vector<Region> positions_within(const std::vector<Region>& open, std::int64_t left, std::int64_t right) {
  std::vector<Region> positions;
  for (const Region& stretch : open) {
    // [p - left, p + right) on +, [p - right + 1, p + left + 1) on -; with one base more on each side, which
    // the scan reads.
    const std::int64_t reach = std::max(left, right) + 1;
    const Region inner{stretch.contig, stretch.begin + reach, stretch.end - reach};
    if (inner.begin < inner.end) positions.push_back(inner);
  }
  return positions;
}

std::vector<HardNegative> find_hard_negatives(const HardNegativeOptions& options,
                                              const std::vector<Region>& open,
                                              const std::vector<std::vector<std::int64_t>>& tss,
                                              const std::unordered_set<std::uint64_t>& known,
                                              std::size_t wanted, kernels::Backend& backend,
                                              HardNegativeSummary& summary) {
  const std::vector<Region> positions = positions_within(open, options.left, options.right);
  if (positions.empty()) {
    throw_bad_input(options.fasta + ": no window of the training side can be scanned for hard negatives",
                    "hold fewer places out, or choose smaller windows");
  }
  for (const Region& region : positions) summary.bases += region.end - region.begin;
  PromoterScanOptions scan;
  scan.models = {options.model};
  scan.fasta = options.fasta;
  scan.step = options.step;
  scan.left = options.left;
  scan.right = options.right;
  scan.max_n = options.max_n;
  scan.threshold = 0;
  std::vector<PromoterCall> calls = find_promoter_calls(scan, positions, backend);
  summary.calls = static_cast<std::int64_t>(calls.size());
  summary.near_tss = static_cast<std::int64_t>(std::erase_if(calls, [&](const PromoterCall& call) {
    return is_near(tss[call.contig], call.tss, options.min_distance);
  }));
  std::stable_sort(calls.begin(), calls.end(),
                   [](const PromoterCall& a, const PromoterCall& b) { return a.score > b.score; });

  Fasta fasta(options.fasta);
  std::unordered_set<std::uint64_t> seen = known;
  std::vector<HardNegative> negatives;
  for (const PromoterCall& call : calls) {
    if (negatives.size() == wanted) break;
    HardNegative negative{
        call.contig, call.tss - options.left, call.tss + options.right, call.strand, call.score, {}};
    if (call.strand == '-') {
      negative.begin = call.tss - options.right + 1;
      negative.end = call.tss + options.left + 1;
    }
    negative.sequence = fasta.fetch(call.contig, negative.begin, negative.end);
    if (call.strand == '-') negative.sequence = reverse_complement(negative.sequence);
    if (!seen.insert(sequence_key(negative.sequence)).second) {
      ++summary.known;
      continue;
    }
    summary.lowest_score = call.score;
    negatives.push_back(std::move(negative));
  }
  summary.taken = static_cast<std::int64_t>(negatives.size());
  std::sort(negatives.begin(), negatives.end(), [](const HardNegative& a, const HardNegative& b) {
    return std::tie(a.contig, a.begin, a.strand) < std::tie(b.contig, b.begin, b.strand);
  });
  return negatives;
}

}  // namespace bigbird
