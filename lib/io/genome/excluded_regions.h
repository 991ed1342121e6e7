// Regions that a work leaves out, as `exclude` gives them to every verb that has it: what touches one of them
// by a base is left out, and counted under excluded_reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/interval_set.h"

namespace bigbird {

inline constexpr const char* excluded_reason = "touches an excluded region";

// BED files of which columns 1 to 3 count; files without a region are legal (nothing was found to leave out).
class ExcludedRegions {
 public:
  enum class Ends {
    checked,
    clipped
  };  // clipped: a region that begins inside of its contig may pass its end

  ExcludedRegions() = default;
  // On a genome. Regions on contigs that it lacks are passed over, and of those that pass the end of their
  // contig what is inside is taken, each with a warning. Error{bad_input}: none of a file's contigs is known;
  // FILE:LINE for a region that begins beyond the end of its contig; else as BedReader.
  ExcludedRegions(const std::vector<std::string>& paths, const ContigNames& genome);
  // Without a genome: contigs are those that the files name, of any length.
  explicit ExcludedRegions(const std::vector<std::string>& paths);

  // True without any region: nothing touches it.
  bool empty() const { return bases_ == 0; }
  std::int64_t bases() const { return bases_; }
  // Whether a base of [begin, end) is in a region. `contig` is one of the genome's; a name is found under all
  // that ContigNames knows, and a contig that is not known is touched by none.
  bool touch(std::size_t contig, std::int64_t begin, std::int64_t end) const;
  bool touch(std::string_view chrom, std::int64_t begin, std::int64_t end) const;
  const IntervalSet& of(std::size_t contig) const { return sets_[contig]; }

 private:
  ContigNames names_;
  std::vector<IntervalSet> sets_;  // by contig
  std::int64_t bases_ = 0;
};

}  // namespace bigbird
