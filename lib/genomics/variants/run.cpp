// `bigbird variants`; see run.h.
#include "lib/genomics/variants/run.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/process_memory.h"
#include "lib/core/progress.h"
#include "lib/genomics/effect_scores.h"
#include "lib/genomics/variants/background.h"
#include "lib/genomics/variants/baselines.h"
#include "lib/genomics/variants/columns.h"
#include "lib/genomics/variants/score_writers.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/genomics/variants/zero_shot.h"
#include "lib/inference/model_identity.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/indexed_table.h"
#include "lib/parts/parts.h"

namespace bigbird {
namespace {

// Profiles that get columns of their own in a VCF or a table without being asked for.
constexpr std::size_t few_profiles = 8;

const char* mismatch_rule_name(RefMismatch rule) {
  if (rule == RefMismatch::use) return "use";
  return rule == RefMismatch::swap ? "swap" : "skip";
}

std::string contigs_digest(const std::vector<Contig>& contigs) {
  std::string text;
  for (const Contig& contig : contigs) text += contig.name + "\t" + std::to_string(contig.length) + "\n";
  return sha256_bytes(text);
}

// profiles: whose effects it holds; of a language model one, the size of its ratio.
std::unique_ptr<VariantBackground> open_background(const std::string& path, std::size_t profiles,
                                                   const ScoringContext& context) {
  if (path.empty()) return nullptr;
  return std::make_unique<VariantBackground>(path, profiles, context.origin);
}

std::unique_ptr<AlleleBaselines> open_baselines(const VariantRunOptions& options,
                                                const ScoringContext& context) {
  if (options.baselines.empty()) return nullptr;
  return std::make_unique<AlleleBaselines>(options.baselines, options.baseline_columns, context.fasta,
                                           context.contigs);
}

std::vector<std::size_t> choose_profiles(const VariantRunOptions& options,
                                         const std::vector<Profile>& profiles) {
  const bool matrices = options.format == VariantFormat::npy || options.format == VariantFormat::h5;
  std::vector<std::size_t> written =
      written_profiles(options.profiles, profiles, matrices ? profiles.size() : few_profiles);
  if (matrices && written.empty()) {
    throw_usage(message("`profiles` none leaves no matrix to write"),
                "write a table (tsv), or name profiles");
  }
  return written;
}

// What the scores depend on: a resumed run and the shards of a merge must agree in all of it. profiles: of
// the models; `language`: what a language model does, null of others.
std::string run_json(const VariantRunOptions& options, const ScoringContext& context,
                     kernels::Precision precision, std::size_t profiles,
                     const std::vector<std::size_t>& written, const nlohmann::ordered_json& language) {
  nlohmann::ordered_json json;
  json["version"] = bigbird_version();
  json["precision"] = kernels::name_of(precision);
  json["reference_sha256"] = genome_fingerprint(options.scoring.fasta);
  json["reference_contigs_sha256"] = contigs_digest(context.fasta.contigs());
  json["build"] = genome_build_name(build_of(context.fasta.contigs(), {}));
  json["models"] = context.models.digests;
  json["profiles"] = profiles;
  if (!language.is_null()) json["language"] = language;
  const bool both = context.models.strands == Strands::both;
  json["strands"] = both ? 2 : 1;
  if (!both) json["strand"] = name_of(context.models.strands);
  json["window"] = context.rules.window;
  json["offset"] = context.rules.offset;
  json["anchor"] = context.windows.anchor_bin ? "bin" : "variant";
  json["shifts"] = context.windows.shifts;
  json["shift_step"] = context.windows.shift_step;
  json["windows"] = context.origin.windows;
  json["left_aligned"] =
      true;  // runs of earlier versions scored insertions and deletions where a file had them
  json["ref_mismatch"] = mismatch_rule_name(context.rules.ref_mismatch);
  json["max_n"] = context.rules.max_n;
  json["n_matches"] = context.rules.n_matches;
  json["pass_only"] = context.rules.pass_only;
  json["written_profiles"] = written;
  json["background_sha256"] = options.background.empty() ? "" : background_digest(options.background);
  json["tracks"] = context.origin.tracks;
  json["baselines"] = AlleleBaselines::identities(options.baselines, options.baseline_columns);
  json["calibrated"] = false;
  return json_text(json, 2);
}

// Where things lay: for people; machines of one run may have them in other places.
std::string files_json(const VariantScoringOptions& scoring) {
  nlohmann::ordered_json json;
  json["input"] = scoring.input;
  json["regions"] = scoring.regions;
  json["reference"] = scoring.fasta;
  return json_text(json, 2);
}

VariantSummary empty_summary(const VariantRunOptions& options, const std::string& run) {
  VariantSummary summary;
  summary.input_file = digest_of_file(options.scoring.input);
  summary.files = files_json(options.scoring);
  summary.chunk = options.scoring.chunk;
  summary.format = variant_format_word(options.format);
  summary.run = run;
  summary.provenance = options.provenance_json;
  if (!options.shard.is_whole_run()) summary.shard = VariantShard{options.shard, {}, {}};
  return summary;
}

void keep_chunks(const VariantRunOptions& options, const VariantSummary& summary, Parts& parts) {
  if (!chunks_can_be_kept(options.output, options.restart)) return;
  parts.keep_chunks(variant_prefix(options.format, options.output) + ".parts",
                    fmt::format("{}\n{}\n{} of {}, chunks of {}\n", summary.run, summary.format,
                                options.shard.index, options.shard.count, options.scoring.chunk));
}

// Records of a shard, about, where an index tells; 0 when they are not known.
std::uint64_t expected_records(const VariantRunOptions& options) {
  if (options.scoring.input == "-" || !options.scoring.regions.empty()) return 0;
  return records_in_index(options.scoring.input).value_or(0) / options.shard.count;
}

using Records = std::vector<VcfRecord>;

// What scores the alleles of a run, and what is written of them.
struct RunScorer {
  std::unique_ptr<VariantBackground> background;  // null without one
  std::unique_ptr<AlleleBaselines> baselines;     // null without any
  std::unique_ptr<AlleleScorer> alleles;
  bool works_ahead = false;
  VariantColumns columns;
  // Of the models, and those that get numbers of their own; none of a language model.
  std::vector<Profile> profiles = {};
  std::vector<std::size_t> written = {};
  std::size_t values_per_profile = 4;
};

std::vector<std::string> ids_of(const std::unique_ptr<AlleleTracks>& tracks) {
  return tracks ? tracks->ids() : std::vector<std::string>();
}
std::vector<std::string> ids_of(const std::unique_ptr<AlleleBaselines>& baselines) {
  return baselines ? baselines->ids() : std::vector<std::string>();
}

// A run, from its inputs opened in this order to its outputs closed.
class VariantRun {
 public:
  VariantRun(const VariantRunOptions& options, ScoringContext& context, RunScorer scorer,
             VariantSummary summary, Parts& parts)
      : options_(options),
        context_(context),
        scorer_(std::move(scorer)),
        summary_(std::move(summary)),
        parts_(parts),
        input_(options.scoring, context_.fasta, context_.contigs),
        outputs_({options.format, options.output, options.provenance, options.provenance_in_tables,
                  scorer_.profiles, scorer_.written, scorer_.values_per_profile},
                 report_prefix(options.report, options.format, options.output), input_.reader(),
                 context_.fasta.contigs(), scorer_.columns) {}

