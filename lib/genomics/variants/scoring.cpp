// What runs over variants share; see scoring.h.
#include "lib/genomics/variants/scoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/settings.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/alleles_letters.h"
#include "lib/io/files/sha256.h"
#include "lib/parts/parts.h"

namespace bigbird {

ScoringModels models_of(SequenceScorer& scorer) {
  return {scorer.window(), scorer.digests(), scorer.strands_read(), scorer.models() * scorer.strands(), ""};
}

ScoringContext::ScoringContext(const VariantScoringOptions& options, ScoringModels scoring_models)
    : models(std::move(scoring_models)),
      fasta(options.fasta),
      contigs(fasta.contigs()),
      rules(options.rules),
      windows(options.windows) {
  place_windows(rules, windows, models.window);
  origin = {fmt::format("{}", fmt::join(models.digests, ",")),
            windows_text(rules, windows, models.strands) + models.rules};
  if (options.tracks.empty()) return;
  tracks = std::make_unique<AlleleTracks>(options.tracks, contigs, options.fasta);
  origin.tracks = tracks->identities();
}

void ScoringContext::count(const std::vector<VcfRecord>& records, const ChunkResult& result,
                           VariantTally& tally) const {
  if (result.records.size() != records.size()) throw_runtime("a chunk lost records");
  for (std::size_t record = 0; record < records.size(); ++record) {
    if (result.records[record].size() != std::max<std::size_t>(records[record].alts.size(), 1)) {
      throw_runtime(records[record].where + ": an allele was lost");
    }
    tally.add(records[record], result.records[record]);
  }
  tally.passes += result.windows * models.passes;
  tally.passes_asked += result.windows_asked * models.passes;
}

std::optional<Error> why_nothing_was_scored(const VariantTally& tally, const std::string& input) {
  if (tally.scored > 0 || tally.alleles == 0) return std::nullopt;
  const std::string reason = tally.skipped.most_frequent();
  std::string hint = "look at the counts by reason";
  if (reason == skip_reason_name(SkipReason::unknown_contig)) {
    hint = fmt::format("the genome has no contig {}: is it another assembly?",
                       tally.unknown_contigs.begin()->first);
  } else if (reason == skip_reason_name(SkipReason::ref_mismatch)) {
    hint = "is the genome of another build than the variants?";
  } else if (reason == skip_reason_name(SkipReason::too_many_n)) {
    hint = message("`max_n` takes windows with more N");
  }
  return Error(
      ErrorKind::bad_input,
      fmt::format("{}: none of {} alleles was scored ({})", input, tally.alleles, tally.skipped.text()),
      hint);
}

std::string records_digest(const std::vector<VcfRecord>& records) {
  Sha256 hash;
  std::string text;
  for (const VcfRecord& record : records) {
    text = record.chrom + '\t' + std::to_string(record.position) + '\t' + record.id + '\t' + record.ref;
    for (const std::string& alt : record.alts) text += '\t' + alt;
    text += '\t' + record.filter;
    if (!record.info.empty()) text += '\t' + record.info;
    text += '\n';
    hash.update(text.data(), text.size());
  }
  return hash.finish();
}

VariantInput::VariantInput(const VariantScoringOptions& options, const Fasta& fasta,
                           const ContigNames& contigs)
    : reader_(options.input, options.regions), fasta_(fasta), contigs_(contigs), chunk_(options.chunk) {
  BuildCheck(options.input, reader_.contigs(), reader_.build_hints(), fasta_, contigs_).check_header();
  if (!options.ancestral.empty()) reader_.keep_info(options.ancestral);
}

bool VariantInput::next(std::vector<VcfRecord>& records) {
  throw_if_cancelled();
  records.clear();
  if (!read_records(records, chunk_, [&](VcfRecord& record) { return reader_.next(record); })) return false;
  if (chunks_ == 0) {
    BuildCheck check(reader_.path(), reader_.contigs(), reader_.build_hints(), fasta_, contigs_);
    for (const VcfRecord& seen : records) check.see(seen);
    check.check_alleles();
  }
  ++chunks_;
  records_ += records.size();
  return true;
}

namespace {

constexpr std::array<std::pair<GenomeBuild, const char*>, 3> build_names{
    {{GenomeBuild::unknown, "unknown"}, {GenomeBuild::grch37, "GRCh37"}, {GenomeBuild::grch38, "GRCh38"}}};

// Longer REF alleles than this say no more about the build.
constexpr std::size_t longest_compared = 200;
constexpr std::int64_t enough_alleles = 10;
constexpr std::int64_t fewest_alleles = 3;

GenomeBuild one_of(bool grch37, bool grch38) {
  if (grch37 == grch38) return GenomeBuild::unknown;
  return grch37 ? GenomeBuild::grch37 : GenomeBuild::grch38;
}

GenomeBuild build_of_hints(const std::vector<std::string>& hints) {
  constexpr std::array<std::string_view, 5> words37 = {"GRCH37", "HG19", "B37", "HS37", "G1K_V37"};
  constexpr std::array<std::string_view, 4> words38 = {"GRCH38", "HG38", "B38", "HS38"};
  constexpr std::string_view gatk37 = "ASSEMBLY19";
  constexpr std::string_view gatk38 = "ASSEMBLY38";
  bool grch37 = false;
  bool grch38 = false;
  for (const std::string& hint : hints) {
    const std::string text = upper_case(hint);
    const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
    for (const std::string_view word : words37) grch37 = grch37 || has(word);
    for (const std::string_view word : words38) grch38 = grch38 || has(word);
    grch37 = grch37 || has(gatk37);
    grch38 = grch38 || has(gatk38);
  }
  return one_of(grch37, grch38);
}

std::string described(GenomeBuild build) {
  return build == GenomeBuild::unknown ? "an assembly not known here" : genome_build_name(build);
}

constexpr const char* wrong_build_hint =
    "give the genome that the variants were called on, or lift the variants to this one (bigbird liftover)";

}  // namespace

const char* genome_build_name(GenomeBuild build) {
  return find_name(build_names, build);
}

GenomeBuild build_of(const std::vector<Contig>& contigs, const std::vector<std::string>& hints) {
  bool grch37 = false;
  bool grch38 = false;
  for (const Contig& contig : contigs) {
    const std::string assembly = assembly_of(contig);
    grch37 = grch37 || assembly == "GRCh37";
    grch38 = grch38 || assembly == "GRCh38";
  }
  return grch37 || grch38 ? one_of(grch37, grch38) : build_of_hints(hints);
}

BuildCheck::BuildCheck(const std::string& path, const std::vector<Contig>& header,
                       const std::vector<std::string>& hints, const Fasta& fasta, const ContigNames& contigs)
    : path_(path), header_(header), hints_(hints), fasta_(fasta.clone()), contigs_(contigs) {}

void BuildCheck::check_header() const {
  const GenomeBuild by_lengths = build_of(header_, {});
  const GenomeBuild genome = build_of(contigs_.contigs(), {});
  if (by_lengths != GenomeBuild::unknown && genome != GenomeBuild::unknown && by_lengths != genome) {
    throw_bad_input(fmt::format("{}: the contigs of its header are of {}, but the genome {} is {}", path_,
                                genome_build_name(by_lengths), fasta_.path(), genome_build_name(genome)),
                    wrong_build_hint);
  }
  for (const Contig& contig : header_) {
    if (contig.length <= 0) continue;
    const auto found = contigs_.find(contig.name);
    if (!found || contigs_[*found].length == contig.length) continue;
    log_warning_once(
        fmt::format("{}: its header gives {} {} bp, but {} of the genome has {}: the REF alleles decide "
                    "whether they are of one assembly",
                    path_, contig.name, contig.length, contigs_[*found].name, contigs_[*found].length));
    break;
  }
  const GenomeBuild by_hints = build_of_hints(hints_);
  const GenomeBuild known = genome != GenomeBuild::unknown ? genome : by_lengths;
  if (by_hints != GenomeBuild::unknown && known != GenomeBuild::unknown && by_hints != known) {
    log_warning_once(fmt::format("{}: lines of its header speak of {}, but its contigs or the genome of {}",
                                 path_, genome_build_name(by_hints), genome_build_name(known)));
  }
}

void BuildCheck::see(const VcfRecord& record) {
  const std::string ref = upper_case(record.ref);
  if (ref.empty() || ref.size() > longest_compared || !is_acgt(ref)) return;
  const auto contig = contig_of(record, contigs_);
  if (!contig || record.position < 0) return;
  const std::int64_t length = contigs_[*contig].length;
  const auto genome_at = [&](std::size_t size) {
    const std::int64_t end = record.position + static_cast<std::int64_t>(size);
    return end > length ? std::string() : fasta_.fetch(*contig, record.position, end);
  };
  const std::string genome = genome_at(ref.size());
  if (genome.empty() || !is_acgt(genome)) return;
  ++compared_;
  if (genome == ref) return;
  ++disagreeing_;
  for (const std::string& alt : record.alts) {
    if (alt.size() <= longest_compared && genome_at(alt.size()) == upper_case(alt)) {
      ++exchanged_;
      return;
    }
  }
}

void BuildCheck::check_alleles() const {
  const bool wrong = compared_ >= enough_alleles ? 2 * disagreeing_ > compared_
                                                 : compared_ >= fewest_alleles && disagreeing_ == compared_;
  if (!wrong || 3 * exchanged_ > 2 * disagreeing_) return;
  const GenomeBuild file = build_of(header_, hints_);
  const GenomeBuild genome = build_of(contigs_.contigs(), {});
  throw_bad_input(
      fmt::format(
          "{}: {} of its first {} comparable REF alleles are not what the genome has: the file is of "
          "{}, the genome {} of {}",
          path_, disagreeing_, compared_, described(file), fasta_.path(),
          genome == GenomeBuild::unknown && file != GenomeBuild::unknown ? "another" : described(genome)),
      wrong_build_hint);
}

}  // namespace bigbird
