// Called promoters in a report: where they lie, the strongest, and how far the next known TSS is where the
// scan was given them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "lib/core/error.h"
#include "lib/genomics/promoter/scan.h"
#include "lib/genomics/promoter/tss.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/bed.h"
#include "lib/report/charts.h"
#include "lib/report/genome_browser.h"
#include "lib/report/report_inputs.h"
#include "lib/report/shown_numbers.h"

namespace bigbird {
namespace {

// The file that a scan was given as known TSS, as its calls' provenance names it; empty: none.
std::string known_tss_path(const std::vector<std::string>& provenance) {
  for (const std::string& line : provenance) {
    constexpr std::string_view given = "bigbird_input=tss:";
    if (line.rfind(given, 0) == 0) return line.substr(given.size(), line.find(" sha256=") - given.size());
  }
  return {};
}

// The genome of the scan; empty: not told.
std::string reference_of(const std::vector<std::string>& provenance) {
  for (const std::string& line : provenance) {
    constexpr std::string_view given = "bigbird_reference=";
    if (line.rfind(given, 0) == 0) return line.substr(given.size());
  }
  return {};
}

// Known TSS by contig, ascending.
using KnownPlaces = std::map<std::string, std::vector<std::int64_t>>;

KnownPlaces read_places(const std::string& path) {
  KnownPlaces places;
  TssReader reader(path);
  for (TssRow row; reader.next(row);) places[row.chrom].push_back(row.tss);
  for (auto& [contig, sites] : places) std::sort(sites.begin(), sites.end());
  return places;
}

// Bases between a call and the next known TSS of its contig, whatever the strand; nothing without one.
std::optional<std::int64_t> distance_to(const KnownPlaces& places, const BedRecord& call) {
  const auto found = places.find(call.chrom);
  if (found == places.end()) return std::nullopt;
  const std::vector<std::int64_t>& sites = found->second;
  const auto after = std::lower_bound(sites.begin(), sites.end(), call.thick_begin);
  std::optional<std::int64_t> nearest;
  if (after != sites.end()) nearest = *after - call.thick_begin;
  if (after != sites.begin()) {
    const std::int64_t before = call.thick_begin - *std::prev(after);
    nearest = nearest ? std::min(*nearest, before) : before;
  }
  return nearest;
}

// The distance that a scan counts as near: --within of its command, or what is usual.
std::int64_t within_of(const std::vector<std::string>& provenance) {
  for (const std::string& line : provenance) {
    const std::string option = std::string(2, '-') + "within ";
    const std::size_t at = line.find(option);
    if (line.rfind("bigbird_command=", 0) == 0 && at != std::string::npos)
      return std::strtoll(line.c_str() + at + option.size(), nullptr, 10);
  }
  return PromoterScanOptions{}.within;
}

void add_first_screen(FirstScreen& screen, const std::vector<BedRecord>& calls,
                      const std::optional<KnownPlaces>& places, std::int64_t within,
                      const std::vector<std::string>& provenance, const std::string& path) {
  screen.asked = "calls";
  if (!provenance.empty()) screen.asked += " of " + asked_of_lines(provenance, path);
  screen.outcome = count_text(calls.size()) + " promoters";
  screen.general = {{"calls", static_cast<double>(calls.size())}};
  screen.figures = {{"calls", count_text(calls.size())}};
  if (calls.empty()) return;
  const auto strongest = std::max_element(calls.begin(), calls.end(),
                                          [](const auto& a, const auto& b) { return a.score < b.score; });
  screen.figures.push_back({"highest score", three_digits(strongest->score / 1000),
                            fmt::format("{}:{}", strongest->chrom, strongest->thick_begin + 1)});
  if (!places) return;
  const auto near =
      static_cast<std::size_t>(std::count_if(calls.begin(), calls.end(), [&](const BedRecord& call) {
        const auto distance = distance_to(*places, call);
        return distance && *distance <= within;
      }));
  screen.figures.push_back({fmt::format("calls within {} bp of a TSS", within), count_text(near),
                            fmt::format("of {}", count_text(calls.size()))});
  warn_of_precision(screen, static_cast<double>(near) / static_cast<double>(calls.size()), "calls");
}

}  // namespace

ReportSection calls_section(const std::string& path, const ReportOptions& options) {
  ReportSection section{path, "calls", {}};
  BedReader reader(path);
  std::vector<BedRecord> calls;
  for (BedRecord record; reader.next(record);) calls.push_back(record);
  std::vector<std::pair<std::string, std::size_t>> contigs;
  HistogramValues scores{"calls", {}};
  for (const BedRecord& call : calls) {
    if (contigs.empty() || contigs.back().first != call.chrom) contigs.emplace_back(call.chrom, 0);
    ++contigs.back().second;
    scores.values.push_back(call.score / 1000);
  }
  BarChart by_contig{"calls by contig", "calls", {}, {}};
  constexpr std::size_t most_contigs = 40;
  for (const auto& [name, count] : contigs) {
    if (by_contig.bars.size() < most_contigs)
      by_contig.bars.push_back({name, static_cast<double>(count), {}});
  }
  const std::vector<std::string> provenance = provenance_beside(path);
  const std::string tss = known_tss_path(provenance);
  // The file may lie elsewhere by now, or the page is made in another folder.
  std::optional<KnownPlaces> places;
  if (!tss.empty() && std::filesystem::is_regular_file(tss)) places = read_places(tss);
  const std::int64_t within = within_of(provenance);
  add_first_screen(section.first, calls, places, within, provenance, path);
  section.add(ReportFacts{{"calls", std::to_string(calls.size())}});
  if (!tss.empty() && !places)
    section.add(
        ReportText{"The known TSS of the scan (" + tss + ") are not there: distances to them are left out."});
  if (!calls.empty())
    section.add(ReportCharts{histogram("scores of calls", "score", {scores}, false, 25), by_contig});
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  ReportTable table{"", {"contig", "start", "end", "name", "score", "strand", "TSS"}, {}, false, 1};
  const GenomeBrowser browser = GenomeBrowser::of_fasta(reference_of(provenance));
  if (places) {
    table.columns.emplace_back("bp to a known TSS");
    table.columns.push_back(fmt::format("within {} bp", within));
  }
  for (std::size_t i = 0; i < std::min(options.strongest, calls.size()); ++i) {
    const BedRecord& call = calls[i];
    table.rows.push_back({call.chrom, std::to_string(call.begin), std::to_string(call.end), call.name,
                          fmt::format("{:g}", call.score), std::string(1, call.strand),
                          std::to_string(call.thick_begin)});
    table.links.push_back(browser.link(call.chrom, call.begin, call.end));
    if (!places) continue;
    const std::optional<std::int64_t> distance = distance_to(*places, call);
    table.rows.back().push_back(distance ? std::to_string(*distance) : "");
    table.rows.back().emplace_back(distance && *distance <= within ? "yes" : "no");
  }
  table.caption = fmt::format("the {} strongest; coordinates as in the BED, from 0", table.rows.size());
  if (!table.rows.empty()) section.add(std::move(table));
  return section;
}

}  // namespace bigbird