  void score_input() {
    Progress progress("variants", expected_records(options_), "records");
    PartSteps<Records, ChunkResult> steps;
    steps.works_ahead = scorer_.works_ahead;
    steps.read = [&](Records& records) { return input_.next(records); };
    steps.key = [](const Records& records) { return ChunkKey{records.size(), records_digest(records)}; };
    steps.begin = [&](Records& records, std::function<void(ChunkResult)> done) {
      scorer_.alleles->add(records, std::move(done));
    };
    steps.finish = [&] { scorer_.alleles->finish(); };
    steps.write = [&](Records& records, const ChunkResult& result, const ChunkPlace& place) {
      const std::uint64_t scored_before = summary_.tally.scored;
      write(records, result);
      if (place.is_new) scored_ += summary_.tally.scored - scored_before;
      progress.advance(records.size());
    };
    parts_.run(steps);
  }

  VariantsDone finish() {
    if (parts_.records() == 0) log_warning(options_.scoring.input + ": no records");
    summary_.input_records = parts_.records();
    summary_.input_digest = parts_.input_digest();
    // A shard may be without a scored allele; all of them are looked at when they are merged.
    std::optional<Error> nothing;
    if (!summary_.shard) nothing = why_nothing_was_scored(summary_.tally, options_.scoring.input);
    if (!options_.provenance_json.empty()) {
      const ProcessCost cost = process_cost();
      summary_.cost = ScoringCost{scored_, cost.wall_seconds, cost.cpu_seconds, cost.peak_memory};
    }
    parts_.close(outputs_.files(), [&](OutputSet& outputs) {
      outputs_.close(summary_, nothing ? VariantOutputs::Scores::discard : VariantOutputs::Scores::keep,
                     outputs);
    });
    if (nothing) throw Error(*nothing);
    return {summary_.tally, scored_};
  }

