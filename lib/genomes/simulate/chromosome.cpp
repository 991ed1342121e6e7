// A simulated chromosome from its isochores; see chromosome.h.
#include "lib/genomes/simulate/chromosome.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/genomes/simulate/composition.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

// In one base of this many, a planted motif is drawn from all four bases: 4 of 100.
constexpr int motif_noise_percent = 4;
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

// The promoter's bases on the sense strand, 2 * promoter_reach of them with the TSS at index promoter_reach;
// N where the genome stays as it is. A main promoter brings its island (or GC-rich stretch, for TATA) and its
// first exon's donor site; an alternative one only its core.
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

// What lies in an isochore; positions are relative to its first base.
struct IsochoreContent {
  std::vector<SimulatedPromoter> promoters;  // by position; genes are counted from 0
  SimulatedPeaks peaks;                      // each by position
  std::int64_t genes = 0;
  std::int64_t repeat_bases = 0;
};

// GC classes as frequent as in human: poor ones more than rich ones.
constexpr std::array<std::int64_t, 5> class_percents = {20, 32, 24, 15, 9};
// Bases on each side of a distal site that its factors and peaks may need.
constexpr std::int64_t distal_reach = 250;

// Distances in bp between the TSS and the factors that bind there: the first behind the GC boxes, each in a
// stretch of its own, so that none overwrites another.
constexpr std::int64_t first_factor_distance = 165;
constexpr std::int64_t factor_stretch = 25;
// Bases from the first base of a factor's place to its last one, whatever the length of its motif.
constexpr std::int64_t factor_place = 15;

// Draws in one order, which makes the bases a function of the key: a step that draws more or less changes all
// that come after it.
class IsochoreMaker {
 public:
  IsochoreMaker(const GenomeDesign& design, std::span<char> bases, std::uint64_t key)
      : design_(design),
        bases_(bases),
        rng_(design.seed, Purpose::simulate_annotation, key),
        gc_class_(draw_by_percent(class_percents, rng_)) {}

  IsochoreContent make() {
    design_.composition.fill(bases_, gc_class_, rng_.next_u64());
    content_.repeat_bases = design_.repeats.scatter(bases_, gc_class_, rng_);
    scatter_islands();
    place_genes();
    place_distal_sites();
    place_gap();
    sort_by_position();
    return std::move(content_);
  }

 private:
  std::int64_t length() const { return static_cast<std::int64_t>(bases_.size()); }
  bool draw_percent(int percent) { return rng_.between(1, 100) <= percent; }

