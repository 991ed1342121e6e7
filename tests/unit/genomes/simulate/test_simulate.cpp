// The simulator: same bytes for any thread count, and a genome that agrees with its annotation.
#include "lib/genomes/simulate/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/fasta.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

const SimulatedChromosome& chromosome() {
  static const SimulatedChromosome made = simulate_chromosome(GenomeDesign(3, 60), 0, 2'000'000);
  return made;
}

TEST(SimulateChromosome, IsAFunctionOfItsSeedForAnyNumberOfThreads) {
  const GenomeDesign design(3, 60);
  kernels::set_thread_count(1);
  const auto one = simulate_chromosome(design, 0, 600'000);
  kernels::set_thread_count(4);
  const auto four = simulate_chromosome(design, 0, 600'000);
  kernels::set_thread_count(0);
  EXPECT_EQ(one.bases, four.bases);
  EXPECT_NE(one.bases, simulate_chromosome(design, 1, 600'000).bases);
  EXPECT_NE(one.bases, simulate_chromosome(GenomeDesign(4, 60), 0, 600'000).bases);
}

TEST(SimulateChromosome, HasTheCompositionItPromises) {
  const std::string& bases = chromosome().bases;
  ASSERT_EQ(bases.size(), 2'000'000u);
  EXPECT_EQ(bases.find_first_not_of("ACGTN"), std::string::npos);
  EXPECT_EQ(bases.substr(0, 10'000), std::string(10'000, 'N'));
  EXPECT_EQ(bases.substr(1'990'000), std::string(10'000, 'N'));
  EXPECT_EQ(chromosome().gap_bases, std::count(bases.begin(), bases.end(), 'N'));
  EXPECT_NEAR(static_cast<double>(chromosome().repeat_bases) / 2e6, 0.45, 0.05);
  // Isochores: the GC share of 100-kb windows spreads far more than that of independent bases (0.0016) would.
  double low = 1;
  double high = 0;
  for (std::size_t at = 100'000; at + 100'000 <= 1'900'000; at += 100'000) {
    const std::string window = bases.substr(at, 100'000);
    const double gc = static_cast<double>(std::count(window.begin(), window.end(), 'G') +
                                          std::count(window.begin(), window.end(), 'C'));
    const double n = static_cast<double>(std::count(window.begin(), window.end(), 'N'));
    low = std::min(low, gc / (1e5 - n));
    high = std::max(high, gc / (1e5 - n));
  }
  EXPECT_GT(high - low, 0.05);
}

TEST(SimulateChromosome, PlantsTataBoxesUpstreamOfTheTssOnBothStrands) {
  std::map<char, int> with_box;
  std::map<char, int> promoters;
  for (const SimulatedPromoter& promoter : chromosome().promoters) {
    if (!promoter.tata) continue;
    ++promoters[promoter.strand];
    const std::int64_t begin = promoter.strand == '+' ? promoter.tss - 36 : promoter.tss + 20;
    std::string upstream = chromosome().bases.substr(static_cast<std::size_t>(begin), 17);
    if (promoter.strand == '-') upstream = reverse_complement(upstream);
    with_box[promoter.strand] += upstream.find("TATA") != std::string::npos ? 1 : 0;
  }
  for (const char strand : {'+', '-'}) {
    ASSERT_GT(promoters[strand], 3);
    EXPECT_GT(with_box[strand], promoters[strand] * 6 / 10);
  }
}

TEST(SimulateChromosome, CpgIslandsLieAtMostOtherPromoters) {
  double islands = 0;
  double others = 0;
  for (const SimulatedPromoter& promoter : chromosome().promoters) {
    if (promoter.tata || promoter.rank != 1) continue;
    const std::string around = chromosome().bases.substr(static_cast<std::size_t>(promoter.tss) - 300, 600);
    int cg = 0;
    for (std::size_t i = 0; i + 1 < around.size(); ++i) cg += around.compare(i, 2, "CG") == 0 ? 1 : 0;
    islands += cg > 36 ? 1 : 0;  // depleted sequence has under 12 CG in 600 bases
    ++others;
  }
  ASSERT_GT(others, 20);
  EXPECT_GT(islands / others, 0.8);
}

TEST(SimulateChromosome, PeaksAreOrderedInsideAndCentredOnTheirMotif) {
  for (const auto& track : chromosome().peaks) {
    EXPECT_GT(track.size(), 5u);
    for (std::size_t i = 0; i < track.size(); ++i) {
      EXPECT_GE(track[i].begin, 0);
      EXPECT_LT(track[i].begin + track[i].summit, track[i].end);
      EXPECT_LE(track[i].end, 2'000'000);
      if (i > 0) {
        EXPECT_LE(track[i - 1].begin, track[i].begin);
      }
    }
  }
  int with_motif = 0;
  for (const SimulatedPeak& peak : chromosome().peaks[0]) {  // CTCF: CCASYAGRKGGCRS
    const std::string site =
        chromosome().bases.substr(static_cast<std::size_t>(peak.begin + peak.summit) - 7, 14);
    with_motif += site.find("GGC") != std::string::npos || site.find("GCC") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(with_motif, static_cast<int>(chromosome().peaks[0].size()) * 8 / 10);
}

TEST(SimulateVariants, AgreeWithTheGenomeAndNeverOverlap) {
  const std::string& bases = chromosome().bases;
  const auto variants = simulate_variants(3, 0, bases);
  ASSERT_GT(variants.size(), 1500u);
  std::int64_t end = 0;
  std::set<std::string> kinds;
  for (const SimulatedVariant& variant : variants) {
    EXPECT_EQ(bases.substr(static_cast<std::size_t>(variant.position), variant.reference.size()),
              variant.reference);
    EXPECT_EQ(variant.reference.find('N'), std::string::npos);
    EXPECT_NE(variant.reference, variant.alternate);
    EXPECT_GE(variant.position, end);
    end = variant.position + static_cast<std::int64_t>(variant.reference.size());
    const bool two = variant.alternate.find(',') != std::string::npos;
    EXPECT_EQ(variant.allele_counts.size(), two ? 2u : 1u);
    kinds.insert(two                            ? "two"
                 : variant.reference.size() > 1 ? "deletion"
                 : variant.alternate.size() > 1 ? "insertion"
                                                : "snv");
    if (!two &&
        variant.reference.size() != variant.alternate.size()) {  // left-aligned: the last letters differ
      EXPECT_TRUE(variant.reference.back() != variant.alternate.back() || variant.position == 0 ||
                  bases[static_cast<std::size_t>(variant.position) - 1] == 'N')
          << variant.position;
    }
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"two", "deletion", "insertion", "snv"}));
}

TEST(Simulate, WritesAGenomeWhoseIndexFitsAndPromotersInside) {
  const testing::TemporaryFolder folder;
  SimulateOptions options;
  options.output = (folder / "sim").string();
  options.bases = 700'001;
  options.chromosomes = 2;
  const SimulateSummary summary = simulate_genome(options);
  EXPECT_EQ(summary.bases, 700'001);
  Fasta fasta((folder / "sim/genome.fa.gz").string());
  ASSERT_EQ(fasta.contigs().size(), 2u);
  EXPECT_EQ(fasta.contigs()[0].length, 350'001);
  const auto chr2 = simulate_chromosome(GenomeDesign(1, 60), 1, 350'000);
  EXPECT_EQ(fasta.fetch(1, 0, 350'000), chr2.bases);
  EXPECT_EQ(fasta.fetch(1, 123'450, 123'460), chr2.bases.substr(123'450, 10));
  const auto tss = read_bed((folder / "sim/promoters.tss.bed").string());
  EXPECT_EQ(static_cast<std::int64_t>(tss.size()), summary.promoters);
  EXPECT_GT(tss.size(), 10u);
  for (const BedRecord& row : tss) EXPECT_EQ(row.end - row.begin, 1);
  EXPECT_TRUE(file_exists((folder / "sim/variants.vcf.gz.tbi").string()));
  EXPECT_THROW(simulate_genome(options), Error);  // the folder holds something now
  options.replace = true;
  EXPECT_NO_THROW(simulate_genome(options));
}

TEST(Simulate, RefusesSizesItCannotMake) {
  const testing::TemporaryFolder folder;
  SimulateOptions options;
  options.output = (folder / "sim").string();
  options.bases = 1000;
  EXPECT_THROW(simulate_genome(options), Error);
  options.bases = 50'000'000;
  options.chromosomes = 23;
  EXPECT_THROW(simulate_genome(options), Error);
  options.chromosomes = 1;
  options.promoters_per_mb = 0;
  EXPECT_THROW(simulate_genome(options), Error);
  EXPECT_FALSE(folder_exists(options.output));
}

}  // namespace
}  // namespace bigbird
