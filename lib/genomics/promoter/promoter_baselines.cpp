// See promoter_baselines.h.
#include "lib/genomics/promoter/promoter_baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

using BaselineJson = nlohmann::basic_json<OrderedMap>;

struct LabelledRows {
  SparseRows kmers;
  std::vector<double> gc;
  std::vector<std::uint8_t> labels;
  std::int64_t length = 0;
};

LabelledRows read_rows(const LabelledSource& source, double max_n, Sha256& digest) {
  LabelledRows side;
  KmerFeatures features(false);
  side.kmers.features = features.count();
  std::vector<KmerValue> row;
  Window window;
  const std::unique_ptr<WindowReader> reader = read_labelled_windows(source);
  while (reader->next(window)) {
    if (window.label > 1) {
      throw_bad_input(
          fmt::format("{}: example {} has label {}", source.path, text_for_message(window.id), window.label),
          "baselines are of promoters, 1, and what is none, 0");
    }
    if (share_of_n(window.sequence) > max_n) continue;
    const std::string line = fmt::format("{} {}\n", window.sequence, window.label);
    digest.update(line.data(), line.size());
    if (side.labels.empty()) side.length = static_cast<std::int64_t>(window.sequence.size());
    features.of(window.sequence, row);
    side.kmers.add(row);
    side.gc.push_back(share_of_gc(window.sequence));
    side.labels.push_back(static_cast<std::uint8_t>(window.label));
  }
  const auto promoters = static_cast<std::size_t>(std::count(side.labels.begin(), side.labels.end(), 1));
  if (promoters == 0 || promoters == side.labels.size()) {
    throw_bad_input(
        fmt::format("{}: {} windows, {} of them promoters", source.path, side.labels.size(), promoters),
        "baselines are fitted to windows of both classes");
  }
  return side;
}

struct ByClass {
  std::vector<double> positives, negatives;
};

template <typename Label>
ByClass by_label(const std::vector<Label>& labels, const std::vector<double>& scores, double sign) {
  ByClass classes;
  for (std::size_t i = 0; i < labels.size(); ++i)
    (labels[i] == 1 ? classes.positives : classes.negatives).push_back(sign * scores[i]);
  return classes;
}

// The score from which on the highest MCC calls positives; of equals the lowest. `classes` are sorted.
double best_threshold(ByClass& classes) {
  rank_metrics(classes.positives, classes.negatives);
  const auto positives = static_cast<double>(classes.positives.size());
  const auto negatives = static_cast<double>(classes.negatives.size());
  double best = -std::numeric_limits<double>::infinity(), threshold = 0, fn = 0, tn = 0;
  for_each_tie(classes.positives, classes.negatives,
               [&](double score, std::size_t tied_positives, std::size_t tied_negatives) {
                 const double tp = positives - fn, fp = negatives - tn;
                 const double under = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn);
                 const double mcc = under == 0 ? 0 : (tp * tn - fp * fn) / std::sqrt(under);
                 if (mcc > best) {
                   best = mcc;
                   threshold = score;
                 }
                 fn += static_cast<double>(tied_positives);
                 tn += static_cast<double>(tied_negatives);
               });
  return threshold;
}

void fit_kmers(PromoterBaselines& fitted, const LabelledRows& train,
               const std::optional<LabelledRows>& valid) {
  std::vector<LogisticTask> tasks;
  for (const double l2 : logistic_penalties) {
    if (valid || l2 == usual_logistic_penalty) tasks.push_back({train.labels, l2});
  }
  const std::vector<LogisticModel> models = fit_logistic(train.kmers, tasks, {});
  std::size_t best = 0;
  if (valid) {
    std::vector<double> losses;
    for (const LogisticModel& model : models) losses.push_back(log_loss(model, valid->kmers, valid->labels));
    best = static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  }
  fitted.kmers = models[best];
  fitted.l2 = tasks[best].l2;
  fitted.l2_from = valid ? "valid" : "default";
  if (!fitted.kmers.converged) {
    log_warning(fmt::format("{}: the 6-mer regression did not converge in {} steps", fitted.from,
                            fitted.kmers.steps));
  }
  const LabelledRows& chosen_by = valid ? *valid : train;
  ByClass classes = by_label(chosen_by.labels, fitted.kmers.logits(chosen_by.kmers), 1);
  fitted.kmers_threshold = best_threshold(classes);
}

}  // namespace

