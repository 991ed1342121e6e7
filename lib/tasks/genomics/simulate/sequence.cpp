// Isochores, islands, promoters and factor sites of a simulated chromosome; see sequence.h.
#include "lib/tasks/genomics/simulate/sequence.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

constexpr std::int64_t isochore_unit = 40'000;
constexpr std::int64_t promoter_reach = 1500;  // bases around a TSS that planting may change
constexpr std::int64_t distal_reach = 250;
constexpr int motif_noise_percent = 4;

struct Isochore {
  std::int64_t begin = 0;
  std::int64_t length = 0;
};

// What one task makes; positions are relative to the isochore.
struct Planted {
  std::vector<SimulatedPromoter> promoters;
  std::int64_t genes = 0;
  std::array<std::vector<SimulatedPeak>, simulated_tracks> peaks;
  std::int64_t repeat_bases = 0;
};

class IsochoreWriter {
 public:
  IsochoreWriter(const GenomeDesign& design, std::span<char> bases, std::uint64_t key)
      : design_(design), bases_(bases), rng_(design.seed, Purpose::simulate_annotation, key) {
    // GC classes as frequent as in human: poor ones more than rich ones.
    constexpr std::array<std::int64_t, 5> share = {20, 32, 24, 15, 9};
    std::int64_t draw = rng_.between(1, 100);
    while (draw > share[class_]) draw -= share[class_++];
  }

  Planted write() {
    design_.composition.fill(bases_, class_, rng_.next_u64());
    planted_.repeat_bases = design_.repeats.scatter(bases_, class_, rng_);
    scatter_islands();
    place_promoters();
    place_distal_sites();
    place_gap();
    for (auto& track : planted_.peaks) {
      std::sort(track.begin(), track.end(), [](const SimulatedPeak& a, const SimulatedPeak& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
      });
    }
    std::sort(planted_.promoters.begin(), planted_.promoters.end(),
              [](const SimulatedPromoter& a, const SimulatedPromoter& b) { return a.tss < b.tss; });
    return std::move(planted_);
  }

 private:
  std::int64_t length() const { return static_cast<std::int64_t>(bases_.size()); }

