// Scored variants in a report: how many, what was left out and why, how scores lie, and the strongest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/core/error.h"
#include "lib/genomics/variants/summary.h"
#include "lib/genomics/variants/variant_table.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"
#include "lib/report/charts.h"
#include "lib/report/report_inputs.h"
#include "lib/report/strongest_alleles.h"

namespace bigbird {
namespace {

constexpr std::size_t skipped_shown = 100;
constexpr std::size_t contigs_shown = 20;

// All of a few; of more, those that have most, and the others together.
std::vector<std::pair<std::string, std::uint64_t>> largest_counts(
    const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> shown(counts.begin(), counts.end());
  if (shown.size() <= contigs_shown + 1) return shown;
  std::stable_sort(shown.begin(), shown.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::uint64_t others = 0;
  for (std::size_t i = contigs_shown; i < shown.size(); ++i) others += shown[i].second;
  const std::size_t left = shown.size() - contigs_shown;
  shown.resize(contigs_shown);
  shown.emplace_back(fmt::format("{} others", left), others);
  return shown;
}

void add_counts(ReportSection& section, const VariantSummary& summary) {
  const VariantTally& tally = summary.tally;
  ReportFacts facts = {{"records", std::to_string(tally.records)},
                       {"alleles", std::to_string(tally.alleles)},
                       {"scored", std::to_string(tally.scored)},
                       {"skipped", std::to_string(tally.skipped.total())},
                       {"forward passes", std::to_string(tally.passes)},
                       {"passes saved by shared windows", std::to_string(tally.passes_asked - tally.passes)}};
  if (summary.shard) {
    facts.emplace_back("shard", fmt::format("{}/{}", summary.shard->shard.index, summary.shard->shard.count));
  }
  section.add(std::move(facts));
  ReportCharts charts;
  const auto bars = [&](const std::string& title, const auto& counts) {
    BarChart chart{title, "alleles", {}, {}};
    for (const auto& [name, count] : counts) chart.bars.push_back({name, static_cast<double>(count), {}});
    if (!chart.bars.empty()) charts.emplace_back(std::move(chart));
  };
  bars("why alleles were skipped", tally.skipped);
  bars("marked among those scored", tally.flags);
  if (!tally.unknown_contigs.empty()) {
    bars("records on contigs that the genome lacks", largest_counts(tally.unknown_contigs));
    std::get<BarChart>(charts.back()).x_label = "records";
  }
  if (!charts.empty()) section.add(std::move(charts));
}

void add_skipped(ReportSection& section, const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  TsvReader reader(path);
  ReportTable table{"", reader.columns(), {}, true};
  std::vector<std::string_view> fields;
  std::size_t rows = 0;
  for (; reader.next(fields); ++rows) {
    if (rows < skipped_shown) table.rows.emplace_back(fields.begin(), fields.end());
  }
  if (rows == 0) return;
  table.caption = rows > skipped_shown
                      ? fmt::format("skipped alleles, the first {} of {}", skipped_shown, rows)
                      : "skipped alleles";
  section.add(std::move(table));
}

// `run`: of a summary.
ScoredWindows scored_windows(const std::string& run) {
  const auto json = nlohmann::json::parse(run);
  ScoredWindows windows;
  windows.strands = json.value("strands", 0) == 2 ? "both" : json.value("strand", std::string());
  windows.length = json.value("window", std::int64_t{0});
  windows.offset = json.value("offset", std::int64_t{-1});
  windows.alone = json.value("anchor", std::string("variant")) == "variant" && json.value("shifts", 1) == 1;
  return windows;
}

void add_scores(ReportSection& section, const std::string& path, const ReportOptions& options,
                const ScoredWindows& windows, const AllelePicture& picture) {
  VariantTable table(path);
  const auto diff = table.find_column("diff"), lfc = table.find_column("lfc"),
             profile = table.find_column("profile"), e = table.find_column("e"),
             funsig = table.find_column("funsig");
  if (!diff || !lfc) {
    throw_bad_input(path + ": no columns diff and lfc",
                    "give what `bigbird variants` wrote: a VCF or a table");
  }
  StrongestAlleles strongest(options.strongest);
  HistogramValues diffs{"alleles", {}}, effects{"alleles", {}}, values_e{"alleles", {}};
  VariantRow row;
  while (table.next(row)) {
    const double d = number_in(row, diff, table), l = number_in(row, lfc, table);
    const double effect = std::abs(d * l);
    strongest.take(row, {effect, 0.0});
    if (std::isfinite(d)) diffs.values.push_back(d);
    if (effect > 0) effects.values.push_back(std::log10(effect));
    if (const double value = number_in(row, e, table); std::isfinite(value)) values_e.values.push_back(value);
  }
  ReportCharts charts = {histogram("differences of the prediction (diff)", "p(ALT) - p(REF)", {diffs}, false),
                         histogram("effects, |lfc x diff|", "log10", {effects}, false)};
  if (!values_e.values.empty()) charts.emplace_back(histogram("E-values", "E", {values_e}, false, 20));
  section.add(std::move(charts));

  ReportTable list{fmt::format("the {} strongest by |lfc x diff|", strongest.rows().size()),
                   {"chrom", "pos", "ref", "alt", "effect", "diff", "lfc"},
                   {},
                   false};
  for (const auto& [name, column] : {std::pair{"profile", profile}, {"e", e}, {"funsig", funsig}}) {
    if (column) list.columns.emplace_back(name);
  }
  ReportCharts pictures;
  for (const RankedAllele& each : strongest.rows()) {
    const VariantRow& at = each.row;
    std::vector<std::string> cells = {at.chrom,       std::to_string(at.position + 1),     at.ref,
                                      at.alt,         fmt::format("{:.6g}", each.rank[0]), at.fields[*diff],
                                      at.fields[*lfc]};
    for (const auto& column : {profile, e, funsig}) {
      if (column) cells.push_back(at.fields[*column]);
    }
    list.rows.push_back(std::move(cells));
    if (!picture) continue;
    StrongAllele allele{at.chrom, at.position, at.ref, at.alt, {}, windows};
    if (profile && !is_missing(at.fields[*profile])) allele.profile = at.fields[*profile];
    if (ReportPicture drawn = picture(allele); !drawn.svg.empty()) pictures.emplace_back(std::move(drawn));
  }
  section.add(std::move(list));
  if (!pictures.empty()) section.add(std::move(pictures));
}

}  // namespace

ReportSection variants_section(const std::string& path, const ReportOptions& options,
                               const AllelePicture& picture) {
  ReportSection section{path, "variants", {}};
  const VariantSummary summary = read_variant_summary(path + ".summary.json");
  add_counts(section, summary);
  if (summary.format == "npy" || summary.format == "h5") {
    section.add(ReportText{
        "Scores are in matrices: their distribution and the strongest alleles are shown of a VCF or a table."});
  } else if (summary.format == "b") {
    section.add(ReportText{
        "Scores are in BCF: for their distribution, give the VCF that bcftools view makes of it."});
  } else {
    add_scores(section, path, options, scored_windows(summary.run), picture);
  }
  add_skipped(section, path + ".skipped.tsv");
  section.add(provenance_facts(std::filesystem::exists(path + ".skipped.tsv")
                                   ? TsvReader(path + ".skipped.tsv").comments()
                                   : std::vector<std::string>{}));
  return section;
}

}  // namespace bigbird
