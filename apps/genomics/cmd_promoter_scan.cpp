// `bigbird promoter scan`: a promoter model along a genome, as a track and as called promoters.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/work_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/promoter/scan.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t positions_of_a_chunk = 8192;

void say_evaluation(const char* strand, const CallEvaluation& evaluation, std::int64_t within) {
  log_info(fmt::format(
      "{}: {} of {} TSS have a call within {} bp (recall {:.4f}), {} of {} calls a TSS (precision {:.4f})",
      strand, evaluation.found, evaluation.tss, within, evaluation.recall(), evaluation.confirmed,
      evaluation.calls, evaluation.precision()));
}

// "the model: average precision of positions 0.4211 (0.0312 of them are near a TSS), precision of calls ..."
void say_ranking(const ScanRanking& ranking, std::int64_t within) {
  const std::string by = ranking.by == "model"              ? "the model"
                         : ranking.by == "kmers"            ? "6-mers"
                         : ranking.promoters_have == "less" ? "a lower fraction of G and C"
                                                            : "the fraction of G and C";
  const std::string precision =
      std::isnan(ranking.calls.precision_at_recall_50)
          ? fmt::format("its calls find {:.4f} of the TSS", ranking.calls.recall)
          : fmt::format("precision of calls {:.4f} at a recall of 0.5", ranking.calls.precision_at_recall_50);
  log_info(fmt::format("by {}: average precision of positions within {} bp {:.4f} ({} of {} are), {}", by,
                       within, ranking.average_precision, ranking.near, ranking.positions, precision));
}

void tell(const PromoterScanOptions& options, const PromoterScanSummary& summary) {
  log_info(
      fmt::format("{} of {} positions scored, {} windows; left out: {} beyond their contig, {} rich in N",
                  summary.scored, summary.positions, summary.windows, summary.beyond_contig, summary.n_rich));
  if (summary.cut > 0) {
    log_warning(fmt::format(
        "{} windows have more tokens than the model takes and were cut at their right end", summary.cut));
  }
  if (options.work.shard_asked) {
    log_info("calls and their evaluation are of all shards: `bigbird merge` writes them");
  } else {
    log_info(fmt::format("{} calls at or above {:g}", summary.calls, options.threshold));
  }
  if (summary.any_strand) {
    say_evaluation("either strand", *summary.any_strand, options.within);
    say_evaluation("same strand", summary.same_strand, options.within);
    if (!options.exclude.empty()) {
      log_info(fmt::format("{} TSS and {} calls are in excluded regions and are not evaluated",
                           summary.tss_excluded, summary.calls_excluded));
    }
    for (const ScanRanking& ranking : summary.rankings) say_ranking(ranking, options.within);
    if (summary.tss_unscored > 0) {
      log_info(fmt::format("{} TSS are where nothing could be scored", summary.tss_unscored));
    }
  }
}

void add_options(Verb& verb, PromoterScanOptions& options, ScoringOptions& scoring, WorkOptions& work) {
  verb.add_required("-m,--model MODEL", options.models,
                    "Model folder of promoter finetune; several are averaged")
      ->allow_extra_args(false);
  verb.add_required("-f,--fasta-ref FASTA", options.fasta, "Genome");
  verb.add_option("-r,--region", options.region,
                  "Region to score, and no other, or a list of them: chr1:1000-2000,chr2");
  verb.add_option("-R,--regions-file BED", options.regions, "Regions to score, and no others")
      ->excludes("--region");
  verb.add_count("--step", options.step, "Bases between scored positions, which are its multiples");
  verb.add_count("--left", options.left, "Bases before the TSS, for a model whose folder has no window")
      ->default_str("");
  verb.add_count("--right", options.right, "Bases from the TSS on, for a model whose folder has no window")
      ->default_str("");
  verb.add_option("--max-n", options.max_n, "Largest fraction of N in a window; the others are not scored");
  scoring.add(verb, {.strands = usual_strands, .calibrated = true});
  const OptionGroup out(verb, "Output");
  verb.add_option("-o,--output FILE", options.output,
                  "Track of the higher score: bigWig for .bw, bedGraph for other names; - is stdout");
  verb.add_flag("--per-strand", options.per_strand,
                "Write tracks of each strand too: NAME.plus.bw and NAME.minus.bw");
  verb.add_option("--calls BED", options.calls, "Called promoters, one a peak; thick is the base of the TSS");
  verb.add_option("--threshold", options.threshold, "Lowest score of a call");
  verb.add_count("--merge-distance", options.merge_distance,
                 "Bases between calls that are merged: the strongest is kept");
  verb.add_option("--summary JSON", options.summary,
                  "JSON of counts and evaluation (default: OUT.summary.json of a track in a file)");
  verb.add_option(
          "--tss FILE", options.tss,
          "TSS that are known: recall and precision of the calls, compared with the fraction of G and C")
      ->group("Evaluation");
  verb.add_option(
          "--baseline-from DIR|FILE", options.baseline_from,
          "Training windows (folder of promoter build, or a labelled table): with --tss the model's calls are compared with a logistic regression on 6-mers too")
      ->group("Evaluation");
  verb.add_count("--within", options.within, "Bases between a call and a TSS that agree")
      ->group("Evaluation");
  verb.add_exclude(options.exclude, "TSS and calls in them are not evaluated")->group("Evaluation");
  for (const char* place : {"--calls", "--summary"}) verb.leave_out_of_provenance(place);
  work.add(verb);
  work.add_chunk(verb, "positions", positions_of_a_chunk);
  add_machine(verb);
}

}  // namespace

