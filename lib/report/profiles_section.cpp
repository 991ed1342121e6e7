// Scores of chromatin profiles in a report: a row for each profile, whatever sets of predictions were scored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "lib/io/tables/tsv.h"
#include "lib/metrics/metrics.h"
#include "lib/report/charts.h"
#include "lib/report/labels.h"
#include "lib/report/report_inputs.h"
#include "lib/report/shown_numbers.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr std::size_t extremes = 15;  // profiles that are listed from each end
constexpr std::size_t most_drawn_groups = 8;

struct ScoredProfile {
  std::map<std::string, std::string> fields;                          // of columns that all sets share
  std::map<std::string, std::pair<std::string, std::string>> scores;  // AUROC and AUPRC by set
  std::string group;
};

struct ProfileTable {
  std::vector<std::string> columns;  // shared ones
  std::vector<std::string> sets, groups;
  std::vector<ScoredProfile> profiles;                                      // in their order
  std::map<std::string, std::map<std::string, std::vector<double>>> auroc;  // by group and set
  std::size_t rows = 0, scored = 0;
};

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

ProfileTable read_profiles(TsvReader& reader) {
  ProfileTable table;
  for (const std::string& column : reader.columns()) {
    if (column != "auroc" && column != "auprc" && column != "predictions") table.columns.push_back(column);
  }
  const bool several = reader.has_column("predictions"), grouped = reader.has_column("group");
  const std::size_t index = reader.column("index"), auroc = reader.column("auroc"),
                    auprc = reader.column("auprc");
  std::map<std::string, std::size_t> places;
  std::vector<std::string_view> fields;
  while (reader.next(fields)) {
    ++table.rows;
    const auto [at, is_new] = places.emplace(fields[index], table.profiles.size());
    if (is_new) table.profiles.emplace_back();
    ScoredProfile& profile = table.profiles[at->second];
    for (const std::string& column : table.columns) {
      std::string& field = profile.fields[column];
      if (is_new || is_missing(field)) field = fields[reader.column(column)];
    }
    profile.group = grouped ? std::string(fields[reader.column("group")]) : "all";
    std::string set = several ? std::string(fields[reader.column("predictions")]) : std::string();
    if (is_missing(set)) set.clear();
    profile.scores[set] = {std::string(fields[auroc]), std::string(fields[auprc])};
    if (is_missing(fields[auroc])) continue;
    const double value = parse_number(fields[auroc], reader.where(), "auroc");
    if (!std::isfinite(value)) continue;
    ++table.scored;
    add_new(table.groups, profile.group);
    add_new(table.sets, set);
    table.auroc[profile.group][set].push_back(value);
  }
  return table;
}

// The set that profiles are ordered by: the model's, on both strands where it has both.
std::string main_set(const std::vector<std::string>& sets) {
  std::string main;
  bool found = false;
  for (const std::string& set : sets) {
    if (set == "gc" || set == "kmers") continue;
    if (!found || set == "rc") main = set;
    found = true;
  }
  return found || sets.empty() ? main : sets.front();
}

double number_or_nan(const std::string& text) {
  return is_number_text(text) ? std::stod(text) : std::nan("");
}