PromoterBaselines fit_promoter_baselines(const std::string& from, double max_n) {
  PromoterBaselines fitted;
  if (from.empty()) return fitted;
  std::optional<LabelledSource> source = LabelledSource{from}, valid_source;
  if (folder_exists(from)) {
    source = labelled_side(from, "train");
    valid_source = labelled_side(from, "valid");
    if (!source) {
      throw_bad_input(from + ": no train.tsv or train.csv in it",
                      "give a folder of `bigbird promoter build`, or a labelled table");
    }
  }
  Sha256 digest;
  const LabelledRows train = read_rows(*source, max_n, digest);
  digest.update("valid\n", 6);
  std::optional<LabelledRows> valid;
  if (valid_source) valid = read_rows(*valid_source, max_n, digest);
  fitted.digest = digest.finish();
  fitted.from = from;
  fitted.windows = train.labels.size();
  fitted.promoters = static_cast<std::size_t>(std::count(train.labels.begin(), train.labels.end(), 1));
  fitted.length = train.length;
  ByClass more = by_label(train.labels, train.gc, 1);
  fitted.less_gc = rank_metrics(more.positives, more.negatives).auroc < 0.5;
  ByClass gc = by_label(train.labels, train.gc, fitted.less_gc ? -1 : 1);
  fitted.gc_threshold = best_threshold(gc);
  fit_kmers(fitted, train, valid);
  return fitted;
}

BaselineScorer::BaselineScorer(const PromoterBaselines& fitted) : fitted_(fitted), features_(false) {}

double BaselineScorer::kmers(std::string_view window) {
  features_.of(window, row_);
  return fitted_.kmers.logit(row_);
}

BaselineEvaluation::BaselineEvaluation(const PromoterBaselines& fitted) : fitted_(fitted), scorer_(fitted) {}

void BaselineEvaluation::add(const Window& window) {
  labels_.push_back(window.label);
  gc_.push_back(scorer_.gc(window.sequence));
  if (!fitted_.from.empty()) kmers_.push_back(scorer_.kmers(window.sequence));
}

double BaselineEvaluation::gc_sign(double& auroc) const {
  ByClass classes = by_label(labels_, gc_, 1);
  auroc = rank_metrics(classes.positives, classes.negatives).auroc;
  const bool less = fitted_.from.empty() ? auroc < 0.5 : fitted_.less_gc;
  if (less) auroc = 1 - auroc;
  return less ? -1 : 1;
}

std::string BaselineEvaluation::json() const {
  if (labels_.empty()) return "";
  const auto measured = [&](const std::vector<double>& scores, double threshold) {
    return BaselineJson::parse(metrics_json(binary_metrics(labels_, scores, threshold), ""));
  };
  double auroc = 0;
  const double sign = gc_sign(auroc);
  std::vector<double> gc = gc_;
  for (double& share : gc) share *= sign;
  BaselineJson json;
  BaselineJson row = measured(gc, fitted_.gc_threshold);
  if (fitted_.from.empty()) {
    row = {{"auroc", row["auroc"]}, {"auprc", row["auprc"]}};
  } else {
    row["threshold"] = sign * fitted_.gc_threshold;
  }
  row["promoters_have"] = sign < 0 ? "less" : "more";
  json["gc"] = std::move(row);
  if (!fitted_.from.empty()) {
    row = measured(kmers_, fitted_.kmers_threshold);
    row["l2"] = fitted_.l2;
    row["l2_from"] = fitted_.l2_from;
    row["windows"] = fitted_.windows;
    row["from"] = fitted_.from;
    json["kmers"] = std::move(row);
  }
  return json_text(json);
}

std::string BaselineEvaluation::line() const {
  double auroc = 0;
  const double sign = gc_sign(auroc);
  if (std::isnan(auroc)) return "";
  std::string text =
      fmt::format("AUROC {:.4f} by {} G and C", auroc, sign < 0 ? "a lower fraction of" : "the fraction of");
  if (!kmers_.empty()) {
    ByClass classes = by_label(labels_, kmers_, 1);
    text += fmt::format(", {:.4f} by 6-mers", rank_metrics(classes.positives, classes.negatives).auroc);
  }
  return text;
}

}  // namespace bigbird
