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
#include "lib/report/genome_browser.h"
#include "lib/report/labels.h"
#include "lib/report/report_inputs.h"
#include "lib/report/shown_numbers.h"
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
  ReportTable words{"what these words mean", {"word", "alleles", "meaning"}, {}, true};
  const auto bars = [&](const std::string& title, const auto& counts,
                        std::string (*meaning)(std::string_view)) {
    BarChart chart{title, "alleles", {}, {}};
    for (const auto& [name, count] : counts) {
      chart.bars.push_back({name, static_cast<double>(count), {}});
      if (meaning != nullptr) words.rows.push_back({name, std::to_string(count), meaning(name)});
    }
    if (!chart.bars.empty()) charts.emplace_back(std::move(chart));
  };
  bars("why alleles were skipped", tally.skipped, reason_in_words);
  bars("scored alleles with a remark", tally.flags, flag_in_words);
  if (!tally.unknown_contigs.empty()) {
    bars("records on contigs that the genome lacks", largest_counts(tally.unknown_contigs), nullptr);
    std::get<BarChart>(charts.back()).x_label = "records";
  }
  if (!charts.empty()) section.add(std::move(charts));
  words.folded = false;
  if (!words.rows.empty()) section.add(std::move(words));
}

constexpr double most_skipped = 0.1;  // share of alleles without a word

void add_first_screen(FirstScreen& screen, const VariantSummary& summary, const std::string& path) {
  const VariantTally& tally = summary.tally;
  const auto provenance = nlohmann::json::parse(summary.provenance.empty() ? "{}" : summary.provenance);
  const auto files = nlohmann::json::parse(summary.files.empty() ? "{}" : summary.files);
  ReportFacts inputs;
  for (const auto& input : provenance.value("inputs", nlohmann::json::array()))
    inputs.emplace_back(input.value("role", std::string()), input.value("path", std::string()));
  const auto input = files.find("input");
  screen.asked = asked_of(provenance.value("command", std::string()), inputs, path,
                          input != files.end() && input->is_string() ? input->get<std::string>() : "");
  // Without its provenance it is all the same an output of that verb.
  if (!provenance.contains("command") && input != files.end() && input->is_string())
    screen.asked = "variants of " + std::filesystem::path(input->get<std::string>()).filename().string();
  screen.outcome =
      fmt::format("{} of {} alleles scored", count_text(tally.scored), count_text(tally.alleles));
  const std::uint64_t skipped = tally.skipped.total();
  const std::string commonest = tally.skipped.most_frequent();
  const std::string reason = skipped == 0 ? ""
                                          : fmt::format("{} {}", count_text(tally.skipped.count(commonest)),
                                                        with_words(commonest, reason_in_words(commonest)));
  screen.figures = {{"alleles scored", count_text(tally.scored), "of " + count_text(tally.alleles)},
                    {"skipped", count_text(skipped), skipped == 0 ? "" : "most often: " + reason}};
  screen.general = {{"alleles scored", static_cast<double>(tally.scored)},
                    {"skipped", static_cast<double>(skipped)}};
  if (static_cast<double>(skipped) > most_skipped * static_cast<double>(tally.alleles)) {
    screen.warnings.push_back(fmt::format("{} of {} alleles were skipped, most often {}.",
                                          count_text(skipped), count_text(tally.alleles), reason));
  }
  if (const std::uint64_t other = tally.skipped.count("ref_mismatch"); other > 0)
    screen.warnings.push_back(fmt::format(
        "Alleles whose REF is not the genome's: {}. Is it the right assembly?", count_text(other)));
}

void add_skipped(ReportSection& section, const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  TsvReader reader(path);
  ReportTable table{"", labels_of(reader.columns()), {}, true};
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
  if (const auto language = json.find("language"); language != json.end())
    windows.passes = language->value("passes", std::string());
  windows.alone = json.value("anchor", std::string("variant")) == "variant" && json.value("shifts", 1) == 1;
  return windows;
}

// How the table of a kind of model is read: of profiles, or of a language model.
struct ScoreView {
  std::size_t value = 0;                             // a column that is drawn
  std::optional<std::size_t> factor;                 // effect: |value|, or |value x factor|
  std::vector<std::size_t> shown;                    // columns in the list of the strongest
  std::string effect, short_effect, drawn, drawn_x;  // in words

  double effect_of(const VariantRow& row, const VariantTable& table) const {
    const double one = number_in(row, value, table);
    return std::abs(factor ? one * number_in(row, factor, table) : one);
  }
};

ScoreView view_of(const VariantTable& table, const std::string& path) {
  ScoreView view;
  if (const auto ratio = table.find_column("lm_llr")) {
    view.value = *ratio;
    view.effect = "|log-likelihood ratio|";
    view.short_effect = "|ln ratio|";
    view.drawn = "log-likelihood ratios";
    view.drawn_x = "ln P(ALT) - ln P(REF)";
  } else {
    const auto diff = table.find_column("diff"), lfc = table.find_column("lfc");
    if (!diff || !lfc) {
      throw_bad_input(path + ": no columns diff and lfc, and no lm_llr",
                      "give what `bigbird variants` wrote: a VCF or a table");
    }
    view.value = *diff;
    view.factor = *lfc;
    view.effect = "|log2 fold change x difference|";
    view.short_effect = "|lfc x diff|";
    view.drawn = "differences of the prediction";
    view.drawn_x = "p(ALT) - p(REF)";
  }
  for (const char* name : {"diff", "lfc", "lm_llr", "lm_gain", "lm_l2", "profile", "e", "funsig"})
    if (const auto column = table.find_column(name)) view.shown.push_back(*column);
  return view;
}

