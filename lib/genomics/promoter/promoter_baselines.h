// What stands beside a promoter model's evaluation: the fraction of G and C of a window, and a logistic
// regression on its 6-mers (kmers.h, logistic_regression.h) that is fitted to labelled windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/genomics/kmers.h"
#include "lib/genomics/logistic_regression.h"
#include "lib/inference/windows.h"

namespace bigbird {

struct PromoterBaselines {
  std::string from;  // empty: there is nothing to fit to, and the fraction of G and C is all
  std::size_t windows = 0;
  std::size_t promoters = 0;  // of them
  std::int64_t length = 0;    // of the first window
  bool less_gc = false;       // which side of the share is taken for a promoter: of the higher AUROC
  double gc_threshold = 0;    // of the highest MCC on the windows, in the order that less_gc says
  LogisticModel kmers;
  double l2 = 0;               // its penalty
  std::string l2_from;         // "valid": of the lowest log loss there; "default"
  double kmers_threshold = 0;  // log odds of the highest MCC, on the valid side where there is one
  std::string digest() const;  // of all numbers; empty without `from`
};

// `from`: a folder with `train` and, as a rule, `valid` (or `dev`), or one labelled table
// (labelled_sequences.h). Windows with a larger fraction of N than max_n are left out. Nothing is fitted
// where it is empty. Memory: 8 bytes for each distinct word of each window. Error{bad_input} naming the
// file: no such side, labels other than 0 and 1, windows of one class.
PromoterBaselines fit_promoter_baselines(const std::string& from, double max_n);

// Scores of one window by either, higher for a promoter. Not safe from several threads at once.
class BaselineScorer {
 public:
  explicit BaselineScorer(const PromoterBaselines& fitted);  // which outlives it
  double gc(std::string_view window) const { return share_of_gc(window); }
  double kmers(std::string_view window);  // log odds; needs fitted.from

 private:
  const PromoterBaselines& fitted_;
  KmerFeatures features_;
  std::vector<KmerValue> row_;
};

// Windows that a model has scored, by the baselines.
class BaselineEvaluation {
 public:
  explicit BaselineEvaluation(const PromoterBaselines& fitted);
  void add(const Window& window);  // of label 0 or 1
  // {"gc": {"auroc", "auprc", "promoters_have": "less" or "more"}, "kmers": {...}}: the fields of metrics.h
  // where something was fitted; without, the side of the share is the one of the higher AUROC on these very
  // windows, and there is no threshold. Empty where there was no window.
  std::string json() const;
  // For a person, one line: "AUROC 0.5929 by the fraction of G and C alone, 0.8961 by 6-mers". Empty without
  // both classes.
  std::string line() const;

 private:
  double gc_sign(double& auroc) const;

  const PromoterBaselines& fitted_;
  BaselineScorer scorer_;
  std::vector<int> labels_;
  std::vector<double> gc_, kmers_;
};

}  // namespace bigbird
