// Negative examples for promoters, made from a positive window or taken from the genome.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/rng.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/most_n.h"
#include "lib/io/genome/region.h"

namespace bigbird {

// random: 12 of 20 blocks replaced by uniform random bases (Oubounyt et al. 2019 as its public
// re-implementation reads it). permute: 12 of 20 blocks permuted among their own places, so that composition
// stays (GENA-LM's reading); far harder. dinucleotide: the whole window shuffled, every dinucleotide count
// kept. genomic: another window of the same chromosome. hard: a window of the training side that a model
// takes for a promoter (hard_negatives.h).
enum class NegativeKind { random, permute, dinucleotide, genomic, hard };
// Whether negatives of this kind are windows of the genome, and not made of their promoter.
bool is_of_genome(NegativeKind kind);

inline constexpr std::size_t negative_blocks = 20;
inline constexpr std::size_t negative_blocks_changed = 12;

// "random", ...; Error{usage} for another word.
NegativeKind parse_negative_kind(std::string_view word);
const char* negative_kind_name(NegativeKind kind);

// So many of a kind for every promoter.
struct NegativesOfKind {
  NegativeKind kind = NegativeKind::genomic;
  int count = 1;
  bool operator==(const NegativesOfKind&) const = default;
};
using NegativePlan = std::vector<NegativesOfKind>;
// One kind or several, each once and with or without a count from 1 to 1,000: "random", "random+genomic",
// "random:2+genomic:8". Error{usage} for others.
NegativePlan parse_negative_plan(const std::string& words);
std::string negative_plan_name(const NegativePlan& plan);
// How many a promoter gets of a kind.
int negatives_of(const NegativePlan& plan, NegativeKind kind);

// The id of a promoter's negative. "ID:negative" for the only one that it has; "ID:negative:KIND" where it
// has others of other kinds; "ID:negative:KIND:NUMBER", counted from 1, where it has several of this kind.
struct NegativeId {
  std::string promoter;
  std::optional<NegativeKind> kind = std::nullopt;  // where the id tells
  int number = 0;                                   // 0 where the id does not tell
};
std::string negative_id(const NegativeId& id);
// Of the negative with this number, from 0 on, of a kind.
std::string negative_id(const std::string& promoter, const NegativePlan& plan, NegativesOfKind of,
                        int number);
// Nothing for an id that is no negative's.
std::optional<NegativeId> parse_negative_id(std::string_view id);

// The window is cut into 20 equal blocks; what is left over when the length is not a multiple of 20 stays as
// it is at the 3' end. Which 12 blocks change, and how, is drawn from `rng`; the other 8 stay in place.
// Permuting draws a uniform permutation of the 12 (a block may by chance stay); one that leaves the window as
// it was is drawn again, up to 100 times.
std::string replace_blocks(std::string_view window, CounterRng& rng);
std::string permute_blocks(std::string_view window, CounterRng& rng);

// A uniform draw among the sequences with the same dinucleotide counts and the same first and last letter
// (Altschul and Erickson 1985: a random Euler path).
std::string shuffle_dinucleotides(std::string_view window, CounterRng& rng);

// One of the three that are made of a window; for others std::logic_error.
std::string make_negative(NegativeKind kind, std::string_view window, CounterRng& rng);

// Negatives of promoters that are made anew in every epoch of a fine-tuning, as the public implementation of
// DeePromoter (Oubounyt et al. 2019) does, so that no negative can be learned by heart.
class FreshNegatives {
 public:
  // Windows on their sense strand, A C G T N; at least 20 bases, but for dinucleotide negatives. Error{usage}
  // for kinds that are made of no window.
  FreshNegatives(NegativeKind kind, std::uint64_t seed, std::vector<std::string> promoters);

  std::uint64_t promoters() const { return promoters_.size(); }
  const std::string& promoter(std::uint64_t index) const {
    return promoters_[static_cast<std::size_t>(index)];
  }
  // The negative of one promoter in `epoch` (0, 1, ...): a function of (seed, epoch, index)
  // (Purpose::fresh_negatives). Safe from many threads at once.
  std::string negative(std::uint64_t epoch, std::uint64_t index) const;

 private:
  NegativeKind kind_;
  std::uint64_t seed_;
  std::vector<std::string> promoters_;
};

// Negatives from the genome: for each promoter windows of the same chromosome, away from every known TSS; on
// demand with about the same fraction of G and C, so that composition does not give them away.
struct GenomicNegativeOptions {
  std::int64_t length = 0;                   // bp of a window
  std::int64_t min_distance = 0;             // from any base of the window to any TSS, in bp
  double gc_tolerance = 1;                   // see gc_steps; 1: composition is not looked at
  double max_n = most_n_of_training_window;  // windows with a larger fraction of N are not drawn
  std::uint64_t seed = 1;
  // The stretches of a contig that no negative of a promoter of this zone may touch; none when empty.
  std::function<std::vector<Region>(std::size_t contig, int zone)> closed = {};
};

// A negative that a promoter needs: the promoter's window, 0-based half-open, and the key of the negative's
// random numbers.
struct GenomicRequest {
  std::size_t contig = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t key = 0;
  int number = 0;           // of the promoter's genomic negatives, from 0 on
  int zone = 0;             // see closed; no two zones of a contig share bases
  bool may_overlap = true;  // another negative, where there is no room apart from all
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
  bool overlapping = false;  // overlaps another negative, for want of room
};

// Draws uniformly among the windows of the promoter's contig that overlap no promoter's window on either
// strand, keep their distance from every TSS of `tss` (for each contig, any order; all that are known, used
// or not) and hold few enough N: up to 2,000 draws a negative. Negatives avoid each other too; only when no
// draw within the last step is free may one overlap another. Negatives of a contig take their turns by number
// and place, so the result depends neither on their order nor on threads, and the first of each promoter are
// those of a request without the others. Nothing where the contig has no such window, and where only windows
// that overlap were drawn and may not.
std::vector<std::optional<GenomicNegative>> draw_genomic_negatives(
    Fasta& fasta, std::span<const GenomicRequest> requests, const std::vector<std::vector<std::int64_t>>& tss,
    const GenomicNegativeOptions& options);

}  // namespace bigbird
