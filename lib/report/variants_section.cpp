// Scored variants in a report: how many, what was left out and why, how scores lie, and the strongest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
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

namespace bigbird {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t skipped_shown = 100;
constexpr std::size_t contigs_shown = 20;

struct Scored {
  VariantRow row;
  double effect = 0;
};

// The rows with the largest effects, of equal ones the first.
class Strongest {
 public:
  explicit Strongest(std::size_t most) : most_(most) {}
  void take(const VariantRow& row, double effect) {
    if (most_ == 0 || !std::isfinite(effect)) return;
    if (rows_.size() == most_ && !(effect > rows_.back().effect)) return;
    const auto place =
        std::upper_bound(rows_.begin(), rows_.end(), effect,
                         [](double value, const Scored& other) { return value > other.effect; });
    rows_.insert(place, {row, effect});
    if (rows_.size() > most_) rows_.pop_back();
  }
  const std::vector<Scored>& rows() const { return rows_; }

 private:
  std::size_t most_;
  std::vector<Scored> rows_;
};

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

double field(const VariantRow& row, const std::optional<std::size_t>& column, const VariantTable& table) {
  if (!column || is_missing(row.fields[*column])) return nothing;
  return parse_number(row.fields[*column], table.where(), table.columns()[*column]);
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
  Strongest strongest(options.strongest);
  HistogramValues diffs{"alleles", {}}, effects{"alleles", {}}, values_e{"alleles", {}};
  VariantRow row;
  while (table.next(row)) {
    const double d = field(row, diff, table), l = field(row, lfc, table);
    const double effect = std::abs(d * l);
    strongest.take(row, effect);
    if (std::isfinite(d)) diffs.values.push_back(d);
    if (effect > 0) effects.values.push_back(std::log10(effect));
    if (const double value = field(row, e, table); std::isfinite(value)) values_e.values.push_back(value);
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
  for (const Scored& each : strongest.rows()) {
    const VariantRow& at = each.row;
    std::vector<std::string> cells = {at.chrom,       std::to_string(at.position + 1),    at.ref,
                                      at.alt,         fmt::format("{:.6g}", each.effect), at.fields[*diff],
                                      at.fields[*lfc]};
    for (const auto& column : {profile, e, funsig}) {
      if (column) cells.push_back(at.fields[*column]);
    }
    list.rows.push_back(std::move(cells));
    if (!picture) continue;
    StrongAllele allele{at.chrom, at.position, at.ref, at.alt, -1, windows};
    if (profile && !is_missing(at.fields[*profile]))
      allele.profile = static_cast<std::int64_t>(field(at, profile, table));
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