  void scatter_islands() {
    for (std::int64_t at = rng_.between(0, 100'000); at < length(); at += rng_.between(20'000, 180'000)) {
      const std::int64_t size = std::min(rng_.between(300, 1500), length() - at);
      design_.composition.fill(bases_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size)),
                               island_class, rng_.next_u64());
    }
  }

  void add_peak(std::size_t track, std::int64_t middle) {
    const std::int64_t left = rng_.between(75, 200);
    const std::int64_t right = rng_.between(75, 200);
    SimulatedPeak peak;
    peak.begin = std::max<std::int64_t>(0, middle - left);
    peak.end = std::min(length(), middle + right);
    peak.summit = middle - peak.begin;
    peak.score = static_cast<int>(rng_.between(200, 1000));
    content_.peaks[track].push_back(peak);
  }

  // A factor's motif on either strand with its first base at `at`, and its peak.
  void plant_factor(std::size_t factor, std::int64_t at) {
    const std::string motif = draw_motif(simulated_factors[factor].consensus, motif_noise_percent, rng_);
    const std::string planted = rng_.below(2) == 0 ? motif : reverse_complement(motif);
    std::copy(planted.begin(), planted.end(), bases_.begin() + at);
    add_peak(factor, at + static_cast<std::int64_t>(motif.size()) / 2);
  }

  // A gene in each slot, some with an alternative promoter downstream of the main one.
  void place_genes() {
    const std::int64_t slot = 1'000'000 / design_.promoters_per_mb;
    // TSS of neighbours at least 10 kb apart where the slots allow it: 5 kb of window on either side.
    const std::int64_t jitter = std::max<std::int64_t>(0, slot - 10'000);
    for (std::int64_t begin = 0; begin + slot <= length(); begin += slot) {
      const std::int64_t tss = begin + std::min(slot / 2, std::int64_t{5000}) + rng_.between(0, jitter);
      if (tss < promoter_reach || tss + 2 * promoter_reach > length()) continue;
      SimulatedPromoter main;
      main.tss = tss;
      main.strand = rng_.below(2) == 0 ? '+' : '-';
      main.tata = rng_.below(10) < 3;
      main.gene = content_.genes++;
      plant_promoter(main);
      SimulatedPromoter alternative = main;
      alternative.rank = 2;
      alternative.tata = false;
      alternative.tss += (main.strand == '+' ? 1 : -1) * rng_.between(600, 1000);
      const bool has_alternative = rng_.below(20) < 3;
      if (has_alternative && alternative.tss >= promoter_reach) plant_promoter(alternative);
    }
  }

  void plant_promoter(const SimulatedPromoter& promoter) {
    write_promoter(promoter, draw_promoter(promoter, design_.composition, rng_));
    bind_promoter_factors(promoter);
    if (rng_.below(10) < 9) add_peak(open_chromatin_track, promoter.tss);
    content_.promoters.push_back(promoter);
  }

  // Onto the genome: the sense strand's TSS becomes base promoter.tss.
  void write_promoter(const SimulatedPromoter& promoter, std::string sense) {
    const bool forward = promoter.strand == '+';
    const std::int64_t begin = promoter.tss - promoter_reach + (forward ? 0 : 1);
    if (!forward) sense = reverse_complement(sense);
    for (std::size_t i = 0; i < sense.size(); ++i) {
      if (sense[i] != 'N') bases_[static_cast<std::size_t>(begin) + i] = sense[i];
    }
  }

  void bind_promoter_factors(const SimulatedPromoter& promoter) {
    std::int64_t distance = first_factor_distance;  // upstream
    for (std::size_t factor = 0; factor < simulated_factors.size(); ++factor) {
      if (!simulated_factors[factor].at_promoters) continue;
      if (draw_percent(simulated_factors[factor].percent)) {
        plant_factor(factor, promoter.strand == '+' ? promoter.tss - distance
                                                    : promoter.tss + distance - factor_place);
      }
      distance += factor_stretch;
    }
  }

  bool near_promoter(std::int64_t at) const {
    return std::any_of(content_.promoters.begin(), content_.promoters.end(),
                       [&](const SimulatedPromoter& promoter) {
                         return std::abs(promoter.tss - at) < promoter_reach + distal_reach;
                       });
  }

  void place_distal_sites() {
    for (std::int64_t at = rng_.between(distal_reach, 16'000); at + distal_reach < length();
         at += rng_.between(1000, 16'000)) {
      if (!near_promoter(at)) bind_distal_factors(at);
    }
  }

  // Open chromatin around `at`, where any factor binds.
  void bind_distal_factors(std::int64_t at) {
    constexpr std::int64_t before_middle = 75;
    constexpr std::int64_t stretch = 30;  // of a factor
    std::int64_t next = at - before_middle;
    for (std::size_t factor = 0; factor < simulated_factors.size(); ++factor) {
      if (simulated_factors[factor].at_promoters || !draw_percent(simulated_factors[factor].percent))
        continue;
      plant_factor(factor, next);
      next += stretch;
    }
    const bool any = next > at - before_middle;
    if (any) add_peak(open_chromatin_track, at);
  }

  // An N gap in one isochore of six, in its first tenth; what was planted there goes.
  void place_gap() {
    const bool has_gap = rng_.between(0, 5) == 0;
    const std::int64_t size = rng_.between(50, std::max<std::int64_t>(50, length() / 10));
    if (has_gap) clear_beginning(std::min(size, length()));
  }

  // Turns the bases before `end` into N and forgets what reaches into them.
  void clear_beginning(std::int64_t end) {
    std::fill_n(bases_.begin(), end, 'N');
    for (auto& track : content_.peaks) {
      std::erase_if(track, [&](const SimulatedPeak& peak) { return peak.begin < end; });
    }
    std::erase_if(content_.promoters,
                  [&](const SimulatedPromoter& promoter) { return promoter.tss - promoter_reach < end; });
  }

  void sort_by_position() {
    for (auto& track : content_.peaks) {
      std::sort(track.begin(), track.end(), [](const SimulatedPeak& a, const SimulatedPeak& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
      });
    }
    std::sort(content_.promoters.begin(), content_.promoters.end(),
              [](const SimulatedPromoter& a, const SimulatedPromoter& b) { return a.tss < b.tss; });
  }

  const GenomeDesign& design_;
  std::span<char> bases_;
  CounterRng rng_;
  std::size_t gc_class_;
  IsochoreContent content_;
};

// Fills `bases` with background, repeats, CpG islands, distal factor sites and promoters; in one of six
// isochores an N gap takes the place of the first of them. Promoters stand in slots of equal size, so that
// windows of -5,000..+3,000 around the TSS of neighbouring genes do not overlap at up to 100 promoters per
// Mb. `key` names the draw.
IsochoreContent make_isochore(const GenomeDesign& design, std::span<char> bases, std::uint64_t key) {
  return IsochoreMaker(design, bases, key).make();
}

constexpr std::int64_t shortest_isochore = 40'000;

struct IsochorePlace {
  std::int64_t begin = 0;
  std::int64_t length = 0;
};

std::vector<IsochorePlace> lay_isochores(CounterRng& rng, std::int64_t length) {
  std::vector<IsochorePlace> isochores;
  std::int64_t at = 0;
  while (at < length) {
    const std::int64_t drawn = rng.between(shortest_isochore, shortest_isochore << rng.below(4));
    // What is left at the end joins the last isochore when it would be too short for one.
    const std::int64_t taken = length - at - drawn < shortest_isochore ? length - at : drawn;
    isochores.push_back({at, taken});
    at += taken;
  }
  return isochores;
}

// Adds what lies in an isochore and outside of [0, telomere) and [length - telomere, length).
void add_content(const IsochoreContent& content, std::int64_t offset, std::int64_t telomere,
                 SimulatedChromosome& chromosome) {
  const auto length = static_cast<std::int64_t>(chromosome.bases.size());
  const auto in_telomere = [&](std::int64_t begin, std::int64_t end) {
    return begin < telomere || end > length - telomere;
  };
  for (SimulatedPromoter promoter : content.promoters) {
    promoter.tss += offset;
    promoter.gene += chromosome.genes;
    if (in_telomere(promoter.tss - promoter_reach, promoter.tss + promoter_reach)) continue;
    chromosome.promoters.push_back(promoter);
  }
  for (std::size_t track = 0; track < simulated_tracks; ++track) {
    for (SimulatedPeak peak : content.peaks[track]) {
      peak.begin += offset;
      peak.end += offset;
      if (!in_telomere(peak.begin, peak.end)) chromosome.peaks[track].push_back(peak);
    }
  }
  chromosome.genes += content.genes;
  chromosome.repeat_bases += content.repeat_bases;
}

}  // namespace

SimulatedChromosome simulate_chromosome(const GenomeDesign& design, std::uint64_t chromosome,
                                        std::int64_t length) {
  SimulatedChromosome result;
  result.bases.resize(static_cast<std::size_t>(length));
  CounterRng rng(design.seed, Purpose::simulate_genome, chromosome);
  const std::vector<IsochorePlace> isochores = lay_isochores(rng, length);
  std::vector<IsochoreContent> contents(isochores.size());
  kernels::parallel_for(isochores.size(), [&](std::size_t i) {
    throw_if_cancelled();
    const std::span<char> bases(result.bases.data() + isochores[i].begin,
                                static_cast<std::size_t>(isochores[i].length));
    contents[i] = make_isochore(design, bases, (chromosome << 32) + i);
  });
  const std::int64_t telomere = std::min<std::int64_t>(10'000, length / 100);
  std::fill_n(result.bases.begin(), telomere, 'N');
  std::fill_n(result.bases.end() - telomere, telomere, 'N');
  for (std::size_t i = 0; i < isochores.size(); ++i) {
    add_content(contents[i], isochores[i].begin, telomere, result);
  }
  result.gap_bases = std::count(result.bases.begin(), result.bases.end(), 'N');
  return result;
}

}  // namespace bigbird
