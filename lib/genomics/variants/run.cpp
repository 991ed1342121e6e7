// `bigbird variants`; see run.h.
#include "lib/genomics/variants/run.h"

#include <fmt/format.h>

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
#include "lib/core/process_memory.h"
#include "lib/core/progress.h"
#include "lib/genomics/effect_scores.h"
#include "lib/genomics/variants/background.h"
#include "lib/genomics/variants/baselines.h"
#include "lib/genomics/variants/columns.h"
#include "lib/genomics/variants/score_writers.h"
#include "lib/genomics/variants/scoring.h"
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

std::unique_ptr<VariantBackground> open_background(const std::string& path, const ScoringContext& context) {
  if (path.empty()) return nullptr;
  return std::make_unique<VariantBackground>(path, context.scorer.outputs(), context.origin);
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

// What the scores depend on: a resumed run and the shards of a merge must agree in all of it.
std::string run_json(const VariantRunOptions& options, const ScoringContext& context,
                     const std::vector<std::size_t>& written) {
  nlohmann::ordered_json json;
  json["version"] = bigbird_version();
  json["precision"] = kernels::name_of(context.scorer.precision());
  json["reference_sha256"] = genome_fingerprint(options.scoring.fasta);
  json["reference_contigs_sha256"] = contigs_digest(context.fasta.contigs());
  json["build"] = genome_build_name(build_of(context.fasta.contigs(), {}));
  json["models"] = context.scorer.digests();
  json["profiles"] = context.scorer.outputs();
  json["strands"] = context.scorer.strands();
  if (context.scorer.strands() == 1) json["strand"] = name_of(context.scorer.strands_read());
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

// A run, from its inputs opened in this order to its outputs closed.
class VariantRun {
 public:
  VariantRun(const VariantRunOptions& options, ScoringContext& context,
             const std::vector<std::size_t>& written, VariantSummary summary, Parts& parts)
      : options_(options),
        context_(context),
        background_(open_background(options.background, context_)),
        baselines_(open_baselines(options, context_)),
        chunk_scorer_(
            context.scorer, context_.fasta, context_.contigs,
            {context_.rules, context_.windows, written, true, context_.tracks.get(), baselines_.get()},
            background_.get()),
        columns_(context.scorer.profiles(), chunk_scorer_.groups(), written,
                 chunk_scorer_.values_per_profile(),
                 context_.tracks ? context_.tracks->ids() : std::vector<std::string>(),
                 baselines_ ? baselines_->ids() : std::vector<std::string>()),
        summary_(std::move(summary)),
        parts_(parts),
        input_(options.scoring.input, options.scoring.regions, context_.fasta, context_.contigs,
               options.scoring.chunk),
        outputs_({options.format, options.output, options.provenance, options.provenance_in_tables,
                  context.scorer.profiles(), written, chunk_scorer_.values_per_profile()},
                 report_prefix(options.report, options.format, options.output), input_.reader(),
                 context_.fasta.contigs(), columns_) {}

  void score_input() {
    Progress progress("variants", expected_records(options_), "records");
    PartSteps<Records, ChunkResult> steps;
    steps.works_ahead = context_.scorer.works_ahead();
    steps.read = [&](Records& records) { return input_.next(records); };
    steps.key = [](const Records& records) { return ChunkKey{records.size(), records_digest(records)}; };
    steps.begin = [&](Records& records, std::function<void(ChunkResult)> done) {
      chunk_scorer_.add(records, std::move(done));
    };
    steps.finish = [&] { chunk_scorer_.finish(); };
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
    if (baselines_) summary_.tally.count_baselines(result.records, baselines_->ids());
    for (std::size_t record = 0; record < records.size(); ++record) {
      outputs_.write(records[record], result.records[record]);
    }
    if (!summary_.shard) return;
    summary_.shard->rows.push_back(tally.alleles - alleles_before);
    summary_.shard->skipped_rows.push_back(tally.skipped.total() - skipped_before);
  }

  const VariantRunOptions& options_;
  ScoringContext& context_;
  std::unique_ptr<VariantBackground> background_;  // null without one
  std::unique_ptr<AlleleBaselines> baselines_;     // null without any
  ChunkScorer chunk_scorer_;
  VariantColumns columns_;
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

// Adds |logFC * diff| and the tracks' values of every scored allele.
void add_effects(const ChunkResult& result, std::size_t profiles, std::size_t values_per_profile,
                 BackgroundWriter& writer) {
  std::vector<float> sizes(profiles);
  for (const std::vector<AlleleResult>& record : result.records) {
    for (const AlleleResult& allele : record) {
      if (allele.reason != SkipReason::none) continue;
      for (std::size_t profile = 0; profile < profiles; ++profile) {
        const float* values = allele.values.data() + profile * values_per_profile;
        sizes[profile] = effect_size(values[2], values[3]);
      }
      writer.add(sizes, allele.tracks);
    }
  }
}

}  // namespace

VariantsDone run_variants(const VariantRunOptions& options, SequenceScorer& scorer) {
  if (options.write_index) require_indexable(options.format, options.output);
  ScoringContext context(options.scoring, scorer);
  const std::vector<std::size_t> written = choose_profiles(options, scorer.profiles());
  VariantSummary summary = empty_summary(options, run_json(options, context, written));
  Parts parts({options.scoring.chunk, options.shard, options.restart});
  keep_chunks(options, summary, parts);
  const std::string told = report_prefix(options.report, options.format, options.output) + ".summary.json";
  if (goes_on(options.restart) &&
      is_whole_run(told, variant_prefix(options.format, options.output), summary)) {
    parts.leave_whole(options.output);
    if (options.write_index) write_variant_index(options.output);
    return {read_variant_summary(told).tally, 0};  // nothing was scored now
  }
  scorer.open();
  VariantRun run(options, context, written, std::move(summary), parts);
  run.score_input();
  const VariantsDone done = run.finish();
  if (options.write_index) write_variant_index(options.output);
  return done;
}

VariantTally run_variant_background(const VariantBackgroundOptions& options, SequenceScorer& scorer) {
  const VariantScoringOptions& scoring = options.scoring;
  const ScoringContext context(scoring, scorer);
  scorer.open();
  ChunkScorer chunk_scorer(
      scorer, context.fasta, context.contigs,
      {context.rules, context.windows, all_profiles(scorer), false, context.tracks.get()}, nullptr);
  VariantInput input(scoring.input, scoring.regions, context.fasta, context.contigs, scoring.chunk);
  BackgroundWriter writer(options.output, scorer.outputs());
  VariantTally tally;
  Progress progress("variants background", options.max_records, "records");
  std::vector<VcfRecord> records;
  while (next_records(input, tally.records, options.max_records, records)) {
    const ChunkResult result = chunk_scorer.score(records);
    context.count(records, result, tally);
    add_effects(result, scorer.outputs(), chunk_scorer.values_per_profile(), writer);
    progress.advance(records.size());
  }
  if (const auto nothing = why_nothing_was_scored(tally, scoring.input)) throw Error(*nothing);
  std::map<std::string, std::string> metadata;
  if (!options.provenance_json.empty()) metadata["provenance"] = options.provenance_json;
  writer.commit(context.origin, std::move(metadata));
  return tally;
}

}  // namespace bigbird
