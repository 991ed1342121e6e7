// The effects of single substitutions as a picture: a logo, in which the letter at each base is as high as
// the base is important, over a heat map of every substitution.
// And such logos of the bases around scored alleles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "lib/genomics/ism.h"
#include "lib/report/report_inputs.h"

namespace bigbird {

struct SequenceLogo {
  std::string title;     // "chr1:11-40"
  std::string subtitle;  // the profile, and what is shown
  std::string contig;
  std::int64_t first_position = 1;  // 1-based, of the first base
  std::string bases;                // A C G T N
  // [bases, 4], substitution by A C G T; 0 at the base itself; NaN where it is not known.
  std::vector<float> effects;
  // The bases that a variant changes, from 0 in `bases`: begin and end; equal where there are none.
  std::pair<std::size_t, std::size_t> marked = {0, 0};
};

// The height of a base's letter: minus the mean over its substitutions. A base whose loss lowers the
// prediction stands above the axis. NaN where an effect is not known.
double base_importance(const SequenceLogo& logo, std::size_t base);

// A complete SVG document: rows of up to 100 bases, all on one scale, which it states. A box stands around
// the marked bases.
std::string sequence_logo_svg(const SequenceLogo& logo);

// The effects of substitutions, with a title that says what they are: of one of the selected profiles of a
// result.
SequenceLogo ism_logo(const IsmResult& result, std::size_t selected, IsmValue value);

// Draws the first `most` alleles that it is asked for, `reach` bases to either side; none of the others. Each
// is of the window and on the strands that the allele's scores are of. `strands_typed`: on those of
// `options`, whatever the scores were made with. The backend must outlive the picture.
AllelePicture allele_logos(const IsmOptions& options, bool strands_typed, kernels::Backend& backend,
                           std::int64_t reach, std::size_t most);

}  // namespace bigbird
