// Tables and JSON of an evaluation of scored alleles; see evaluate.h.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/genomics/variants/evaluate.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

std::string number_text(double value) {
  return std::isnan(value) ? missing_field : fmt::format("{:.6g}", value);
}

Json number_json(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

double share_of_positives(const RankMetrics& ranks) {
  return static_cast<double>(ranks.positives) / static_cast<double>(ranks.positives + ranks.negatives);
}

Json score_json(const ScoreEvaluation& one) {
  return {{"score", one.score.name},
          {"direction", score_direction_name(one.score.direction)},
          {"class", one.class_name},
          {"positives", one.ranks.positives},
          {"negatives", one.ranks.negatives},
          {"share", number_json(share_of_positives(one.ranks))},
          {"missing", one.missing},
          {"auroc", number_json(one.ranks.auroc)},
          {"auroc_low", number_json(one.interval.low)},
          {"auroc_high", number_json(one.interval.high)},
          {"auprc", number_json(one.ranks.auprc)}};
}

const char* measured_name(const EffectEvaluation& one) {
  return one.sizes ? "size" : "signed";
}

Json effect_json(const EffectEvaluation& one) {
  return {{"score", one.score.name},
          {"direction", score_direction_name(one.score.direction)},
          {"measured", measured_name(one)},
          {"alleles", one.alleles},
          {"missing", one.missing},
          {"spearman", number_json(one.spearman)},
          {"spearman_low", number_json(one.interval.low)},
          {"spearman_high", number_json(one.interval.high)},
          {"significant", one.significant.positives},
          {"auroc", number_json(one.significant.auroc)},
          {"auroc_low", number_json(one.auroc_interval.low)},
          {"auroc_high", number_json(one.auroc_interval.high)},
          {"auprc", number_json(one.significant.auprc)}};
}

Json comparison_json(const ScoreComparison& one) {
  Json json = {{"baseline", one.baseline.name}, {"direction", score_direction_name(one.baseline.direction)},
               {"ours", one.ours.name},         {"alleles", one.alleles},
               {"missing", one.missing},        {"spearman", number_json(one.spearman)},
               {"top", Json::array()}};
  for (const ScoreComparison::Top& top : one.top)
    json["top"].push_back({{"count", top.count}, {"shared", number_json(top.shared)}});
  return json;
}

}  // namespace

void write_evaluation_table(const std::string& path, const VariantEvaluation& evaluation,
                            const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out,
                  {"score", "direction", "class", "positives", "negatives", "share", "missing", "auroc",
                   "auroc_low", "auroc_high", "auprc"},
                  comments);
  for (const ScoreEvaluation& one : evaluation.scores) {
    table.row({one.score.name, score_direction_name(one.score.direction), one.class_name,
               std::to_string(one.ranks.positives), std::to_string(one.ranks.negatives),
               number_text(share_of_positives(one.ranks)), std::to_string(one.missing),
               number_text(one.ranks.auroc), number_text(one.interval.low), number_text(one.interval.high),
               number_text(one.ranks.auprc)});
  }
  out.close();
}

void write_effects_table(const std::string& path, const VariantEvaluation& evaluation,
                         const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out,
                  {"score", "direction", "measured", "alleles", "missing", "spearman", "spearman_low",
                   "spearman_high", "significant", "share", "auroc", "auroc_low", "auroc_high", "auprc"},
                  comments);
  for (const EffectEvaluation& one : evaluation.effects) {
    table.row({one.score.name, score_direction_name(one.score.direction), measured_name(one),
               std::to_string(one.alleles), std::to_string(one.missing), number_text(one.spearman),
               number_text(one.interval.low), number_text(one.interval.high),
               one.sizes ? std::to_string(one.significant.positives) : missing_field,
               number_text(share_of_positives(one.significant)), number_text(one.significant.auroc),
               number_text(one.auroc_interval.low), number_text(one.auroc_interval.high),
               number_text(one.significant.auprc)});
  }
  out.close();
}

void write_comparison_table(const std::string& path, const VariantEvaluation& evaluation,
                            const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out,
                  {"baseline", "direction", "ours", "alleles", "missing", "spearman", "top_100", "top_1000",
                   "top_1_percent"},
                  comments);
  for (const ScoreComparison& one : evaluation.comparisons) {
    std::vector<std::string> fields = {one.baseline.name,
                                       score_direction_name(one.baseline.direction),
                                       one.ours.name,
                                       std::to_string(one.alleles),
                                       std::to_string(one.missing),
                                       number_text(one.spearman)};
    for (const ScoreComparison::Top& top : one.top) fields.push_back(number_text(top.shared));
    table.row(fields);
  }
  out.close();
}

std::string variant_evaluation_json(const VariantEvaluation& evaluation, const std::string& provenance_json) {
  Json json;
  json["rows"] = evaluation.rows;
  json["rows_excluded"] = evaluation.rows_excluded;
  json["labels"] = {{"alleles", evaluation.labels},
                    {"found", evaluation.labels_found},
                    {"repeated", evaluation.labels_repeated},
                    {"rows_repeated", evaluation.rows_repeated},
                    {"left_out", Json::object()}};
  for (const auto& [reason, count] : evaluation.labels_left_out) json["labels"]["left_out"][reason] = count;
  json["scores"] = Json::array();
  for (const ScoreEvaluation& one : evaluation.scores) json["scores"].push_back(score_json(one));
  const VariantEvaluation::Measured& measured = evaluation.measured;
  json["measured"] = {{"alleles", measured.alleles},
                      {"rows", measured.rows},
                      {"significant", measured.significant},
                      {"found", measured.found},
                      {"left_out", Json::object()}};
  for (const auto& [reason, count] : measured.left_out) json["measured"]["left_out"][reason] = count;
  json["effects"] = Json::array();
  for (const EffectEvaluation& one : evaluation.effects) json["effects"].push_back(effect_json(one));
  json["comparisons"] = Json::array();
  for (const ScoreComparison& one : evaluation.comparisons)
    json["comparisons"].push_back(comparison_json(one));
  if (!provenance_json.empty()) json["provenance"] = Json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
