// A simulated chromosome from its isochores; see chromosome.h.
#include "lib/genomics/simulate/chromosome.h"

#include <algorithm>
#include <span>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/genomics/simulate/isochore.h"

namespace bigbird {
namespace {

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
