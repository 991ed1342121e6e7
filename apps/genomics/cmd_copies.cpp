// `bigbird copies`: what a held-out side of a genome has in near-copies on the other side.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "lib/core/log.h"
#include "lib/genomes/copies/copies.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"

namespace bigbird::apps {
namespace {

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

int cmd_copies(int argc, char** argv) {
  Verb verb("copies", "Find the regions of a held-out side of a genome with a near-copy on the other side.",
            {"bigbird copies -f demo-output/genome/genome.fa.gz --of chr3 -o copies.bed",
             ("bigbird copies -f demo-output/genome/genome.fa.gz --of chr3:1-200,000 --in "
              "chr1,chr2:1-500,000"),
             ("bigbird chromatin evaluate -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --exclude copies.bed -o without-copies.json")});
  CopyOptions options;
  std::string output = "-";
  std::string json;
  verb.add_required("-f,--fasta-ref FASTA", options.fasta, "Genome (FASTA with .fai)");
  verb.add_required(
          "--of REGIONS", options.of,
          "Held-out side: contigs and 1-based regions, separated by commas; rest: all that is not in --in")
      ->join(',');
  verb.add_option("--in REGIONS", options.in, "Side that was learned from; rest: all that is not held out")
      ->join(',');
  verb.add_option("-o,--output BED", output,
                  "Held-out regions with their partners (BED6+4); .gz is BGZF, - is stdout");
  verb.add_option("--summary FILE", json, "JSON of the bases and regions of each contig");
  verb.add_option(
      "--identity FRACTION", options.identity,
      "Identity of a near-copy: 1 - edits / window, an edit being a base replaced, left out or put in");
  verb.add_count("--window", options.window, "Bases of a window");
  verb.add_count("--step", options.step, "Bases from one window to the next");
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;
  OutputSet outputs({{"--output", output}, {"--summary", json}});
  const CopySummary summary = find_copies(options);
  const Provenance made = verb.made_from(options.fasta);
  write_copies(output, summary, verb.head_of(output, made));
  if (!json.empty()) write_text_atomic(json, copies_json(summary, options, verb.json_of(made)));
  outputs.commit();
  for (const CopySummary::Contig& contig : summary.contigs) {
    log_info(fmt::format("{}: {} of {} bases ({:.2f} %) in {} regions", contig.name, contig.copied,
                         contig.bases, percent(contig.copied, contig.bases), contig.regions));
  }
  log_info(fmt::format("{} of {} held-out bases ({:.2f} %) have a near-copy, in {} regions; {} of {} windows",
                       summary.copied, summary.bases, percent(summary.copied, summary.bases),
                       summary.regions.size(), summary.copied_windows, summary.windows));
  verb.set_throughput(static_cast<double>(summary.bases), "bp");
  return 0;
}

}  // namespace bigbird::apps
