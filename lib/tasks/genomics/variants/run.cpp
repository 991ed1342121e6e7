// `bigbird variants`; see run.h.
#include "lib/tasks/genomics/variants/run.h"

#include <fmt/format.h>

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/process_cost.h"
#include "lib/core/progress.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/tabix.h"
#include "lib/tasks/genomics/genome_fingerprint.h"
#include "lib/tasks/genomics/variants/background.h"
#include "lib/tasks/genomics/variants/baselines.h"
#include "lib/tasks/genomics/variants/chunk_result_bytes.h"
#include "lib/tasks/genomics/variants/columns.h"
#include "lib/tasks/genomics/variants/input.h"
#include "lib/tasks/genomics/variants/outputs.h"
#include "lib/tasks/select_profiles.h"

namespace bigbird {
namespace {

// Profiles that get columns of their own in a VCF or a table without being asked for.
constexpr std::size_t few_profiles = 8;

// Records that are read and not written yet, in chunks: behind one that waits for a full batch there may be
// many of which nothing is scored.
constexpr std::uint64_t chunks_of_records_begun = 16;

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
    throw_usage("`profiles` none leaves no matrix to write", "write a table (tsv), or name profiles");
  }
  return written;
}

// What the scores depend on: a resumed run and the shards of a merge must agree in all of it.
std::string run_json(const VariantRunOptions& options, const ScoringContext& context,
                     const std::vector<std::size_t>& written, const VariantBackground* background,
                     const AlleleBaselines* baselines) {
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
  json["background_sha256"] = background == nullptr ? "" : background->digest();
  json["tracks"] = context.origin.tracks;
  json["baselines"] = baselines == nullptr ? std::vector<std::string>() : baselines->identities();
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

FinishedChunks open_finished_chunks(const VariantRunOptions& options, const VariantSummary& summary) {
  if (!chunks_can_be_kept(options.output, options.restart)) return {};
  const std::string identity = fmt::format("{}\n{}\n{} of {}, chunks of {}\n", summary.run, summary.format,
                                           options.shard.index, options.shard.count, options.scoring.chunk);
  return {variant_prefix(options.format, options.output) + ".parts", identity, options.restart};
}

// Records of a shard, about, where an index tells; 0 when they are not known.
std::uint64_t expected_records(const VariantRunOptions& options) {
  if (options.scoring.input == "-" || !options.scoring.regions.empty()) return 0;
  return records_in_index(options.scoring.input).value_or(0) / options.shard.count;
}

// A run, from its inputs opened in this order to its outputs closed.
class VariantRun {
 public:
  VariantRun(const VariantRunOptions& options, SequenceScorer& scorer)
      : options_(options),
        context_(options.scoring, scorer),
        background_(open_background(options.background, context_)),
        baselines_(open_baselines(options, context_)),
        written_(choose_profiles(options, scorer.profiles())),
        chunk_scorer_(
            scorer, context_.fasta, context_.contigs,
            {context_.rules, context_.windows, written_, true, context_.tracks.get(), baselines_.get()},
            background_.get()),
        columns_(scorer.profiles(), chunk_scorer_.groups(), written_, chunk_scorer_.values_per_profile(),
                 context_.tracks ? context_.tracks->ids() : std::vector<std::string>(),
                 baselines_ ? baselines_->ids() : std::vector<std::string>()),
        summary_(empty_summary(options,
                               run_json(options, context_, written_, background_.get(), baselines_.get()))),
        finished_chunks_(open_finished_chunks(options, summary_)),
        input_(options.scoring.input, options.scoring.regions, context_.fasta, context_.contigs,
               options.scoring.chunk),
        outputs_({options.format, options.output, options.provenance, scorer.profiles(), written_,
                  chunk_scorer_.values_per_profile()},
                 report_prefix(options.report, options.format, options.output), input_.reader(),
                 context_.fasta.contigs(), columns_) {}

  // Of an earlier run like this one whose outputs are there and whole: nothing was scored now.
  std::optional<VariantsDone> of_whole_run() const {
    if (!goes_on(options_.restart)) return std::nullopt;
    const std::string report = report_prefix(options_.report, options_.format, options_.output);
    const std::string path = report + ".summary.json";
    if (!is_whole_run(path, variant_prefix(options_.format, options_.output), summary_)) return std::nullopt;
    log_info(options_.output + ": is whole already, and of this run");
    finished_chunks_.remove();
    return VariantsDone{read_variant_summary(path).tally, 0};
  }

  void score_input() {
    Progress progress("variants", expected_records(options_), "records");
    std::vector<VcfRecord> records;
    while (input_.next(records)) {
      if (!options_.shard.takes(input_.chunk_number())) continue;
      begin(std::move(records));
      // Where nothing runs beside the program, a chunk is whole, and kept, before the next one is begun.
      const bool too_many = records_begun_ > chunks_of_records_begun * options_.scoring.chunk;
      if (too_many || !context_.scorer.works_ahead()) chunk_scorer_.finish();
      write_whole_ones(progress);
    }
    chunk_scorer_.finish();
    write_whole_ones(progress);
  }

  VariantsDone finish() {
    if (resumed_records_ > 0) {
      log_info(fmt::format("{} records were scored by the run before", resumed_records_));
    }
    if (input_.records() == 0) log_warning(options_.scoring.input + ": no records");
    summary_.input_records = input_.records();
    summary_.input_digest = input_.finish_digest();
    // A shard may be without a scored allele; all of them are looked at when they are merged.
    std::optional<Error> nothing;
    if (!summary_.shard) nothing = why_nothing_was_scored(summary_.tally, options_.scoring.input);
    if (!options_.provenance_json.empty()) {
      const ProcessCost cost = process_cost();
      summary_.cost = ScoringCost{scored_, cost.wall_seconds, cost.cpu_seconds, cost.peak_memory};
    }
    outputs_.close(summary_, nothing ? VariantOutputs::Scores::discard : VariantOutputs::Scores::keep);
    finished_chunks_.remove();
    if (nothing) throw Error(*nothing);
    return {summary_.tally, scored_};
  }

 private:
  // A chunk whose scores are on their way, or there.
  struct BegunChunk {
    std::vector<VcfRecord> records;
    std::uint64_t number = 0;
    std::string digest;
    bool is_kept = false;  // by the run before
    std::optional<ChunkResult> result;
  };
  // Of the input's last chunk: its scores are those of the run before where it has them, else the models' of
  // now.
  void begin(std::vector<VcfRecord> records) {
    records_begun_ += records.size();
    BegunChunk& chunk = begun_.emplace_back(
        BegunChunk{std::move(records), input_.chunk_number(), input_.chunk_digest(), false, std::nullopt});
    if (const auto bytes = finished_chunks_.load(chunk.number, chunk.digest)) {
      resumed_records_ += chunk.records.size();
      chunk.is_kept = true;
      chunk.result = chunk_result_from_bytes(*bytes, finished_chunks_.path(chunk.number));
      return;
    }
    chunk_scorer_.add(chunk.records, [&chunk](ChunkResult result) { chunk.result = std::move(result); });
  }
  // In the order of the input.
  void write_whole_ones(Progress& progress) {
    for (; !begun_.empty() && begun_.front().result; begun_.pop_front()) {
      const BegunChunk& chunk = begun_.front();
      if (finished_chunks_.keeps() && !chunk.is_kept)
        finished_chunks_.save(chunk.number, chunk.digest, to_bytes(*chunk.result));
      const std::uint64_t scored_before = summary_.tally.scored;
      write(chunk.records, *chunk.result);
      if (!chunk.is_kept) scored_ += summary_.tally.scored - scored_before;
      progress.advance(chunk.records.size());
      records_begun_ -= chunk.records.size();
    }
  }

  void write(const std::vector<VcfRecord>& records, const ChunkResult& result) {
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
  ScoringContext context_;
  std::unique_ptr<VariantBackground> background_;  // null without one
  std::unique_ptr<AlleleBaselines> baselines_;     // null without any
  std::vector<std::size_t> written_;
  ChunkScorer chunk_scorer_;
  VariantColumns columns_;
  VariantSummary summary_;
  FinishedChunks finished_chunks_;
  VariantInput input_;
  VariantOutputs outputs_;
  std::deque<BegunChunk> begun_;
  std::uint64_t records_begun_ = 0;
  std::uint64_t resumed_records_ = 0;
  std::uint64_t scored_ = 0;  // alleles, by this process
};

}  // namespace

VariantsDone run_variants(const VariantRunOptions& options, SequenceScorer& scorer) {
  VariantRun run(options, scorer);
  if (const std::optional<VariantsDone> done = run.of_whole_run()) return *done;
  run.score_input();
  return run.finish();
}

}  // namespace bigbird
