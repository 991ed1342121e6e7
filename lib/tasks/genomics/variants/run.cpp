// Runs over variant files; see run.h.
#include "lib/tasks/genomics/variants/run.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/tabix.h"
#include "lib/io/tables/tsv.h"
#include "lib/tasks/genomics/variants/background.h"
#include "lib/tasks/genomics/variants/columns.h"
#include "lib/tasks/genomics/variants/input.h"
#include "lib/tasks/genomics/variants/parts.h"

namespace bigbird {
namespace {

// Profiles that get columns of their own in a VCF or a table without being asked for.
constexpr std::size_t few_profiles = 8;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

const char* mismatch_rule_name(RefMismatch rule) {
  if (rule == RefMismatch::use) return "use";
  return rule == RefMismatch::swap ? "swap" : "skip";
}

std::string contigs_digest(const std::vector<Contig>& contigs) {
  std::string text;
  for (const Contig& contig : contigs) text += contig.name + "\t" + std::to_string(contig.length) + "\n";
  return sha256_bytes(text);
}

// A genome, the windows on it and the scorer of its chunks.
struct Setup {
  Setup(const VariantScoringOptions& options, SequenceScorer& sequence_scorer)
      : scorer(sequence_scorer),
        fasta(options.fasta),
        contigs(fasta.contigs()),
        rules(options.rules),
        windows(options.windows) {
    place_windows(rules, windows, scorer.window());
    origin = {joined(scorer.digests()), windows_text(rules, windows, scorer.strands())};
  }

  void count(const VcfRecord& record, const std::vector<AlleleResult>& alleles, VariantTally& tally) const {
    if (alleles.size() != std::max<std::size_t>(record.alts.size(), 1)) {
      throw_runtime(record.where + ": an allele was lost");
    }
    tally.add(record, alleles);
  }
  void count_passes(const ChunkResult& result, VariantTally& tally) const {
    const std::uint64_t each = scorer.models() * scorer.strands();
    tally.passes += result.windows * each;
    tally.passes_asked += result.windows_asked * each;
  }

  SequenceScorer& scorer;
  Fasta fasta;
  ContigNames contigs;
  AlleleRules rules;
  VariantWindows windows;
  BackgroundOrigin origin;
};

// What the scores depend on: a resumed run and the shards of a merge must agree in all of it.
std::string run_json(const VariantRunOptions& options, const Setup& setup,
                     const std::vector<std::size_t>& written, const VariantBackground* background) {
  nlohmann::ordered_json json;
  json["version"] = bigbird_version();
  json["input"] = options.scoring.input;
  json["regions"] = options.scoring.regions;
  json["reference"] = options.scoring.fasta;
  json["reference_contigs_sha256"] = contigs_digest(setup.fasta.contigs());
  json["build"] = genome_build_name(build_of(setup.fasta.contigs(), {}));
  json["models"] = setup.scorer.digests();
  json["profiles"] = setup.scorer.outputs();
  json["strands"] = setup.scorer.strands();
  json["window"] = setup.rules.window;
  json["offset"] = setup.rules.offset;
  json["anchor"] = setup.windows.anchor_bin ? "bin" : "variant";
  json["shifts"] = setup.windows.shifts;
  json["shift_step"] = setup.windows.shift_step;
  json["windows"] = setup.origin.windows;
  json["ref_mismatch"] = mismatch_rule_name(setup.rules.ref_mismatch);
  json["max_n"] = setup.rules.max_n;
  json["n_matches"] = setup.rules.n_matches;
  json["pass_only"] = setup.rules.pass_only;
  json["written_profiles"] = written;
  json["background_sha256"] = background == nullptr ? "" : background->digest();
  json["calibrated"] = false;
  return json.dump(2);
}

// The table of alleles that were not scored.
class SkippedTable {
 public:
  SkippedTable(const std::string& path, const std::vector<std::string>& comments)
      : out_(path), table_(out_, {"chrom", "pos", "id", "ref", "alt", "reason"}, comments) {}

  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) {
    for (std::size_t allele = 0; allele < alleles.size(); ++allele) {
      if (alleles[allele].reason == SkipReason::none) continue;
      std::vector<std::string> fields = allele_fields(record, allele);
      fields.emplace_back(skip_reason_name(alleles[allele].reason));
      table_.row(fields);
      ++rows_;
    }
  }
  std::uint64_t rows() const { return rows_; }
  void close() { out_.close(); }