  void put(std::int64_t at, std::string_view text) {
    std::copy(text.begin(), text.end(), bases_.begin() + at);
  }

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
    planted_.peaks[track].push_back(peak);
  }

  // A motif on either strand with its first base at `at`, and its peak.
  void plant_factor(std::size_t factor, std::int64_t at) {
    const std::string motif = draw_motif(simulated_factors[factor].consensus, motif_noise_percent, rng_);
    put(at, rng_.below(2) == 0 ? motif : reverse_complement(motif));
    add_peak(factor, at + static_cast<std::int64_t>(motif.size()) / 2);
  }

  void place_promoters() {
    const std::int64_t slot = 1'000'000 / design_.promoters_per_mb;
    // TSS of neighbours at least 10 kb apart where the slots allow it: 5 kb of window on either side.
    const std::int64_t jitter = std::max<std::int64_t>(0, slot - 10'000);
    for (std::int64_t begin = 0; begin + slot <= length(); begin += slot) {
      const std::int64_t tss = begin + std::min(slot / 2, std::int64_t{5000}) + rng_.between(0, jitter);
      if (tss < promoter_reach || tss + 2 * promoter_reach > length()) continue;
      SimulatedPromoter promoter;
      promoter.tss = tss;
      promoter.strand = rng_.below(2) == 0 ? '+' : '-';
      promoter.tata = rng_.below(10) < 3;
      promoter.gene = planted_.genes++;
      plant_promoter(promoter);
      SimulatedPromoter second = promoter;
      second.rank = 2;
      second.tata = false;
      second.tss += (promoter.strand == '+' ? 1 : -1) * rng_.between(600, 1000);
      if (rng_.below(20) < 3 && second.tss >= promoter_reach) plant_promoter(second);
    }
  }

  // Element positions are counted on the sense strand from the TSS (0). The main promoter of a gene brings
  // its island and first exon; an alternative one only its core.
  void plant_promoter(const SimulatedPromoter& promoter) {
    const bool main = promoter.rank == 1;
    std::string sense(static_cast<std::size_t>(2 * promoter_reach), 'N');  // N: left as it is in the genome
    const auto place = [&](std::int64_t offset, std::string_view text) {
      sense.replace(static_cast<std::size_t>(promoter_reach + offset), text.size(), text);
    };
    const auto draw = [&](std::string_view consensus) {
      return draw_motif(consensus, motif_noise_percent, rng_);
    };
    const std::int64_t up = !main ? 200 : promoter.tata ? 250 : rng_.between(400, 1000);
    const std::int64_t down = !main ? 100 : promoter.tata ? 100 : rng_.between(300, 1000);
    std::string region(static_cast<std::size_t>(up + down), 'A');
    design_.composition.fill(region, promoter.tata ? 3 : island_class, rng_.next_u64());
    place(-up, region);
    if (main) {
      // First exon and donor site: downstream differs from upstream, as it does in genes.
      const std::int64_t exon = rng_.between(100, 900);
      place(exon, draw("MAGGTRAGT"));
    }
    if (promoter.tata) {
      const std::int64_t offset = rng_.between(-33, -29);
      place(offset, draw("TATAWAAR"));
    } else {
      const std::int64_t boxes = rng_.between(1, 3);
      for (std::int64_t i = 0; i < boxes; ++i) {
        const std::string box = draw("GGGGCGGGGC");
        const std::int64_t offset = -60 - 30 * i - rng_.between(0, 15);
        place(offset, rng_.below(2) == 0 ? box : reverse_complement(box));
      }
      if (rng_.below(10) < 3) place(28, draw("RGWCGTG"));  // DPE
    }
    if (rng_.below(10) < 7) place(-2, draw("YYANWYY"));  // initiator, A at the TSS

    // Onto the genome: the sense strand's TSS becomes base promoter.tss.
    const std::int64_t begin =
        promoter.strand == '+' ? promoter.tss - promoter_reach : promoter.tss - promoter_reach + 1;
    if (promoter.strand == '-') sense = reverse_complement(sense);
    for (std::size_t i = 0; i < sense.size(); ++i) {
      if (sense[i] != 'N') bases_[static_cast<std::size_t>(begin) + i] = sense[i];
    }
    // Factors bind in the 300 bases upstream of the GC boxes, each in its own stretch, so that none
    // overwrites another.
    std::int64_t stretch = 0;
    for (std::size_t factor = 0; factor < simulated_factors.size(); ++factor) {
      if (!simulated_factors[factor].at_promoters) continue;
      const std::int64_t offset = 165 + 25 * stretch++;
      const bool bound = rng_.between(1, 100) <= simulated_factors[factor].percent;
      if (bound)
        plant_factor(factor, promoter.strand == '+' ? promoter.tss - offset : promoter.tss + offset - 15);
    }
    if (rng_.below(10) < 9) add_peak(open_chromatin_track, promoter.tss);
    planted_.promoters.push_back(promoter);
  }

  bool near_promoter(std::int64_t at) const {
    return std::any_of(planted_.promoters.begin(), planted_.promoters.end(),
                       [&](const SimulatedPromoter& promoter) {
                         return std::abs(promoter.tss - at) < promoter_reach + distal_reach;
                       });
  }

  void place_distal_sites() {
    for (std::int64_t at = rng_.between(distal_reach, 16'000); at + distal_reach < length();
         at += rng_.between(1000, 16'000)) {
      if (near_promoter(at)) continue;
      std::int64_t next = at - 75;
      bool any = false;
      for (std::size_t factor = 0; factor < simulated_factors.size(); ++factor) {
        if (simulated_factors[factor].at_promoters ||
            rng_.between(1, 100) > simulated_factors[factor].percent)
          continue;
        plant_factor(factor, next);
        next += 30;
        any = true;
      }
      if (any) add_peak(open_chromatin_track, at);
    }
  }

  // An N gap in one isochore of six, in its first tenth; what was planted there goes.
  void place_gap() {
    const std::int64_t draw = rng_.between(0, 5);
    const std::int64_t size = rng_.between(50, std::max<std::int64_t>(50, length() / 10));
    if (draw == 0) clear(0, std::min(size, length()));
  }

 public:
  // Turns [begin, end) into N and forgets what lies there.
  void clear(std::int64_t begin, std::int64_t end) {
    std::fill(bases_.begin() + begin, bases_.begin() + end, 'N');
    const auto touches = [&](std::int64_t from, std::int64_t to) { return from < end && to > begin; };
    for (auto& track : planted_.peaks) {
      std::erase_if(track, [&](const SimulatedPeak& peak) { return touches(peak.begin, peak.end); });
    }
    std::erase_if(planted_.promoters, [&](const SimulatedPromoter& promoter) {
      return touches(promoter.tss - promoter_reach, promoter.tss + promoter_reach);
    });
  }

 private:
  const GenomeDesign& design_;
  std::span<char> bases_;
  CounterRng rng_;
  std::size_t class_ = 0;
  Planted planted_;
};

std::vector<Isochore> lay_isochores(CounterRng& rng, std::int64_t length) {
  std::vector<Isochore> isochores;
  std::int64_t at = 0;
  while (at < length) {
    const std::int64_t drawn = rng.between(isochore_unit, isochore_unit << rng.below(4));
    // What is left at the end joins the last isochore when it would be too short for one.
    const std::int64_t taken = length - at - drawn < isochore_unit ? length - at : drawn;
    isochores.push_back({at, taken});
    at += taken;
  }
  return isochores;
}

}  // namespace

SimulatedChromosome simulate_chromosome(const GenomeDesign& design, std::uint64_t chromosome,
                                        std::int64_t length) {
  SimulatedChromosome result;
  result.bases.resize(static_cast<std::size_t>(length));
  CounterRng rng(design.seed, Purpose::simulate_genome, chromosome);
  const std::vector<Isochore> isochores = lay_isochores(rng, length);
  std::vector<Planted> planted(isochores.size());
  kernels::parallel_for(isochores.size(), [&](std::size_t i) {
    throw_if_cancelled();
    const Isochore& isochore = isochores[i];
    const std::span<char> bases(result.bases.data() + isochore.begin,
                                static_cast<std::size_t>(isochore.length));
    planted[i] = IsochoreWriter(design, bases, (chromosome << 32) + i).write();
  });
  const std::int64_t telomere = std::min<std::int64_t>(10'000, length / 100);
  const auto in_telomere = [&](std::int64_t begin, std::int64_t end) {
    return begin < telomere || end > length - telomere;
  };
  std::fill_n(result.bases.begin(), telomere, 'N');
  std::fill_n(result.bases.end() - telomere, telomere, 'N');
  for (std::size_t i = 0; i < isochores.size(); ++i) {
    const std::int64_t shift = isochores[i].begin;
    const std::int64_t genes = result.genes;
    result.genes += planted[i].genes;
    result.repeat_bases += planted[i].repeat_bases;
    for (SimulatedPromoter promoter : planted[i].promoters) {
      promoter.tss += shift;
      promoter.gene += genes;
      if (!in_telomere(promoter.tss - promoter_reach, promoter.tss + promoter_reach))
        result.promoters.push_back(promoter);
    }
    for (std::size_t track = 0; track < simulated_tracks; ++track) {
      for (SimulatedPeak peak : planted[i].peaks[track]) {
        peak.begin += shift;
        peak.end += shift;
        if (!in_telomere(peak.begin, peak.end)) result.peaks[track].push_back(peak);
      }
    }
  }
  result.gap_bases = std::count(result.bases.begin(), result.bases.end(), 'N');
  return result;
}

}  // namespace bigbird
