// What stands beside predicted chromatin profiles: the fraction of G and C of a bin's window, and a logistic
// regression on its 6-mers for each profile (kmers.h, logistic_regression.h), fitted to bins of split train.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/genomics/chromatin/evaluate.h"
#include "lib/genomics/chromatin/evaluate_input.h"
#include "lib/io/genome/most_n.h"

namespace bigbird {

struct ChromatinBaselineOptions {
  bool kmers = false;  // besides G and C
  std::uint64_t most_bins =
      20'000;  // of split train, a random choice by the seed; a quarter of valid; 0: all
  double max_n = most_n_of_scored_window;  // bins whose window has a larger fraction of N are missing
  std::uint64_t seed = 1;
};

// "gc", then "kmers", of the bins of `labels`, which is the folder of `data`. Of G and C each profile takes
// the side, more or less, of the higher AUROC in train; without positives or negatives there, in the bins
// themselves. 6-mers are counted on both strands. All profiles have one L2 penalty, that of the lowest log
// loss in valid, in the mean over 16 profiles, spread evenly; without bins of valid the usual one. Memory: 8
// bytes for each distinct word of each window of train and valid, and with 6-mers 4 for each bin and profile.
// The numbers depend on the seed and not on threads. Error{bad_input} where there is nothing to fit to.
std::vector<ChromatinScores> score_chromatin_baselines(const ChromatinDataset& data,
                                                       const ChromatinLabels& labels,
                                                       const ChromatinBaselineOptions& options);

}  // namespace bigbird
