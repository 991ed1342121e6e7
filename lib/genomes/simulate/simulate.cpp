// The files of a simulated genome; see simulate.h.
#include "lib/genomes/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/progress.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta_stream.h"
#include "lib/io/genome/indexed_table.h"

namespace bigbird {
namespace {

constexpr std::int64_t mean_spacing = 1000;
constexpr std::int64_t longest_indel = 12;
constexpr std::string_view base_letters = "ACGT";

char base_at(std::string_view bases, std::int64_t position) {
  return bases[static_cast<std::size_t>(position)];
}

// 17 of 20 are SNVs, one an insertion, two deletions.
VariantKind draw_kind(CounterRng& rng) {
  const std::uint64_t draw = rng.below(20);
  if (draw < 17) return VariantKind::snv;
  return draw == 17 ? VariantKind::insertion : VariantKind::deletion;
}

char transition(char base) {
  switch (base) {
    case 'A':
      return 'G';
    case 'G':
      return 'A';
    case 'C':
      return 'T';
    default:
      return 'C';
  }
}

char draw_letter(CounterRng& rng) {
  return base_letters[static_cast<std::size_t>(rng.below(4))];
}

// Another base; transitions twice as often as both transversions together, as in human.
char substitute(char base, CounterRng& rng) {
  if (rng.below(3) < 2) return transition(base);
  for (;;) {
    const char other = draw_letter(rng);
    if (other != base && other != transition(base)) return other;
  }
}

int draw_allele_count(CounterRng& rng) {  // rare alleles are the most frequent ones
  const std::uint64_t ceiling = std::uint64_t{2} << rng.below(12);
  return static_cast<int>(1 + rng.below(std::min<std::uint64_t>(ceiling, 2500)));
}

// REF and ALT at a base that is not N; one SNV in a hundred has a second ALT.
void draw_snv(char base, SimulatedVariant& variant, CounterRng& rng) {
  const char first = substitute(base, rng);
  variant.reference = std::string(1, base);
  variant.alternate = std::string(1, first);
  if (rng.below(100) != 0) return;
  const auto second = std::find_if(base_letters.begin(), base_letters.end(),
                                   [&](char letter) { return letter != first && letter != base; });
  variant.alternate += std::string(",") + *second;
  variant.allele_counts.push_back(draw_allele_count(rng));
}

// The bases that an indel after base `anchor` brings or takes away; nothing where it cannot lie there.
std::optional<std::string> draw_indel(VariantKind kind, std::string_view bases, std::int64_t anchor,
                                      CounterRng& rng) {
  const std::int64_t size = rng.between(1, rng.between(1, longest_indel));
  std::string text;
  if (kind == VariantKind::insertion) {
    for (std::int64_t i = 0; i < size; ++i) text.push_back(draw_letter(rng));
    return text;
  }
  if (anchor + 1 + size > static_cast<std::int64_t>(bases.size())) return std::nullopt;
  text = bases.substr(static_cast<std::size_t>(anchor) + 1, static_cast<std::size_t>(size));
  if (text.find('N') != std::string::npos) return std::nullopt;
  return text;
}

// Moves an indel to its leftmost equivalent place. `text` is inserted after, or deleted from after, base
// `anchor`.
void left_align(std::string_view bases, std::int64_t& anchor, std::string& text) {
  while (anchor > 0 && base_at(bases, anchor) == text.back() && base_at(bases, anchor - 1) != 'N') {
    std::rotate(text.begin(), text.end() - 1, text.end());
    --anchor;
  }
}

// A variant at a base, or nothing where that is N or the variant does not fit.
std::optional<SimulatedVariant> draw_variant(std::string_view bases, std::int64_t position, CounterRng& rng) {
  SimulatedVariant variant;
  variant.position = position;
  variant.kind = draw_kind(rng);
  variant.allele_counts = {draw_allele_count(rng)};
  const char base = base_at(bases, position);
  if (variant.kind == VariantKind::snv) {
    if (base == 'N') return std::nullopt;
    draw_snv(base, variant, rng);
    return variant;
  }
  std::optional<std::string> text = draw_indel(variant.kind, bases, position, rng);
  if (!text || base == 'N') return std::nullopt;
  left_align(bases, variant.position, *text);
  const std::string anchor(1, base_at(bases, variant.position));
  variant.reference = anchor;
  variant.alternate = anchor;
  (variant.kind == VariantKind::insertion ? variant.alternate : variant.reference) += *text;
  return variant;
}

constexpr std::int64_t shortest_chromosome = 100'000;

std::string track_name(std::size_t track) {
  return track == open_chromatin_track ? "DNase" : simulated_factors[track].name;
}

std::string chromosome_name(int index) {
  return "chr" + std::to_string(index + 1);
}

std::int64_t chromosome_length(const SimulateOptions& options, int index) {
  return options.bases / options.chromosomes + (index < options.bases % options.chromosomes ? 1 : 0);
}

void check_options(const SimulateOptions& options) {
  if (options.chromosomes < 1 || options.chromosomes > 22) {
    throw_usage(fmt::format("simulate: {} chromosomes", options.chromosomes),
                message("give `chromosomes` from 1 to 22"));
  }
  if (options.promoters_per_mb < 1 || options.promoters_per_mb > 200) {
    throw_usage(fmt::format("simulate: {} promoters per Mb", options.promoters_per_mb),
                message("give `promoters_per_mb` from 1 to 200"));
  }
  if (options.bases / options.chromosomes < shortest_chromosome) {
    throw_usage(
        fmt::format("simulate: {} bp are too few for {} chromosomes", options.bases, options.chromosomes),
        fmt::format("give at least {} bp for each chromosome", shortest_chromosome));
  }
  if (options.bases / options.chromosomes >= (std::int64_t{1} << 29)) {
    throw_usage("simulate: a chromosome would be longer than a tabix index can hold (512 Mb)",
                "ask for more chromosomes");
  }
}

// "##" lines that open a VCF, or a table.
std::string provenance_head(const SimulateOptions& options, bool wanted) {
  std::string head;
  if (!wanted) return head;
  for (const std::string& line : provenance_lines(options.provenance)) head += "##" + line + "\n";
  return head;
}

std::string vcf_header(const SimulateOptions& options) {
  std::string header = "##fileformat=VCFv4.2\n" + provenance_head(options, options.with_provenance) +
                       "##FILTER=<ID=PASS,Description=\"All filters passed\">\n";
  for (int i = 0; i < options.chromosomes; ++i) {
    header += fmt::format("##contig=<ID={},length={}>\n", chromosome_name(i), chromosome_length(options, i));
  }
  return header +
         "##INFO=<ID=AC,Number=A,Type=Integer,Description=\"Allele count\">\n"
         "##INFO=<ID=AN,Number=1,Type=Integer,Description=\"Number of alleles\">\n"
         "##INFO=<ID=AF,Number=A,Type=Float,Description=\"Allele frequency\">\n"
         "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
}

// BED6 rows; names as EPDnew gives them: SIM1G00012_1.
std::string promoter_rows(const std::string& chrom, const SimulatedChromosome& chromosome) {
  std::string text;
  for (const SimulatedPromoter& promoter : chromosome.promoters) {
    text += fmt::format("{}\t{}\t{}\tSIM{}G{:05}_{}\t1\t{}\n", chrom, promoter.tss, promoter.tss + 1,
                        chrom.substr(3), promoter.gene + 1, promoter.rank, promoter.strand);
  }
  return text;
}

// narrowPeak rows; `number`: of the track's last peak so far.
std::string peak_rows(const std::string& chrom, std::size_t track, const std::vector<SimulatedPeak>& peaks,
                      std::int64_t number) {
  std::string text;
  for (const SimulatedPeak& peak : peaks) {
    text +=
        fmt::format("{}\t{}\t{}\t{}_{}\t{}\t.\t{}.{}\t-1\t-1\t{}\n", chrom, peak.begin, peak.end,
                    track_name(track), ++number, peak.score, peak.score / 10, peak.score % 10, peak.summit);
  }
  return text;
}

std::string variant_rows(const std::string& chrom, const std::vector<SimulatedVariant>& variants) {
  std::string text;
  for (const SimulatedVariant& variant : variants) {
    std::string counts;
    std::string frequencies;
    for (const int count : variant.allele_counts) {
      const char* separator = counts.empty() ? "" : ",";
      counts += fmt::format("{}{}", separator, count);
      frequencies += fmt::format("{}{:.6f}", separator, static_cast<double>(count) / simulated_allele_number);
    }
    text += fmt::format("{}\t{}\t.\t{}\t{}\t100\tPASS\tAC={};AN={};AF={}\n", chrom, variant.position + 1,
                        variant.reference, variant.alternate, counts, simulated_allele_number, frequencies);
  }
  return text;
}

// The genome and its annotation, all open while the chromosomes go by.
class GenomeFiles {
 public:
  GenomeFiles(const AtomicFolder& folder, const SimulateOptions& options)
      : genome_(folder.file("genome.fa.gz")),
        promoters_(folder.file("promoters.tss.bed")),
        variants_(folder.file("variants.vcf.gz")) {
    make_folders(folder.file("peaks"));
    promoters_.write(provenance_head(options, options.provenance_in_tables));
    variants_.write(vcf_header(options));
    for (std::size_t track = 0; track < simulated_tracks; ++track) {
      peaks_[track] =
          std::make_unique<OutputStream>(folder.file("peaks/" + track_name(track) + ".narrowPeak.gz"));
      peaks_[track]->write(provenance_head(options, options.provenance_in_tables));
    }
  }

