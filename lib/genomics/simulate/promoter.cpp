// Promoter elements of the simulator; see promoter.h. Offsets are counted on the sense strand from the TSS
// (0).
#include "lib/genomics/simulate/promoter.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

// The isochore class that the stretch around a TATA promoter has.
constexpr std::size_t tata_class = 3;

// A sense strand around a TSS, with what was placed on it.
class SenseStrand {
 public:
  SenseStrand() : bases_(static_cast<std::size_t>(2 * promoter_reach), 'N') {}

  void place(std::int64_t offset, std::string_view text) {
    bases_.replace(static_cast<std::size_t>(promoter_reach + offset), text.size(), text);
  }
  const std::string& bases() const { return bases_; }

 private:
  std::string bases_;
};

std::string draw_element(std::string_view consensus, CounterRng& rng) {
  return draw_motif(consensus, motif_noise_percent, rng);
}

// Bases before and after the TSS that have the promoter's own composition.
struct Extent {
  std::int64_t up, down;
};

Extent draw_extent(const SimulatedPromoter& promoter, CounterRng& rng) {
  if (!promoter.is_main()) return {200, 100};
  if (promoter.tata) return {250, 100};
  const std::int64_t up = rng.between(400, 1000);
  return {up, rng.between(300, 1000)};
}

void place_region(const SimulatedPromoter& promoter, const CompositionModel& composition, SenseStrand& strand,
                  CounterRng& rng) {
  const Extent extent = draw_extent(promoter, rng);
  std::string region(static_cast<std::size_t>(extent.up + extent.down), 'A');
  composition.fill(region, promoter.tata ? tata_class : island_class, rng.next_u64());
  strand.place(-extent.up, region);
}

// First exon and donor site: downstream differs from upstream, as it does in genes.
void place_donor_site(SenseStrand& strand, CounterRng& rng) {
  const std::int64_t exon_length = rng.between(100, 900);
  strand.place(exon_length, draw_element("MAGGTRAGT", rng));
}

void place_tata_box(SenseStrand& strand, CounterRng& rng) {
  const std::int64_t offset = rng.between(-33, -29);
  strand.place(offset, draw_element("TATAWAAR", rng));
}

// GC boxes on either strand, and in three of ten the downstream promoter element.
void place_island_core(SenseStrand& strand, CounterRng& rng) {
  const std::int64_t boxes = rng.between(1, 3);
  for (std::int64_t i = 0; i < boxes; ++i) {
    const std::string box = draw_element("GGGGCGGGGC", rng);
    const std::int64_t offset = -60 - 30 * i - rng.between(0, 15);
    strand.place(offset, rng.below(2) == 0 ? box : reverse_complement(box));
  }
  if (rng.below(10) < 3) strand.place(28, draw_element("RGWCGTG", rng));
}

// The initiator, its A at the TSS.
void place_initiator(SenseStrand& strand, CounterRng& rng) {
  if (rng.below(10) < 7) strand.place(-2, draw_element("YYANWYY", rng));
}

}  // namespace

std::string draw_promoter(const SimulatedPromoter& promoter, const CompositionModel& composition,
                          CounterRng& rng) {
  SenseStrand strand;
  place_region(promoter, composition, strand, rng);
  if (promoter.is_main()) place_donor_site(strand, rng);
  if (promoter.tata) {
    place_tata_box(strand, rng);
  } else {
    place_island_core(strand, rng);
  }
  place_initiator(strand, rng);
  return strand.bases();
}

}  // namespace bigbird