 private:
  OutputStream out_;
  TsvWriter table_;
  std::uint64_t rows_ = 0;
};

// Records of a shard, where an index tells; 0 when they are not known.
std::uint64_t own_records(const VariantRunOptions& options) {
  if (options.scoring.input == "-" || !options.scoring.regions.empty()) return 0;
  return records_in_index(options.scoring.input).value_or(0) / options.shards;
}

void check_something_scored(const VariantTally& tally, const std::string& input) {
  if (tally.scored > 0 || tally.alleles == 0) return;
  const SkipReason reason = tally.main_reason();
  std::string hint = "look at the counts by reason";
  if (reason == SkipReason::unknown_contig) {
    hint = fmt::format("the genome has no contig {}: is it another assembly?",
                       tally.unknown_contigs.begin()->first);
  } else if (reason == SkipReason::ref_mismatch) {
    hint = "is the genome of another build than the variants?";
  } else if (reason == SkipReason::too_many_n) {
    hint = "--max-n takes windows with more N";
  }
  throw_bad_input(
      fmt::format("{}: none of {} alleles was scored ({})", input, tally.alleles, tally.reasons_text()),
      hint);
}

}  // namespace

std::vector<std::size_t> parse_profile_list(const std::string& text, std::size_t profiles,
                                            std::size_t all_up_to) {
  std::vector<std::size_t> list;
  if (text == "all" || (text.empty() && profiles <= all_up_to)) {
    list.resize(profiles);
    std::iota(list.begin(), list.end(), std::size_t{0});
    return list;
  }
  if (text.empty() || text == "none") return list;
  const std::string where = "--profiles " + text;
  std::set<std::size_t> chosen;
  std::string_view rest = text;
  try {
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string_view item = rest.substr(0, comma);
      const std::size_t dash = item.find('-');
      const std::int64_t first = parse_integer(item.substr(0, dash), where, "a profile's index");
      const std::int64_t last = dash == std::string_view::npos
                                    ? first
                                    : parse_integer(item.substr(dash + 1), where, "a profile's index");
      if (first < 0 || last < first || last >= static_cast<std::int64_t>(profiles)) {
        throw_usage(fmt::format("{}: the model has profiles 0 to {}", where, profiles - 1));
      }
      for (std::int64_t profile = first; profile <= last; ++profile) {
        chosen.insert(static_cast<std::size_t>(profile));
      }
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  } catch (const Error& error) {
    throw_usage(error.message(), error.hint().empty() ? "all, none, or indices: 0,5,10-19" : error.hint());
  }
  list.assign(chosen.begin(), chosen.end());
  return list;
}

