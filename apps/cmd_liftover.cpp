// `bigbird liftover`: coordinates of a BED or VCF carried to another assembly.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/liftover/liftover.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {

int cmd_liftover(int argc, char** argv) {
  Verb verb(
      "liftover", "Carry the records of a BED or VCF to another assembly, by a UCSC chain file.",
      {"bigbird liftover --chain hg38ToHg19.over.chain.gz peaks.bed -o peaks.hg19.bed --unmapped lost.bed",
       "bigbird liftover --chain hg38ToHg19.over.chain.gz -f hg19.fa.gz calls.vcf.gz -o calls.hg19.vcf.gz",
       "bcftools view calls.bcf | bigbird liftover --chain hg38ToHg19.over.chain.gz -f hg19.fa.gz -"});
  LiftoverOptions options;
  CLI::App& app = verb.app();
  app.add_option("IN", options.input, "BED or VCF, plain or gzip; - is stdin")->required()->type_name("FILE");
  app.add_option("--chain", options.chain, "UCSC chain file from the input's assembly to the new one")
      ->required()
      ->type_name("CHAIN");
  app.add_option("-o,--output", options.output, "In the input's format; .gz is BGZF, - is stdout")
      ->type_name("FILE");
  app.add_option("--unmapped", options.unmapped, "What does not lift, each after a line #REASON")
      ->type_name("FILE");
  app.add_option("-f,--fasta-ref", options.fasta,
                 "Genome of the new assembly: names contigs, checks REF, anchors flipped indels")
      ->type_name("FASTA");
  app.add_option("--min-match", options.min_match, "Fraction of a BED record's bases that must map")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--bed-plus", options.bed_columns,
                 "The first N columns are BED; the others are kept as they are (broadPeak: 6)")
      ->check(CLI::Range(3, 12))
      ->type_name("N");
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;
  if (verb.provenance()) {
    options.provenance = provenance_lines(
        {bigbird_version(), verb.command(), std::nullopt, options.fasta, {{"chain", options.chain, ""}}});
  }
  const LiftoverSummary summary = lift_file(options);
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