void add_scores(ReportSection& section, const std::string& path, const ReportOptions& options,
                const ScoredWindows& windows, const GenomeBrowser& browser, const AllelePicture& picture) {
  VariantTable table(path);
  const ScoreView view = view_of(table, path);
  const auto profile = table.find_column("profile"), e = table.find_column("e");
  StrongestAlleles strongest(options.strongest);
  HistogramValues values{"alleles", {}}, effects{"alleles", {}}, values_e{"alleles", {}};
  VariantRow row;
  while (table.next(row)) {
    const double value = number_in(row, view.value, table), effect = view.effect_of(row, table);
    strongest.take(row, {effect, 0.0});
    if (std::isfinite(value)) values.values.push_back(value);
    if (effect > 0) effects.values.push_back(std::log10(effect));
    if (const double of_e = number_in(row, e, table); std::isfinite(of_e)) values_e.values.push_back(of_e);
  }
  ReportCharts charts = {histogram(view.drawn, view.drawn_x, {values}, false),
                         histogram("effects, " + view.short_effect, "log10", {effects}, false)};
  if (!values_e.values.empty()) charts.emplace_back(histogram("E-values", "E", {values_e}, false, 20));
  ReportTable list{fmt::format("the {} strongest by effect, {}", strongest.rows().size(), view.effect),
                   {"contig", "position", "REF", "ALT", "effect"},
                   {},
                   false,
                   1};
  for (const std::size_t column : view.shown) list.columns.push_back(label_of(table.columns()[column]));
  ReportCharts pictures;
  for (const RankedAllele& each : strongest.rows()) {
    const VariantRow& at = each.row;
    std::vector<std::string> cells = {at.chrom, std::to_string(at.position + 1), at.ref, at.alt,
                                      fmt::format("{}", each.rank[0])};
    for (const std::size_t column : view.shown) cells.push_back(at.fields[column]);
    list.rows.push_back(std::move(cells));
    list.links.push_back(
        browser.link(at.chrom, at.position, at.position + static_cast<std::int64_t>(at.ref.size())));
    if (!picture) continue;
    StrongAllele allele{at.chrom, at.position, at.ref, at.alt, {}, windows};
    if (profile && !is_missing(at.fields[*profile])) allele.profile = at.fields[*profile];
    if (ReportPicture drawn = picture(allele); !drawn.svg.empty()) pictures.emplace_back(std::move(drawn));
  }
  if (!strongest.rows().empty()) {
    const RankedAllele& first = strongest.rows().front();
    KeyFigure figure{
        "largest effect", three_digits(first.rank[0]),
        fmt::format("{}:{} {}>{}", first.row.chrom, first.row.position + 1, first.row.ref, first.row.alt)};
    if (profile && !is_missing(first.row.fields[*profile]))
      figure.beside += ", " + first.row.fields[*profile];
    if (e && !is_missing(first.row.fields[*e])) figure.beside += ", E " + shown_cell(first.row.fields[*e]);
    section.first.figures.push_back(std::move(figure));
    section.first.general.emplace_back("largest effect", first.rank[0]);
  }
  if (!values_e.values.empty()) {
    section.first.general.emplace_back("smallest E-value",
                                       *std::min_element(values_e.values.begin(), values_e.values.end()));
  }
  if (!pictures.empty()) {
    section.add(ReportText{
        "Logos of the strongest: the box is the variant. Letters and colours of each have a scale of their own, written "
        "below it."});
    section.add(std::move(pictures));
  }
  section.add(std::move(list));
  section.add(std::move(charts));
}

}  // namespace

ReportSection variants_section(const std::string& path, const ReportOptions& options,
                               const AllelePicture& picture) {
  ReportSection section{path, "variants", {}};
  const VariantSummary summary = read_variant_summary(path + ".summary.json");
  add_first_screen(section.first, summary, path);
  ReportSection counts{path, "variants", {}};
  add_counts(counts, summary);
  if (summary.format == "npy" || summary.format == "h5") {
    section.add(ReportText{
        "Scores are in matrices: their distribution and the strongest alleles are shown of a VCF or a table."});
  } else if (summary.format == "b") {
    section.add(ReportText{
        "Scores are in BCF: for their distribution, give the VCF that bcftools view makes of it."});
  } else {
    const auto files = nlohmann::json::parse(summary.files.empty() ? "{}" : summary.files);
    add_scores(section, path, options, scored_windows(summary.run),
               GenomeBrowser::of_fasta(files.value("reference", std::string())), picture);
  }
  for (ReportElement& element : counts.elements) section.add(std::move(element));
  add_skipped(section, path + ".skipped.tsv");
  section.add(provenance_facts(std::filesystem::exists(path + ".skipped.tsv")
                                   ? TsvReader(path + ".skipped.tsv").comments()
                                   : std::vector<std::string>{}));
  return section;
}

}  // namespace bigbird