VariantTally run_variants(const VariantRunOptions& options, SequenceScorer& scorer) {
  if (options.format == VariantFormat::h5 && options.shards > 1) {
    throw_usage("--shard: outputs of -O h5 cannot be merged", "write the shards with -O npy");
  }
  Setup setup(options.scoring, scorer);
  const bool matrices = options.format == VariantFormat::npy || options.format == VariantFormat::h5;
  std::unique_ptr<VariantBackground> background;
  if (!options.background.empty()) {
    background = std::make_unique<VariantBackground>(options.background, scorer.outputs(), setup.origin);
  }
  const std::vector<std::size_t> written =
      parse_profile_list(options.profiles, scorer.outputs(), matrices ? scorer.outputs() : few_profiles);
  if (matrices && written.empty()) {
    throw_usage("--profiles none leaves no matrix to write", "take -O tsv, or name profiles");
  }
  ChunkScorer chunks(scorer, setup.fasta, setup.contigs, {setup.rules, setup.windows, written, true},
                     background.get());
  const VariantColumns columns(scorer.profiles(), chunks.groups(), written, chunks.values_per_profile());

  VariantSummary summary;
  summary.chunk = options.scoring.chunk;
  summary.format = variant_format_word(options.format);
  summary.run = run_json(options, setup, written, background.get());
  summary.provenance = options.provenance_json;
  if (options.shards > 1) summary.shard = VariantShard{options.shard, options.shards, {}};

  const bool to_stdout = options.output == "-";
  const std::string prefix = variant_prefix(options.format, options.output);
  const std::string report = !options.report.empty() ? options.report : to_stdout ? "" : prefix;
  // A pipe or a device is written as it comes, like stdout.
  const bool keeps_parts = !to_stdout && (!std::filesystem::exists(options.output) ||
                                          std::filesystem::is_regular_file(options.output));
  std::unique_ptr<ChunkParts> parts;
  if (keeps_parts) {
    const std::string identity = fmt::format("{}\n{}\n{} of {}, chunks of {}\n", summary.run, summary.format,
                                             options.shard, options.shards, options.scoring.chunk);
    parts = std::make_unique<ChunkParts>(prefix + ".parts", identity, options.resume, options.force);
  } else if (options.resume) {
    throw_usage("--resume: nothing is kept of a run to stdout or a device", "give a file with -o");
  }

  VariantInput input(options.scoring.input, options.scoring.regions, setup.fasta, setup.contigs,
                     options.scoring.chunk);
  const std::unique_ptr<VariantSink> sink =
      make_variant_sink({options.format, options.output, options.provenance, scorer.profiles(), written,
                         chunks.values_per_profile()},
                        input.reader(), setup.fasta.contigs(), columns);
  std::unique_ptr<SkippedTable> skipped;
  if (!report.empty()) {
    skipped = std::make_unique<SkippedTable>(report + ".skipped.tsv", options.provenance);
  }

  VariantTally& tally = summary.tally;
  std::uint64_t resumed = 0;
  {
    Progress progress("variants", own_records(options), "records");
    std::vector<VcfRecord> records;
    while (input.next(records)) {
      const std::uint64_t chunk = input.chunk_number();
      if (chunk % options.shards != options.shard - 1) continue;
      std::optional<ChunkResult> result;
      if (parts && options.resume) result = parts->load(chunk, input.chunk_digest());
      if (result) {
        resumed += records.size();
      } else {
        result = chunks.score(records);
        if (parts) parts->save(chunk, input.chunk_digest(), *result);
      }
      if (result->records.size() != records.size()) throw_runtime("a chunk lost records");
      const std::uint64_t alleles_before = tally.alleles;
      const std::uint64_t skipped_before = tally.all_skipped();
      for (std::size_t record = 0; record < records.size(); ++record) {
        setup.count(records[record], result->records[record], tally);
        sink->write(records[record], result->records[record]);
        if (skipped) skipped->write(records[record], result->records[record]);
      }
      setup.count_passes(*result, tally);
      if (summary.shard) {
        summary.shard->chunks.emplace_back(tally.alleles - alleles_before,
                                           tally.all_skipped() - skipped_before);
      }
      progress.advance(records.size());
    }
  }
  if (resumed > 0) log_info(fmt::format("{} records were scored by the run before", resumed));
  if (input.records() == 0) log_warning(options.scoring.input + ": no records");
  summary.input_records = input.records();
  summary.input_digest = input.finish_digest();

  std::optional<Error> nothing;
  try {
    if (!summary.shard) check_something_scored(tally, options.scoring.input);
  } catch (const Error& error) {
    nothing = error;
  }
  if (!nothing) sink->close();
  if (skipped) {
    if (skipped->rows() != tally.all_skipped()) throw_runtime("the counts of skipped alleles disagree");
    skipped->close();
    write_text_atomic(report + ".summary.json", summary_json(summary));
  }
  if (parts) parts->remove();
  if (nothing) throw Error(*nothing);
  return tally;
}

VariantTally run_variant_background(const VariantBackgroundOptions& options, SequenceScorer& scorer) {
  Setup setup(options.scoring, scorer);
  std::vector<std::size_t> all(scorer.outputs());
  std::iota(all.begin(), all.end(), std::size_t{0});
  ChunkScorer chunks(scorer, setup.fasta, setup.contigs, {setup.rules, setup.windows, all, false}, nullptr);
  const std::size_t per_profile = chunks.values_per_profile();
  VariantInput input(options.scoring.input, options.scoring.regions, setup.fasta, setup.contigs,
                     options.scoring.chunk);
  BackgroundWriter writer(options.output, scorer.outputs());
  VariantTally tally;
  Progress progress("variants background", options.max_records, "records");
  std::vector<VcfRecord> records;
  std::vector<float> sizes(scorer.outputs());
  while ((options.max_records == 0 || tally.records < options.max_records) && input.next(records)) {
    if (options.max_records > 0 && tally.records + records.size() > options.max_records) {
      records.erase(records.begin() + static_cast<std::ptrdiff_t>(options.max_records - tally.records),
                    records.end());
    }
    const ChunkResult result = chunks.score(records);
    for (std::size_t record = 0; record < records.size(); ++record) {
      setup.count(records[record], result.records[record], tally);
      for (const AlleleResult& allele : result.records[record]) {
        if (allele.reason != SkipReason::none) continue;
        for (std::size_t profile = 0; profile < sizes.size(); ++profile) {
          const float* values = allele.values.data() + profile * per_profile;
          sizes[profile] = effect_size(values[2], values[3]);
        }
        writer.add(sizes);
      }
    }
    setup.count_passes(result, tally);
    progress.advance(records.size());
  }
  check_something_scored(tally, options.scoring.input);
  std::map<std::string, std::string> metadata;
  if (!options.provenance_json.empty()) metadata["provenance"] = options.provenance_json;
  writer.commit(setup.origin, std::move(metadata));
  return tally;
}

}  // namespace bigbird
