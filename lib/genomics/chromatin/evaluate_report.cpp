// Writes the scores of chromatin predictions; see evaluate_report.h.
#include "lib/genomics/chromatin/evaluate_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

Json defined(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

Json group_json(const GroupScores& group) {
  Json json;
  json["profiles"] = group.profiles;
  json["scored"] = group.scored;
  json["median_auroc"] = defined(group.median_auroc);
  json["mean_auroc"] = defined(group.mean_auroc);
  json["min_auroc"] = defined(group.min_auroc);
  json["max_auroc"] = defined(group.max_auroc);
  json["median_auprc"] = defined(group.median_auprc);
  json["mean_auprc"] = defined(group.mean_auprc);
  json["median_share_positive"] = defined(group.median_share);
  return json;
}

}  // namespace

std::string chromatin_scores_json(const std::vector<ChromatinScores>& evaluations,
                                  const std::vector<Profile>& profiles, const std::string& provenance_json) {
  Json json;
  json["evaluations"] = Json::array();
  for (const ChromatinScores& scores : evaluations) {
    Json evaluation;
    evaluation["name"] = scores.name;
    evaluation["predictions"] = scores.predictions;
    evaluation["rows"] = scores.rows;
    evaluation["missing"] = scores.missing;
    for (const GroupScores& group : scores.groups) evaluation["groups"][group.group] = group_json(group);
    evaluation["undefined"] = Json::array();
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const ProfileScores& profile = scores.profiles[i];
      if (profile.scored()) continue;
      evaluation["undefined"].push_back({{"index", i},
                                         {"name", profiles[i].name},
                                         {"positives", profile.ranks.positives},
                                         {"negatives", profile.ranks.negatives}});
    }
    json["evaluations"].push_back(std::move(evaluation));
  }
  if (!provenance_json.empty()) json["provenance"] = Json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

void write_profile_scores(const std::string& path, const std::vector<ChromatinScores>& evaluations,
                          const std::vector<Profile>& profiles, const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(
      out,
      {"index", "name", "group", "positives", "auroc", "auprc", "negatives", "share_positive", "predictions"},
      comments);
  for (const ChromatinScores& scores : evaluations) {
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const ProfileScores& profile = scores.profiles[i];
      const RankMetrics& ranks = profile.ranks;
      const auto number = [&](double value) {
        return profile.scored() ? fmt::format("{}", value) : std::string(".");
      };
      const double share =
          static_cast<double>(ranks.positives) / static_cast<double>(ranks.positives + ranks.negatives);
      table.row({fmt::format("{}", i), profiles[i].name, profiles[i].group,
                 fmt::format("{}", ranks.positives), number(ranks.auroc), number(ranks.auprc),
                 fmt::format("{}", ranks.negatives), fmt::format("{:.6g}", share),
                 scores.name.empty() ? "." : scores.name});
    }
  }
  out.close();
}

std::vector<std::string> describe_chromatin_scores(const ChromatinScores& scores,
                                                   const std::vector<Profile>& profiles) {
  std::vector<std::string> lines;
  const std::string name = scores.name.empty() ? "" : scores.name + ": ";
  if (scores.missing > 0) {
    lines.push_back(fmt::format("{}{} of {} bins have no predictions and are left out", name, scores.missing,
                                scores.missing + scores.rows));
  }
  std::string left_out;
  std::size_t count = 0;
  constexpr std::size_t named = 20;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (scores.profiles[i].scored()) continue;
    if (++count > named) continue;
    left_out += fmt::format("{}{} {} (no {})", count == 1 ? "" : ", ", i, profiles[i].name,
                            scores.profiles[i].ranks.positives == 0 ? "positive" : "negative");
  }
  if (count > named) left_out += fmt::format(" and {} more", count - named);
  if (count > 0) lines.push_back(fmt::format("{}not scored: {}", name, left_out));
  for (const GroupScores& group : scores.groups) {
    if (group.scored == 0) {
      lines.push_back(fmt::format("{}{}: none of {} profiles is scored", name, group.group, group.profiles));
      continue;
    }
    lines.push_back(fmt::format(
        "{}{}: {} of {} profiles, median AUROC {:.4f}, mean {:.4f}, median AUPRC {:.4f}", name, group.group,
        group.scored, group.profiles, group.median_auroc, group.mean_auroc, group.median_auprc));
  }
  return lines;
}

}  // namespace bigbird