  // `so_far`: the counts of the chromosomes before.
  void write(const std::string& chrom, const SimulatedChromosome& chromosome,
             const std::vector<SimulatedVariant>& variants, const SimulateSummary& so_far) {
    genome_.add(chrom, chromosome.bases);
    promoters_.write(promoter_rows(chrom, chromosome));
    for (std::size_t track = 0; track < simulated_tracks; ++track) {
      peaks_[track]->write(peak_rows(chrom, track, chromosome.peaks[track], so_far.peaks[track]));
    }
    variants_.write(variant_rows(chrom, variants));
  }

  void close() {
    genome_.close();
    promoters_.close();
    for (auto& track : peaks_) track->close();
    variants_.close();
  }

 private:
  FastaWriter genome_;
  OutputStream promoters_;
  std::array<std::unique_ptr<OutputStream>, simulated_tracks> peaks_;
  OutputStream variants_;
};

void count(const SimulatedChromosome& chromosome, const std::vector<SimulatedVariant>& variants,
           SimulateSummary& summary) {
  summary.bases += static_cast<std::int64_t>(chromosome.bases.size());
  summary.gap_bases += chromosome.gap_bases;
  summary.repeat_bases += chromosome.repeat_bases;
  summary.genes += chromosome.genes;
  summary.promoters += static_cast<std::int64_t>(chromosome.promoters.size());
  for (const SimulatedPromoter& promoter : chromosome.promoters) {
    summary.tata_promoters += promoter.tata ? 1 : 0;
  }
  for (std::size_t track = 0; track < simulated_tracks; ++track) {
    summary.peaks[track] += static_cast<std::int64_t>(chromosome.peaks[track].size());
  }
  for (const SimulatedVariant& variant : variants) {
    summary.snvs += variant.kind == VariantKind::snv ? 1 : 0;
    summary.insertions += variant.kind == VariantKind::insertion ? 1 : 0;
    summary.deletions += variant.kind == VariantKind::deletion ? 1 : 0;
  }
}

// The list that `chromatin build` takes.
std::string peaks_table() {
  std::string text = "#name\tgroup\tfile\n";
  for (std::size_t track = 0; track < simulated_tracks; ++track) {
    text += fmt::format("{}\t{}\t{}.narrowPeak.gz\n", track_name(track),
                        track == open_chromatin_track ? "DHS" : "TF", track_name(track));
  }
  return text;
}

std::string summary_json(const SimulateOptions& options, const SimulateSummary& summary) {
  nlohmann::ordered_json json;
  json["seed"] = options.seed;
  json["bases"] = summary.bases;
  json["n_bases"] = summary.gap_bases;
  json["interspersed_repeat_bases"] = summary.repeat_bases;
  for (int i = 0; i < options.chromosomes; ++i) {
    json["chromosomes"].push_back({{"name", chromosome_name(i)}, {"length", chromosome_length(options, i)}});
  }
  json["promoters"] = {
      {"count", summary.promoters}, {"genes", summary.genes}, {"tata", summary.tata_promoters}};
  for (std::size_t track = 0; track < simulated_tracks; ++track) {
    nlohmann::ordered_json row = {{"file", "peaks/" + track_name(track) + ".narrowPeak.gz"},
                                  {"peaks", summary.peaks[track]}};
    if (track != open_chromatin_track) row["motif"] = simulated_factors[track].consensus;
    json["peaks"].push_back(row);
  }
  json["variants"] = {
      {"snv", summary.snvs}, {"insertion", summary.insertions}, {"deletion", summary.deletions}};
  if (options.with_provenance)
    json["provenance"] = nlohmann::ordered_json::parse(provenance_json(options.provenance));
  return json_text(json, 2) + "\n";
}

}  // namespace

std::vector<SimulatedVariant> simulate_variants(std::uint64_t seed, std::uint64_t chromosome,
                                                std::string_view bases) {
  CounterRng rng(seed, Purpose::simulate_variants, chromosome);
  const auto length = static_cast<std::int64_t>(bases.size());
  const auto draw_spacing = [&] { return rng.between(1, 2 * mean_spacing); };
  std::vector<SimulatedVariant> variants;
  std::int64_t end_before = 0;  // of the variant before
  for (std::int64_t at = draw_spacing(); at < length; at += draw_spacing()) {
    std::optional<SimulatedVariant> variant = draw_variant(bases, at, rng);
    if (!variant || variant->position < end_before) continue;
    end_before = variant->position + static_cast<std::int64_t>(variant->reference.size());
    variants.push_back(std::move(*variant));
  }
  return variants;
}

SimulateSummary simulate_genome(const SimulateOptions& options) {
  check_options(options);
  AtomicFolder folder(options.output, options.replace);
  const GenomeDesign design(options.seed, options.promoters_per_mb);
  SimulateSummary summary;
  {
    GenomeFiles files(folder, options);
    Progress progress("simulate", static_cast<std::uint64_t>(options.bases), "bp");
    for (int i = 0; i < options.chromosomes; ++i) {
      throw_if_cancelled();
      const auto index = static_cast<std::uint64_t>(i);
      const SimulatedChromosome chromosome =
          simulate_chromosome(design, index, chromosome_length(options, i));
      const std::vector<SimulatedVariant> variants = simulate_variants(options.seed, index, chromosome.bases);
      files.write(chromosome_name(i), chromosome, variants, summary);
      count(chromosome, variants, summary);
      progress.advance(chromosome.bases.size());
    }
    files.close();
  }
  build_vcf_index(folder.file("variants.vcf.gz"));
  write_text_atomic(folder.file("peaks/peaks.tsv"), peaks_table());
  write_text_atomic(folder.file("simulate.json"), summary_json(options, summary));
  folder.commit();
  return summary;
}

}  // namespace bigbird