// In the order of their AUROC, from the highest; those without one at the end.
std::vector<const ScoredProfile*> by_auroc(const ProfileTable& table, const std::string& set) {
  std::vector<const ScoredProfile*> order;
  for (const ScoredProfile& profile : table.profiles) order.push_back(&profile);
  const auto rank = [&](const ScoredProfile* profile) {
    const auto found = profile->scores.find(set);
    const double value = found == profile->scores.end() ? std::nan("") : number_or_nan(found->second.first);
    return std::isfinite(value) ? value : -1.0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
  return order;
}

ReportTable table_of(const ProfileTable& table, const std::vector<const ScoredProfile*>& profiles,
                     std::string caption, bool folded) {
  ReportTable listed{std::move(caption), {}, {}, folded};
  listed.columns = labels_of(table.columns);
  for (const char* measure : {"AUROC", "AUPRC"}) {
    for (const std::string& set : table.sets)
      listed.columns.push_back(measure + (set.empty() ? "" : ", " + set_name(set)));
  }
  for (const ScoredProfile* profile : profiles) {
    std::vector<std::string> cells;
    for (const std::string& column : table.columns) cells.push_back(profile->fields.at(column));
    for (const bool first : {true, false}) {
      for (const std::string& set : table.sets) {
        const auto found = profile->scores.find(set);
        cells.push_back(found == profile->scores.end() ? ""
                        : first                        ? found->second.first
                                                       : found->second.second);
      }
    }
    listed.rows.push_back(std::move(cells));
  }
  return listed;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return percentile(values, 0.5);
}

void add_charts(ReportSection& section, ProfileTable& table) {
  BarChart medians{"median AUROC", "lines: lowest to highest", {}, 1.0, 0.5, "chance"};
  ReportCharts charts;
  std::vector<LineChart> spread;
  for (const std::string& group : table.groups) {
    std::vector<HistogramValues> kinds;
    for (const std::string& set : table.sets) {
      auto found = table.auroc[group].find(set);
      if (found == table.auroc[group].end()) continue;
      std::vector<double>& values = found->second;
      std::sort(values.begin(), values.end());
      medians.bars.push_back({set.empty() ? group : group + ", " + set_name(set), percentile(values, 0.5),
                              std::pair{values.front(), values.back()}});
      kinds.push_back({set.empty() ? group : set_name(set), values});
    }
    if (spread.size() == most_drawn_groups) continue;
    spread.push_back(histogram("AUROC of profiles, " + group, "AUROC", kinds, false, 20, 0.5));
    spread.back().y_label = "profiles";
    spread.back().x_mark = 0.5;
    spread.back().x_mark_name = "chance";
  }
  charts.emplace_back(std::move(medians));
  for (LineChart& chart : spread) charts.emplace_back(std::move(chart));
  section.add(std::move(charts));
}

void add_first_screen(FirstScreen& screen, const ProfileTable& table, const std::string& main) {
  std::vector<double> all;
  for (const std::string& group : table.groups) {
    const auto& sets = table.auroc.at(group);
    const auto model = sets.find(main);
    if (model == sets.end()) continue;
    all.insert(all.end(), model->second.begin(), model->second.end());
    if (screen.figures.size() == 3) continue;
    std::vector<Rival> rivals;
    for (const char* name : {"gc", "kmers"}) {
      const auto rival = sets.find(name);
      if (rival != sets.end()) rivals.push_back({set_name(name), median_of(rival->second)});
    }
    add_compared(screen, "median AUROC, " + group, median_of(model->second), rivals);
    if (rivals.empty()) screen.figures.back().beside = "chance 0.5";
  }
  screen.general = {{"profiles", static_cast<double>(table.profiles.size())}};
  if (all.empty()) return;
  screen.general.emplace_back("median AUROC", median_of(all));
  screen.outcome = fmt::format("median AUROC {} of {} profiles", three_digits(median_of(all)), all.size());
}

}  // namespace

ReportSection profiles_section(const std::string& path) {
  ReportSection section{path, "profiles", {}};
  TsvReader reader(path);
  ProfileTable table = read_profiles(reader);
  const std::string main = main_set(table.sets);
  section.first.asked = asked_of_lines(reader.comments(), path);
  add_first_screen(section.first, table, main);
  section.add(ReportFacts{{"profiles", std::to_string(table.profiles.size())},
                          {"rows", std::to_string(table.rows)},
                          {"with an AUROC", std::to_string(table.scored)}});
  add_charts(section, table);
  const std::vector<const ScoredProfile*> order = by_auroc(table, main);
  if (order.size() <= 2 * extremes) {
    section.add(table_of(table, order, "profiles, from the highest AUROC", false));
  } else {
    section.add(table_of(table, {order.begin(), order.begin() + extremes}, "highest AUROC", false));
    // Those without an AUROC are in the whole table.
    std::vector<const ScoredProfile*> low;
    for (std::size_t i = order.size(); i-- > extremes && low.size() < extremes;) {
      const auto found = order[i]->scores.find(main);
      if (found != order[i]->scores.end() && is_number_text(found->second.first)) low.push_back(order[i]);
    }
    section.add(table_of(table, low, "lowest AUROC", false));
    section.add(table_of(table, order, "all", true));
  }
  section.add(provenance_facts(reader.comments()));
  return section;
}

}  // namespace bigbird
