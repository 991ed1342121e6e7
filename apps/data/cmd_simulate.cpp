// `bigbird simulate`: a deterministic genome with promoters, peaks and variants.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "lib/core/log.h"
#include "lib/genomes/simulate/simulate.h"

namespace bigbird::apps {

int cmd_simulate(int argc, char** argv) {
  Verb verb("simulate",
            "Make a genome with repeats, promoters, factor peaks and variants; the same for the same seed.",
            {"bigbird simulate -o simulated",
             "bigbird simulate -o simulated-100M --bp 100M --chromosome-count 5 --seed 7"});
  SimulateOptions options;
  verb.add_required(
      "-o,--output DIR", options.output,
      "Folder: genome.fa.gz, promoters.tss.bed, peaks/*.narrowPeak.gz, variants.vcf.gz, simulate.json");
  verb.add_count("--bp", options.bases, "Length of the genome, bp (at least 100K a chromosome)");
  verb.add_option("--chromosome-count", options.chromosomes, "Chromosomes, 1 to 22, of nearly equal length");
  verb.add_option("--promoters-per-mb", options.promoters_per_mb,
                  "Genes with a promoter per million bases, 1 to 200");
  verb.add_seed();
  verb.add_threads();
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;

  options.seed = verb.seed();
  options.replace = verb.force();
  options.with_provenance = verb.provenance();
  options.provenance_in_tables = verb.provenance_in_tables();
  options.provenance = verb.made_from();
  const SimulateSummary summary = simulate_genome(options);
  std::int64_t peaks = 0;
  for (const std::int64_t track : summary.peaks) peaks += track;
  log_info(fmt::format(
      "{} bp ({:.1f} % repeats, {:.1f} % N), {} promoters of {} genes, {} peaks, {} variants in {}",
      summary.bases, 100.0 * static_cast<double>(summary.repeat_bases) / static_cast<double>(summary.bases),
      100.0 * static_cast<double>(summary.gap_bases) / static_cast<double>(summary.bases), summary.promoters,
      summary.genes, peaks, summary.snvs + summary.insertions + summary.deletions, options.output));
  verb.set_throughput(static_cast<double>(summary.bases), "bp");
  return 0;
}

}  // namespace bigbird::apps