 private:
  void write(const Records& records, const ChunkResult& result) {
    const VariantTally& tally = summary_.tally;
    const std::uint64_t alleles_before = tally.alleles;
    const std::uint64_t skipped_before = tally.skipped.total();
    context_.count(records, result, summary_.tally);
    if (scorer_.baselines) summary_.tally.count_baselines(result.records, scorer_.baselines->ids());
    for (std::size_t record = 0; record < records.size(); ++record) {
      outputs_.write(records[record], result.records[record]);
    }
    if (!summary_.shard) return;
    summary_.shard->rows.push_back(tally.alleles - alleles_before);
    summary_.shard->skipped_rows.push_back(tally.skipped.total() - skipped_before);
  }

  const VariantRunOptions& options_;
  ScoringContext& context_;
  RunScorer scorer_;
  VariantSummary summary_;
  Parts& parts_;
  VariantInput input_;
  VariantOutputs outputs_;
  std::uint64_t scored_ = 0;  // alleles, by this process
};

// Effects of all profiles are kept, whatever the model has.
std::vector<std::size_t> all_profiles(const SequenceScorer& scorer) {
  std::vector<std::size_t> all(scorer.outputs());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// Takes the first records of the input, `most` of them in all (0: no limit).
bool next_records(VariantInput& input, std::uint64_t taken, std::uint64_t most,
                  std::vector<VcfRecord>& records) {
  if (most > 0 && taken >= most) return false;
  if (!input.next(records)) return false;
  if (most > 0 && taken + records.size() > most) records.resize(most - taken);
  return true;
}

// `open` reads the weights, where there is something to score.
VariantsDone run_whole(const VariantRunOptions& options, ScoringContext& context, const std::string& run,
                       const std::function<RunScorer()>& open) {
  VariantSummary summary = empty_summary(options, run);
  Parts parts({options.scoring.chunk, options.shard, options.restart});
  keep_chunks(options, summary, parts);
  const std::string told = report_prefix(options.report, options.format, options.output) + ".summary.json";
  if (goes_on(options.restart) &&
      is_whole_run(told, variant_prefix(options.format, options.output), summary)) {
    parts.leave_whole(options.output);
    if (options.write_index) write_variant_index(options.output);
    return {read_variant_summary(told).tally, 0};  // nothing was scored now
  }
  VariantRun variants(options, context, open(), std::move(summary), parts);
  variants.score_input();
  const VariantsDone done = variants.finish();
  if (options.write_index) write_variant_index(options.output);
  return done;
}

// sizes: of an allele, into as many numbers as the background has profiles.
VariantTally run_background(const VariantBackgroundOptions& options, const ScoringContext& context,
                            AlleleScorer& scorer, std::size_t profiles,
                            const std::function<void(const AlleleResult&, std::vector<float>&)>& sizes) {
  const VariantScoringOptions& scoring = options.scoring;
  VariantInput input(scoring, context.fasta, context.contigs);
  BackgroundWriter writer(options.output, profiles);
  VariantTally tally;
  Progress progress("variants background", options.max_records, "records");
  std::vector<VcfRecord> records;
  std::vector<float> of_allele(profiles);
  while (next_records(input, tally.records, options.max_records, records)) {
    const ChunkResult result = scorer.score(records);
    context.count(records, result, tally);
    for (const std::vector<AlleleResult>& record : result.records) {
      for (const AlleleResult& allele : record) {
        if (allele.reason != SkipReason::none) continue;
        sizes(allele, of_allele);
        writer.add(of_allele, allele.tracks);
      }
    }
    progress.advance(records.size());
  }
  if (const auto nothing = why_nothing_was_scored(tally, scoring.input)) throw Error(*nothing);
  std::map<std::string, std::string> metadata;
  if (!options.provenance_json.empty()) metadata["provenance"] = options.provenance_json;
  writer.commit(context.origin, std::move(metadata));
  return tally;
}

}  // namespace

VariantsDone run_variants(const VariantRunOptions& options, SequenceScorer& scorer) {
  if (options.write_index) require_indexable(options.format, options.output);
  ScoringContext context(options.scoring, scorer);
  const std::vector<std::size_t> written = choose_profiles(options, scorer.profiles());
  const std::string run = run_json(options, context, scorer.precision(), scorer.outputs(), written, nullptr);
  return run_whole(options, context, run, [&] {
    scorer.open();
    auto background = open_background(options.background, scorer.outputs(), context);
    auto baselines = open_baselines(options, context);
    auto alleles =
        std::make_unique<ChunkScorer>(scorer, context.fasta, context.contigs,
                                      ChunkScorerOptions{context.rules, context.windows, written, true,
                                                         context.tracks.get(), baselines.get()},
                                      background.get());
    const std::size_t values = alleles->values_per_profile();
    VariantColumns columns(scorer.profiles(), alleles->groups(), written, values, ids_of(context.tracks),
                           ids_of(baselines));
    return RunScorer{std::move(background),
                     std::move(baselines),
                     std::move(alleles),
                     scorer.works_ahead(),
                     std::move(columns),
                     scorer.profiles(),
                     written,
                     values};
  });
}

VariantsDone run_variants(const VariantRunOptions& options, LanguageScorer& scorer) {
  if (options.write_index) require_indexable(options.format, options.output);
  if (options.format == VariantFormat::npy || options.format == VariantFormat::h5) {
    throw_usage("matrices are of profiles, which a language model does not have",
                "write a VCF or a table (tsv)");
  }
  if (!options.profiles.empty() && options.profiles != "none") {
    throw_usage(message("`profiles` {}: a language model has none", options.profiles),
                message("leave `profiles` out"));
  }
  ScoringContext context(options.scoring, models_of(scorer, options.scoring.windows));
  const std::string& ancestral = options.scoring.ancestral;
  const std::vector<ScoreColumn> scores = language_columns(scorer.options(), ancestral);
  nlohmann::ordered_json language = {{"passes", find_name(language_passes_names, scorer.options().passes)},
                                     {"distances", scorer.options().distances},
                                     {"columns", nlohmann::ordered_json::array()}};
  for (const ScoreColumn& column : scores) language["columns"].push_back(column.id);
  if (!ancestral.empty()) language["ancestral"] = ancestral;
  const std::string run = run_json(options, context, scorer.precision(), 0, {}, language);
  return run_whole(options, context, run, [&] {
    auto background = open_background(options.background, 1, context);
    auto baselines = open_baselines(options, context);
    open_language(scorer, context);
    auto alleles = std::make_unique<ZeroShotScorer>(
        scorer, context, ZeroShotOptions{!ancestral.empty(), true, baselines.get(), background.get()});
    VariantColumns columns(scores, background != nullptr, ids_of(context.tracks), ids_of(baselines));
    return RunScorer{std::move(background), std::move(baselines), std::move(alleles), scorer.works_ahead(),
                     std::move(columns)};
  });
}

VariantTally run_variant_background(const VariantBackgroundOptions& options, SequenceScorer& scorer) {
  const ScoringContext context(options.scoring, scorer);
  scorer.open();
  ChunkScorer alleles(scorer, context.fasta, context.contigs,
                      {context.rules, context.windows, all_profiles(scorer), false, context.tracks.get()},
                      nullptr);
  const std::size_t values = alleles.values_per_profile();
  return run_background(options, context, alleles, scorer.outputs(),
                        [values](const AlleleResult& allele, std::vector<float>& sizes) {
                          for (std::size_t profile = 0; profile < sizes.size(); ++profile) {
                            const float* of = allele.values.data() + profile * values;
                            sizes[profile] = effect_size(of[2], of[3]);
                          }
                        });
}

VariantTally run_variant_background(const VariantBackgroundOptions& options, LanguageScorer& scorer) {
  ScoringContext context(options.scoring, models_of(scorer, options.scoring.windows));
  open_language(scorer, context);
  ZeroShotScorer alleles(scorer, context, {});
  return run_background(options, context, alleles, 1,
                        [](const AlleleResult& allele, std::vector<float>& sizes) {
                          sizes[0] = std::abs(allele.language.front());
                        });
}

}  // namespace bigbird
