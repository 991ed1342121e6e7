// `bigbird liftover`: coordinates of a BED or VCF carried to another assembly.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomes/liftover/liftover.h"

namespace bigbird::apps {

int cmd_liftover(int argc, char** argv) {
  Verb verb("liftover",
            "Carry a BED or VCF to another assembly, by a UCSC chain file; with reasons for "
            "what does not lift.",
            {("bigbird liftover --chain data/grch38/hg19ToHg38.over.chain.gz -f "
              "data/grch38/genome.fa.gz bigbird-demo/variants.vcf.gz -o variants.grch38.vcf.gz "
              "--unmapped lost.vcf"),
             ("bigbird liftover --chain data/grch38/hg19ToHg38.over.chain.gz peaks.bed -o "
              "peaks.grch38.bed --unmapped lost.bed"),
             ("bcftools view calls.bcf | bigbird liftover --chain data/grch37/hg38ToHg19.over.chain.gz "
              "-f data/grch37/genome.fa.gz -")});
  LiftoverOptions options;
  verb.add_required("IN FILE", options.input, "BED or VCF, plain or gzip; - is stdin");
  verb.add_required("--chain CHAIN", options.chain,
                    "UCSC chain file from the input's assembly to the new one");
  verb.add_option("-o,--output FILE", options.output, "File in the input's format; .gz is BGZF, - is stdout");
  verb.add_option("--unmapped FILE", options.unmapped, "Records that do not lift, each after a line #REASON");
  verb.add_option("-f,--fasta-ref FASTA", options.fasta,
                  "Genome of the new assembly: names contigs, checks REF, anchors flipped indels");
  verb.add_option("--min-match", options.min_match, "Fraction of a BED record's bases that must map",
                  CLI::Range(0.0, 1.0));
  verb.add_option("--bed-plus N", options.bed_columns,
                  "First columns that are BED, N; the others are kept as they are (broadPeak: 6)",
                  CLI::Range(3, 12));
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;
  options.provenance = verb.lines_of(verb.made_from(options.fasta, {{"chain", options.chain, ""}}));
  options.provenance_in_tables = verb.provenance_in_tables();
  const LiftoverSummary summary = lift_file(options);
  if (summary.format == LiftoverFormat::bed) verb.head_of(options.output, options.provenance);
  log_info(fmt::format("{} of {} records lifted", summary.lifted, summary.records));
  for (const auto& [reason, count] : summary.reasons) log_info(fmt::format("{}: {}", reason, count));
  if (!summary.in_order) {
    log_info(summary.format == LiftoverFormat::vcf
                 ? "the new positions are not in order: bcftools sort puts them so"
                 : "the new positions are not in order: sort -k1,1 -k2,2n puts them so");
  }
  verb.set_throughput(static_cast<double>(summary.records), "records");
  return 0;
}

}  // namespace bigbird::apps
