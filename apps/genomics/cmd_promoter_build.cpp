// `bigbird promoter build`: labelled windows around transcription start sites.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/promoter/build.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

void report(const PromoterBuildOptions& options, const PromoterBuildSummary& summary) {
  const SideCounts all = summary.all();
  log_info(fmt::format("{} of {} TSS give a window; {} negatives, kind: {}; promoters are {:.4g} of all",
                       summary.promoters, summary.rows, all.negatives, negative_plan_name(options.negatives),
                       all.prior()));
  const GenomicNegativeSummary& genomic = summary.genomic;
  const auto& steps = genomic.by_gc_step;
  if (genomic.drawn > 0 && options.gc_tolerance < 1) {
    log_info(
        fmt::format("genomic negatives: GC within {:g} of their promoter's {}, relaxed {}, closest drawn {}",
                    options.gc_tolerance, steps[0], steps[1] + steps[2], steps[3]));
  }
  if (genomic.drawn > 0) {
    log_info(fmt::format(
        "genomic negatives: {} bp or more from every TSS; {} overlap another negative; left out for want of room "
        "{}, as sequences of another side {}",
        negative_distance(options), genomic.overlapping, genomic.without_room, genomic.elsewhere));
  }
  const auto no_room = static_cast<std::int64_t>(summary.dropped.count("no genomic negative on its contig"));
  if (no_room * 10 > summary.rows || genomic.overlapping * 2 > genomic.drawn) {
    log_info(
        "there is little room for so many genomic negatives: smaller windows, fewer of them or a smaller --min-distance leave more");
  }
  if (summary.hard) {
    log_info(fmt::format("hard negatives: {} of {} calls, scores from {:.4g} up; {} are near a TSS",
                         summary.hard->taken, summary.hard->calls, summary.hard->lowest_score,
                         summary.hard->near_tss));
  }
  for (const auto& [reason, count] : summary.dropped) log_info(fmt::format("dropped {}: {}", count, reason));
  for (const auto& sides : summary.sides) {
    std::string line;
    for (const auto& [side, counts] : sides)
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", side, counts.promoters);
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

struct TypedWords {
  std::string negatives = "genomic";
  std::string split = "promoter";
};

void add_options(Verb& verb, PromoterBuildOptions& options, TypedWords& typed) {
  verb.add_required(
      "--tss FILE", options.tss,
      "TSS to cut around: BED of 6 columns, one base wide; EPDnew's BED of 8, TSS from the thick range; SGA; or FPS");
  verb.add_required("-f,--fasta-ref FASTA", options.fasta, "Genome");
  verb.add_required("-o,--output DIR", options.output,
                    "Folder: train.tsv, valid.tsv, test.tsv, dropped.tsv, manifest.json");
  verb.add_option("--lift CHAIN", options.chain,
                  "UCSC chain file that lifts the TSS to the genome's assembly first");
  verb.add_count("--left", options.left, "Bases before the TSS, on the sense strand");
  verb.add_count("--right", options.right, "Bases from the TSS on");
  verb.add_option("--max-n", options.max_n, "Largest fraction of N in a window; the others are dropped");
  verb.add_exclude(options.exclude,
                   "promoters whose window touches them are dropped, and no negative from the genome does");
  verb.add_option("--chromosomes A,B", options.chromosomes, "Contigs whose TSS are used (default: every one)")
      ->delimiter(',');
  const OptionGroup negatives(verb, "Negatives");
  verb.add_option("--negatives KINDS", typed.negatives,
                  "Kinds of negatives. genomic: a window of the same chromosome away from every TSS; random: "
                  "12 of 20 blocks replaced by random bases; permute: 12 of 20 blocks permuted among their "
                  "places; dinucleotide: shuffled, dinucleotide counts kept; hard: see --hard-negatives. "
                  "genomic:10: ten for each promoter; random:2+genomic:8: of both kinds");
  verb.add_count("--min-distance", options.min_distance,
                 "Bases between a genomic or hard negative and any TSS of the file, used or not (default: "
                 "half a window, at most 5,000)");
  verb.add_option(
      "--gc-tolerance", options.gc_tolerance,
      "Difference of the fractions of G and C allowed to a genomic negative; where none is found, "
      "2.5 and 5 times as much, then the closest. 1: composition is not matched, which is right "
      "for models that scan; 0.02 matches it");
  verb.add_option("--hard-negatives MODEL", options.hard_negatives,
                  "Model of promoter finetune that scans the training side; its strongest false calls become "
                  "training examples: as many for each promoter as hard:N of --negatives has, or 1");
  verb.add_count("--step", options.hard_step, "Bases between the positions that --hard-negatives scores");
  const OptionGroup sides(verb, "Sides");
  verb.add_option("--split-by UNIT", typed.split,
                  "Unit that stays on one side with its negatives: promoter, gene, chromosome (80/10/10), "
                  "kfold:K or kfold:K:UNIT. Promoters whose windows overlap or are equal always do");
  verb.add_option(
          "--valid REGIONS", options.sides.valid,
          "Contigs and 1-based regions of the validation side, such as chr7,chr8:1-2,000,000; a side that is not named is drawn from the rest, by --split-by")
      ->join(',');
  verb.add_option("--test REGIONS", options.sides.test,
                  "Contigs and 1-based regions of the test side, likewise")
      ->join(',');
  verb.add_flag(
      "--no-join{false}", options.join,
      "Split without regard to overlaps and equal sequences, as published splits were; leaks as a rule");
  verb.add_flag(
      "--allow-leaks", options.allow_leaks,
      "Write a data set that leaks between its sides, with a warning and the counts in its manifest");
  verb.add_seed();
  add_machine(verb);
  verb.add_force();
}

// Hard negatives are asked for by their kind, by their model, or by both.
void choose_negatives(PromoterBuildOptions& options, const std::string& words) {
  options.negatives = parse_negative_plan(words);
  const bool wanted = negatives_of(options.negatives, NegativeKind::hard) > 0;
  if (wanted && options.hard_negatives.empty()) {
    throw_usage("--negatives " + words + ": no model finds the hard ones",
                "give --hard-negatives MODEL, a folder of `bigbird promoter finetune`");
  }
  if (!wanted && !options.hard_negatives.empty()) options.negatives.push_back({NegativeKind::hard, 1});
}

}  // namespace

int cmd_promoter_build(int argc, char** argv) {
  Verb verb("promoter build",
            "Cut windows around transcription start sites and make negatives for each; sides are checked for "
            "leaks.",
            {("bigbird promoter build --tss demo-output/genome/promoters.tss.bed -f "
              "demo-output/genome/genome.fa.gz -o promoters"),
             ("bigbird promoter build --tss data/grch37/promoters.hg38.tss.bed -f "
              "data/grch37/genome.fa.gz --lift data/grch37/hg38ToHg19.over.chain.gz -o promoters-grch37"),
             ("bigbird promoter build --tss demo-output/genome/promoters.tss.bed -f "
              "demo-output/genome/genome.fa.gz -o sides --negatives genomic:10 --valid chr2 --test chr3"),
             ("bigbird promoter build --tss demo-output/genome/promoters.tss.bed -f "
              "demo-output/genome/genome.fa.gz -o harder --left 300 --right 100 --negatives genomic:10 "
              "--test chr3 --hard-negatives demo-output/finetune/final"),
             ("bigbird promoter build --tss demo-output/genome/promoters.tss.bed -f "
              "demo-output/genome/genome.fa.gz -o folds --negatives permute --split-by kfold:5")});
  PromoterBuildOptions options;
  TypedWords typed;
  add_options(verb, options, typed);
  if (!verb.parse(argc, argv)) return 0;

  choose_negatives(options, typed.negatives);
  options.split = parse_split(typed.split);
  options.seed = verb.seed();
  options.replace = verb.force();
  options.with_provenance = verb.provenance();
  options.provenance_in_tables = verb.provenance_in_tables();
  options.provenance = verb.made_from(options.fasta, {{"tss", options.tss, ""}});
  std::unique_ptr<kernels::Backend> backend;
  if (!options.hard_negatives.empty()) {
    backend = verb.make_backend({options.hard_negatives});
    const std::string& model = options.hard_negatives;
    options.provenance.inputs.push_back(model_input(model, ModelFolder(model).weights_digest()));
  }
  const PromoterBuildSummary summary = build_promoters(options, backend.get());
  report(options, summary);
  verb.set_throughput(static_cast<double>(summary.promoters), "promoters");
  return 0;
}

}  // namespace bigbird::apps
