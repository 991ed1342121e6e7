// See allele_logos.h.
#include "lib/report/allele_logos.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/report/sequence_logo.h"
#include "lib/tasks/genomics/variants/allele_key.h"
#include "lib/tasks/model_task.h"

namespace bigbird {
namespace {

class AlleleLogos {
 public:
  AlleleLogos(const IsmOptions& options, bool strands_typed, kernels::Backend& backend, std::int64_t reach,
              std::size_t most)
      : options_(options),
        strands_typed_(strands_typed),
        backend_(backend),
        fasta_(options.fasta),
        contigs_(fasta_.contigs()),
        keys_(fasta_, contigs_),
        reach_(reach),
        most_(most),
        progress_("logos", 0, "sequences") {}

  ReportPicture draw(const StrongAllele& allele) {
    if (drawn_ == most_) return {};
    ++drawn_;
    // Its window stands at the first base that changes, trimmed and left-aligned.
    const auto key = keys_.of(allele.chrom, allele.position, allele.ref, allele.alt);
    const std::int64_t place =
        key ? static_cast<std::int64_t>(key->place & position_of_place) - 1 : allele.position;
    const IsmResult result = mutator_of(allele.windows).around(allele.chrom, place, reach_, progress_);
    tell_difference(allele.windows, result);
    const auto profile = static_cast<std::size_t>(std::max<std::int64_t>(allele.profile, 0));
    const auto found = std::find(result.selected.begin(), result.selected.end(), profile);
    const auto row =
        found == result.selected.end() ? 0 : static_cast<std::size_t>(found - result.selected.begin());
    return {fmt::format("{}:{} {}>{}, {}", allele.chrom, allele.position + 1, allele.ref, allele.alt,
                        result.profiles[result.selected[row]].name),
            sequence_logo_svg(ism_logo(result, row, IsmValue::difference))};
  }

 private:
  RegionMutator& mutator_of(const ScoredWindows& windows) {
    IsmOptions options = options_;
    if (!strands_typed_ && !windows.strands.empty()) options.strands = parse_strands(windows.strands);
    options.offset = windows.offset;
    if (!mutator_ || options.strands != made_.strands || options.offset != made_.offset) {
      mutator_.reset();  // one model in memory at a time
      mutator_ = std::make_unique<RegionMutator>(options, backend_);
      made_ = options;
    }
    return *mutator_;
  }

  static void tell_difference(const ScoredWindows& windows, const IsmResult& result) {
    const bool other_length = windows.length > 0 && windows.length != result.window_length;
    const bool other_strands = !windows.strands.empty() && parse_strands(windows.strands) != result.strands;
    if (windows.alone && !other_length && !other_strands) return;
    log_warning_once(
        fmt::format("logos are of one window of {} bp, on strands {}; scores of the table are not ({})",
                    result.window_length, name_of(result.strands),
                    !windows.alone ? "they are of a bin, or of several shifts"
                    : other_length ? fmt::format("{} bp", windows.length)
                                   : "strands " + windows.strands));
  }

  IsmOptions options_;
  bool strands_typed_;
  kernels::Backend& backend_;
  Fasta fasta_;
  ContigNames contigs_;
  AlleleKeys keys_;
  std::unique_ptr<RegionMutator> mutator_;  // null at first
  IsmOptions made_;                         // what it was made with
  std::int64_t reach_;
  std::size_t most_;
  std::size_t drawn_ = 0;
  Progress progress_;
};

}  // namespace

AllelePicture allele_logos(const IsmOptions& options, bool strands_typed, kernels::Backend& backend,
                           std::int64_t reach, std::size_t most) {
  const auto logos = std::make_shared<AlleleLogos>(options, strands_typed, backend, reach, most);
  return [logos](const StrongAllele& allele) { return logos->draw(allele); };
}

}  // namespace bigbird
