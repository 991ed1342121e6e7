// `bigbird promoter build`: labelled windows around transcription start sites.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "apps/command_line.h"
#include "lib/core/log.h"
#include "lib/genomics/promoter/build.h"

namespace bigbird::apps {
namespace {

void report(const PromoterBuildOptions& options, const std::string& negatives,
            const PromoterBuildSummary& summary) {
  log_info(fmt::format("{} of {} TSS give a window; as many negatives{}, kind: {}", summary.promoters,
                       summary.rows, options.negatives.size() > 1 ? " of each kind" : "", negatives));
  const auto& steps = summary.genomic.by_gc_step;
  if (std::any_of(steps.begin(), steps.end(), [](std::int64_t count) { return count > 0; })) {
    log_info(fmt::format(
        "genomic negatives: GC within {:g} of their promoter's {}, relaxed {}, closest drawn {}; {} overlap "
        "another negative",
        options.gc_tolerance, steps[0], steps[1] + steps[2], steps[3], summary.genomic.overlapping));
  }
  for (const auto& [reason, count] : summary.dropped) log_info(fmt::format("dropped {}: {}", count, reason));
  for (const auto& sides : summary.sides) {
    std::string line;
    for (const auto& [side, count] : sides)
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", side, count);
    log_info("promoters by split: " + line);
  }
  std::int64_t checked = 0;
  bool leaks = false;
  for (const LeakReport& report : summary.leaks) {
    checked += report.examples;
    leaks = leaks || report.any();
  }
  log_info(fmt::format("{} groups stay together; leak check of {} examples: {}", summary.groups, checked,
                       leaks ? "LEAKS, see the manifest" : "none"));
}

void add_options(Verb& verb, PromoterBuildOptions& options, std::string& negatives, std::string& split) {
  verb.add_required(
      "--tss FILE", options.tss,
      "BED of 6 columns, one base wide; EPDnew's BED of 8, TSS from the thick range; SGA; or FPS");
  verb.add_required("-f,--fasta-ref FASTA", options.fasta, "Genome");
  verb.add_required("-o,--output DIR", options.output,
                    "Folder: train.tsv, valid.tsv, test.tsv, dropped.tsv, manifest.json");
  verb.add_option("--lift CHAIN", options.chain,
                  "Lift the TSS to the genome's assembly with this UCSC chain file first");
  verb.add_count("--left", options.left, "Bases before the TSS, on the sense strand");
  verb.add_count("--right", options.right, "Bases from the TSS on");
  verb.add_option("--max-n", options.max_n, "Drop windows with a larger fraction of N");
  verb.add_exclude(options.exclude, "promoters whose window touches them are dropped");
  verb.add_option("--negatives KIND[+KIND]", negatives,
                  "random: 12 of 20 blocks replaced by random bases; permute: 12 of 20 blocks permuted among "
                  "their places; dinucleotide: shuffled, dinucleotide counts kept; genomic: a window of the "
                  "same chromosome away from every TSS, with about the same fraction of G and C; "
                  "random+genomic: one of each");
  verb.add_count("--min-distance", options.min_distance,
                 "Bases between a genomic negative and any TSS of the file, used or not");
  verb.add_option(
      "--gc-tolerance", options.gc_tolerance,
      "Difference of the fractions of G and C allowed to a genomic negative; where none is found, 2.5 "
      "and 5 times as much, then the closest");
  verb.add_option(
      "--split UNIT", split,
      "promoter, gene, chromosome (80/10/10), kfold:K or kfold:K:UNIT; what stays on one side with its "
      "negatives. Promoters whose windows overlap or are equal always do");
  verb.add_flag(
      "--no-join{false}", options.join,
      "Split without regard to overlaps and equal sequences, as published splits were; leaks as a rule");
  verb.add_flag(
      "--allow-leaks", options.allow_leaks,
      "Write a data set that leaks between its sides, with a warning and the counts in its manifest");
  verb.add_seed();
  verb.add_threads();
  verb.add_force();
}

}  // namespace

int cmd_promoter_build(int argc, char** argv) {
  Verb verb("promoter build", "Cut windows around transcription start sites and make negatives for each.",
            {"bigbird promoter build --tss promoters.tss.bed -f genome.fa.gz -o promoters",
             ("bigbird promoter build --tss EPDnew_human_006_hg38.bed -f hg19.fa.gz --lift "
              "hg38ToHg19.over.chain.gz -o promoters"),
             ("bigbird promoter build --tss promoters.tss.bed -f genome.fa.gz -o folds --negatives permute "
              "--split kfold:5"),
             ("bigbird promoter build --tss promoters.tss.bed -f genome.fa.gz -o genomic --negatives genomic "
              "--split gene"),
             ("bigbird promoter build --tss promoters.tss.bed -f genome.fa.gz -o both --negatives "
              "random+genomic")});
  PromoterBuildOptions options;
  std::string negatives = "random";
  std::string split = "promoter";
  add_options(verb, options, negatives, split);
  if (!verb.parse(argc, argv)) return 0;

  options.negatives = parse_negative_kinds(negatives);
  options.split = parse_split(split);
  options.seed = verb.seed();
  options.replace = verb.force();
  options.with_provenance = verb.provenance();
  options.provenance = verb.made_from(options.fasta, {{"tss", options.tss, ""}});
  const PromoterBuildSummary summary = build_promoters(options);
  report(options, negatives, summary);
  verb.set_throughput(static_cast<double>(summary.promoters), "promoters");
  return 0;
}

}  // namespace bigbird::apps