int cmd_promoter_scan(int argc, char** argv) {
  Verb verb(
      "promoter scan",
      "Score every step of a genome with a promoter model, as bedGraph or bigWig, and call promoters.\n\n"
      "Calls are measured against known TSS, by recall and precision.",
      {("bigbird promoter scan -m demo-output/finetune/final -f demo-output/genome/genome.fa.gz "
        "-r chr1:1-50000 --step 50 > scores.bedgraph"),
       ("bigbird promoter scan -m demo-output/finetune/final -f demo-output/genome/genome.fa.gz "
        "-r chr3:1-100000 --step 100 -o scores.bw --calls calls.bed"),
       ("for i in 1 2; do bigbird promoter scan -m demo-output/finetune/final -f "
        "demo-output/genome/genome.fa.gz -r chr3:1-100000 --step 100 --shard $i/2 -o part$i; done"),
       ("bigbird promoter scan -m demo-output/finetune/final -f demo-output/genome/genome.fa.gz "
        "-r chr3:1-100000 --step 100 -o scores.bedgraph.gz --calls calls.bed --tss "
        "demo-output/genome/promoters.tss.bed --baseline-from demo-output/promoters")});
  PromoterScanOptions options;
  ScoringOptions scoring;
  WorkOptions work;
  add_options(verb, options, scoring, work);
  if (!verb.parse(argc, argv)) return 0;

  options.work = work.work(verb);
  options.strands = scoring.strands();
  options.calibrated = scoring.calibrated();
  options.batch = scoring.batch();
  const bool to_a_file = options.output != "-" && !options.output.starts_with("/dev/");
  if (options.summary.empty() && to_a_file) options.summary = options.output + ".summary.json";
  options.with_provenance = verb.provenance();
  options.provenance_in_tables = verb.provenance_in_tables();
  options.provenance = verb.made_from(options.fasta);
  if (!options.tss.empty()) options.provenance.inputs.push_back({"tss", options.tss, ""});
  if (!options.baseline_from.empty()) {
    if (options.tss.empty()) throw_usage("--baseline-from needs an evaluation", "give --tss");
    options.provenance.inputs.push_back({"baseline", options.baseline_from, ""});
  }
  check_scan_options(options);
  const auto backend = verb.make_backend(options.models);
  require_different(
      {{"--output", options.output}, {"--calls", options.calls}, {"--summary", options.summary}});
  const PromoterScanSummary summary = promoter_scan(options, *backend);
  if (summary.positions == 0) return 0;  // the output was whole already, or the shard has no chunk
  for (const std::string& path : {options.output, options.calls}) verb.head_of(path, summary.provenance);
  tell(options, summary);
  verb.set_throughput(static_cast<double>(summary.windows), "windows");
  verb.set_cost_of(static_cast<double>(summary.scored_now), "window");
  return 0;
}

}  // namespace bigbird::apps
