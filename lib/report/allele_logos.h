// lib/report holds what people look at: charts as SVG, pages, and reports of any outputs (report_inputs.h:
// which file becomes which section). Numbers come from the rooms below; none is computed anew.
//
// Logos of the bases around scored alleles, by every substitution under a model.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/backend.h"
#include "lib/genomics/ism.h"
#include "lib/report/report_inputs.h"

namespace bigbird {

// Draws the first `most` alleles that it is asked for, `reach` bases to either side; none of the others. Each
// is of the window and on the strands that the allele's scores are of. `strands_typed`: on those of
// `options`, whatever the scores were made with. The backend must outlive the picture.
AllelePicture allele_logos(const IsmOptions& options, bool strands_typed, kernels::Backend& backend,
                           std::int64_t reach, std::size_t most);

}  // namespace bigbird
