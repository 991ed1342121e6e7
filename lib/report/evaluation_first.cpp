// The first screen of an evaluation; see evaluation_first.h.
#include "lib/report/evaluation_first.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/core/ordered_map.h"
#include "lib/report/labels.h"
#include "lib/report/shown_numbers.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr std::size_t most_figures = 3;

std::optional<double> evaluated(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

const Json& member(const Json& json, const char* key) {
  static const Json none = Json::object();
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() || !found->is_object() ? none : *found;
}

std::string text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Of evaluations of one set of profiles: that of the model, on both strands where there are both, and the
// baselines.
void of_profiles(FirstScreen& screen, const Json& evaluations) {
  const Json* model = nullptr;
  std::vector<const Json*> baselines;
  for (const Json& each : evaluations) {
    if (member(each, "groups").empty()) continue;
    const std::string set = text_in(each, "name");
    if (set == "gc" || set == "kmers") {
      baselines.push_back(&each);
    } else if (model == nullptr || set == "rc") {
      model = &each;
    }
  }
  if (model == nullptr) return;
  const auto median = [](const Json& of, const std::string& group) {
    return evaluated(member(member(of, "groups"), group.c_str()), "median_auroc");
  };
  for (const auto& [group, row] : member(*model, "groups").items()) {
    const std::optional<double> value = evaluated(row, "median_auroc");
    if (!value || screen.figures.size() == most_figures) continue;
    std::vector<Rival> rivals;
    for (const Json* baseline : baselines)
      rivals.push_back({set_name(text_in(*baseline, "name")), median(*baseline, group)});
    add_compared(screen, "median AUROC, " + group, *value, rivals);
    if (rivals.empty()) screen.figures.back().beside = "chance 0.5";
  }
  if (screen.figures.empty()) return;
  std::optional<double> all = median(*model, "all");
  if (!all) all = median(*model, member(*model, "groups").begin().key());
  if (!all) return;
  screen.general.emplace_back("median AUROC", *all);
  screen.outcome = "median AUROC " + three_digits(*all);
}

// Of two classes.
void of_classes(FirstScreen& screen, const Json& json) {
  const Json& baselines = member(json, "baselines");
  const auto rivals = [&](const char* key) {
    std::vector<Rival> found;
    for (const char* name : {"gc", "kmers"})
      found.push_back({set_name(name), evaluated(member(baselines, name), key)});
    return found;
  };
  const auto auroc = evaluated(json, "auroc"), f1 = evaluated(json, "f1");
  if (auroc) {
    add_compared(screen, "AUROC", *auroc, rivals("auroc"));
    if (screen.figures.back().beside.empty()) screen.figures.back().beside = "chance 0.5";
    screen.general.emplace_back("AUROC", *auroc);
    screen.outcome = "AUROC " + three_digits(*auroc);
  }
  if (f1) {
    add_compared(screen, "F1", *f1, rivals("f1"));
    screen.general.emplace_back("F1", *f1);
    screen.outcome += (screen.outcome.empty() ? "F1 " : ", F1 ") + three_digits(*f1);
  }
  const auto precision = evaluated(json, "precision"), recall = evaluated(json, "recall"),
             threshold = evaluated(json, "threshold"), true_ones = evaluated(json, "tp"),
             false_ones = evaluated(json, "fp");
  if (!precision) return;
  screen.figures.push_back({"precision", three_digits(*precision),
                            recall ? "recall " + three_digits(*recall) +
                                         (threshold ? ", threshold " + three_digits(*threshold) : "")
                                   : ""});
  if (true_ones && false_ones && *true_ones + *false_ones == 0) {
    screen.warnings.push_back(
        fmt::format("No example is predicted to be positive at threshold {:g}.", threshold.value_or(0.5)));
  } else {
    warn_of_precision(screen, *precision, "examples that are predicted to be positive");
  }
}

// Of an encoder.
void of_masked_tokens(FirstScreen& screen, const Json& json) {
  const Json& baseline = member(json, "baseline");
  const auto rivals = [&](const char* key) {
    std::vector<Rival> found;
    for (const char* name : {"unigram", "bigram"})
      found.push_back({set_name(name), evaluated(member(baseline, name), key)});
    if (std::string(key) == "bits_per_base")
      found.push_back({set_name("markov"), evaluated(member(baseline, "markov"), "best_bits_per_base")});
    return found;
  };
  for (const char* key : {"bits_per_base", "mlm_loss"}) {
    const auto value = evaluated(json, key);
    if (!value) continue;
    const std::string label = label_of(key);
    add_compared(screen, label, *value, rivals(key), false);
    screen.general.emplace_back(label, *value);
    screen.outcome += (screen.outcome.empty() ? "" : ", ") + label + " " + three_digits(*value);
  }
  if (const auto accuracy = evaluated(json, "mlm_accuracy"))
    screen.figures.push_back({label_of("mlm_accuracy"), percent_text(*accuracy)});
}

// The first measures of any other evaluation, here or in a member of it.
void of_anything(FirstScreen& screen, const Json& json, int depth) {
  for (const char* key : {"accuracy", "macro_f1", "exact_match", "f1", "mcc", "rouge1", "rougeL", "pearson",
                          "spearmanr", "spearman", "auroc", "ece", "score"}) {
    const auto value = evaluated(json, key);
    if (!value || screen.figures.size() == most_figures) continue;
    const std::string label = label_of(key);
    screen.figures.push_back({label, three_digits(*value)});
    if (std::string(key) == "accuracy" && evaluated(json, "majority"))
      screen.figures.back().beside = "the most frequent class " + three_digits(*evaluated(json, "majority"));
    screen.outcome += (screen.outcome.empty() ? "" : ", ") + label + " " + three_digits(*value);
    const auto& columns = general_columns("evaluation");
    if (std::find(columns.begin(), columns.end(), label) != columns.end())
      screen.general.emplace_back(label, *value);
  }
  if (!screen.figures.empty() || depth == 2) return;
  for (const auto& [key, value] : json.items()) {
    if (screen.figures.empty() && value.is_object() && key != "provenance" && key != "run")
      of_anything(screen, value, depth + 1);
  }
}

}  // namespace

FirstScreen evaluation_first_screen(const std::string& text, const std::string& path) {
  FirstScreen screen;
  const Json json = Json::parse(text);
  const Json& provenance = member(json, "provenance");
  ReportFacts inputs;
  if (const auto given = provenance.find("inputs"); given != provenance.end() && given->is_array()) {
    for (const Json& input : *given) inputs.emplace_back(text_in(input, "role"), text_in(input, "path"));
  }
  screen.asked = asked_of(text_in(provenance, "command"), inputs, path);
  if (const auto evaluations = json.find("evaluations"); evaluations != json.end() && evaluations->is_array())
    of_profiles(screen, *evaluations);
  if (screen.figures.empty() && json.contains("auroc") && json.contains("f1")) of_classes(screen, json);
  if (screen.figures.empty() && json.contains("mlm_loss")) of_masked_tokens(screen, json);
  if (screen.figures.empty()) of_anything(screen, json, 0);
  return screen;
}

}  // namespace bigbird
