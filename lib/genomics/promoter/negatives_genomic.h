// Negatives from the genome: for each promoter a window of the same chromosome, away from every known TSS,
// with about the same fraction of G and C, so that neither place nor composition gives it away.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/io/genome/fasta.h"

namespace bigbird {

struct GenomicNegativeOptions {
  std::int64_t length = 0;           // bp of a window
  std::int64_t min_distance = 5000;  // from any base of the window to any TSS, in bp
  double gc_tolerance = 0.02;        // see gc_steps
  double max_n = 0.05;               // windows with a larger fraction of N are not drawn
  std::uint64_t seed = 1;
};

// A promoter that needs a negative: its window, 0-based half-open, and the key of its random numbers.
struct GenomicRequest {
  std::size_t contig = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t key = 0;
};

// A negative is looked for within gc_tolerance of the promoter's fraction of G and C among its known bases,
// then within 2.5 and 5 times as much; at last the closest of all that were drawn is taken.
inline constexpr std::array<double, 3> gc_steps = {1.0, 2.5, 5.0};

struct GenomicNegative {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double gc = 0;             // fraction of G and C
  double promoter_gc = 0;    // of its promoter
  std::size_t gc_step = 0;   // index into gc_steps; gc_steps.size(): the closest one
  bool overlapping = false;  // overlaps the negative of another promoter, for want of room
};

// Draws uniformly among the windows of the promoter's contig that overlap no promoter's window on either
// strand, keep their distance from every TSS of `tss` (for each contig, any order; all that are known, used
// or not) and hold few enough N: up to 2,000 draws a promoter. Negatives avoid each other too; only when no
// draw within the last step is free may one overlap another. Promoters of a contig take their turns by place,
// so the result depends neither on their order nor on threads. Nothing for a promoter whose contig has no
// such window.
std::vector<std::optional<GenomicNegative>> draw_genomic_negatives(
    Fasta& fasta, std::span<const GenomicRequest> promoters,
    const std::vector<std::vector<std::int64_t>>& tss, const GenomicNegativeOptions& options);

}  // namespace bigbird
