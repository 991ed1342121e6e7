// The sequence of a simulated promoter.
#pragma once

#include <string>

#include "lib/core/rng.h"
#include "lib/genomics/simulate/annotation.h"
#include "lib/genomics/simulate/composition.h"

namespace bigbird {

// In one base of this many, a planted motif is drawn from all four bases: 4 of 100.
inline constexpr int motif_noise_percent = 4;

// The promoter's bases on the sense strand, 2 * promoter_reach of them with the TSS at index promoter_reach;
// N where the genome stays as it is. A main promoter brings its island (or GC-rich stretch, for TATA) and its
// first exon's donor site; an alternative one only its core.
std::string draw_promoter(const SimulatedPromoter& promoter, const CompositionModel& composition,
                          CounterRng& rng);

}  // namespace bigbird
