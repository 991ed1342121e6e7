// `bigbird promoter scan`: a promoter model along a genome, as a track and as called promoters.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "apps/work_options.h"
#include "kernels/backend.h"
#include "lib/core/log.h"
#include "lib/genomics/promoter/scan.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/model/folder/model_folder.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t positions_of_a_chunk = 8192;

void say_evaluation(const char* strand, const CallEvaluation& evaluation, std::int64_t within) {
  log_info(fmt::format(
      "{}: {} of {} TSS have a call within {} bp (recall {:.4f}), {} of {} calls a TSS (precision {:.4f})",
      strand, evaluation.found, evaluation.tss, within, evaluation.recall(), evaluation.confirmed,
      evaluation.calls, evaluation.precision()));
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
    log_info("calls and their evaluation are those of all shards: `bigbird merge` writes them");
  } else {
    log_info(fmt::format("{} calls at or above {:g}", summary.calls, options.threshold));
  }
  if (summary.any_strand) {
    say_evaluation("either strand", *summary.any_strand, options.within);
    say_evaluation("same strand", summary.same_strand, options.within);
    if (summary.tss_unscored > 0) {
      log_info(fmt::format("{} TSS lie where nothing could be scored", summary.tss_unscored));
    }
  }
}

void add_options(Verb& verb, PromoterScanOptions& options, ScoringOptions& scoring, WorkOptions& work) {
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.models, "Model folder of promoter finetune; several are averaged")
      ->required()
      ->allow_extra_args(false)
      ->type_name("MODEL");
  app.add_option("-f,--fasta-ref", options.fasta, "Genome")->required()->type_name("FASTA");
  CLI::Option* region = app.add_option("-r,--region", options.region,
                                       "Only this region, or a list of them: chr1:1000-2000,chr2");
  app.add_option("-R,--regions-file", options.regions, "Only these regions")
      ->type_name("BED")
      ->excludes(region);
  app.add_option("--step", options.step, "Bases between scored positions, which are its multiples")
      ->transform(count_suffix());
  app.add_option("--left", options.left, "Bases before the TSS, where the model does not tell its window")
      ->transform(count_suffix());
  app.add_option("--right", options.right, "Bases from the TSS on, where the model does not tell")
      ->transform(count_suffix());
  app.add_option("--max-n", options.max_n, "Leave out windows with a larger fraction of N");
  scoring.add(verb, {.strands = Strands::both, .calibrated = true});
  const char* out = "Output";
  app.add_option("-o,--output", options.output,
                 "Track of the higher score: bigWig for .bw, else bedGraph; - is stdout")
      ->type_name("FILE")
      ->group(out);
  app.add_flag("--per-strand", options.per_strand,
               "Tracks of each strand too: NAME.plus.bw and NAME.minus.bw")
      ->group(out);
  app.add_option("--calls", options.calls, "Called promoters, one a peak; thick is the base of the TSS")
      ->type_name("BED")
      ->group(out);
  app.add_option("--threshold", options.threshold, "Lowest score of a call")->group(out);
  app.add_option("--merge-distance", options.merge_distance,
                 "Of calls so near to each other the strongest stays")
      ->transform(count_suffix())
      ->group(out);
  app.add_option("--summary", options.summary,
                 "Counts and evaluation as JSON; OUT.summary.json for a track in a file")
      ->type_name("JSON")
      ->group(out);
  app.add_option("--tss", options.tss, "Known TSS: recall and precision of the calls")
      ->type_name("FILE")
      ->group("Evaluation");
  app.add_option("--within", options.within, "Bases between a call and a TSS that agree")
      ->transform(count_suffix())
      ->group("Evaluation");
  for (const char* place : {"--calls", "--summary"}) verb.leave_out_of_provenance(place);
  work.add(verb);
  work.add_chunk(verb, "Positions", positions_of_a_chunk);
  add_machine(verb);
}

}  // namespace

int cmd_promoter_scan(int argc, char** argv) {
  Verb verb(
      "promoter scan", "Score every step of a genome with a promoter model and call promoters.",
      {"bigbird promoter scan -m run/final -f genome.fa.gz -r chr1:1-200000 --step 50 > scores.bedgraph",
       "bigbird promoter scan -m run/final -f genome.fa.gz --step 100 -o scores.bw --calls calls.bed",
       "bigbird promoter scan -m run/final -f genome.fa.gz --step 100 --shard 2/10 -o part2",
       "bigbird promoter scan -m run/final -f genome.fa.gz -r chr1 --step 100 -o scores.bedgraph.gz "
       "--calls calls.bed --tss promoters.tss.bed"});
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
  options.provenance = {bigbird_version(), verb.command(), std::nullopt, options.fasta, {}};
  if (!options.tss.empty()) options.provenance.inputs.push_back({"tss", options.tss, ""});
  check_scan_options(options);
  require_model_folders(options.models);
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  require_different(
      {{"--output", options.output}, {"--calls", options.calls}, {"--summary", options.summary}});
  const PromoterScanSummary summary = promoter_scan(options, *backend);
  if (summary.positions == 0) return 0;  // the output was whole already, or the shard has no chunk
  tell(options, summary);
  verb.set_throughput(static_cast<double>(summary.windows), "windows");
  verb.set_cost_of(static_cast<double>(summary.scored_now), "window");
  return 0;
}

}  // namespace bigbird::apps
