// The promoter example files: one labelled window a row, as `promoter build` writes and `promoter finetune`,
// `predict` and `evaluate` read them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/inference/windows.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {

struct PromoterExample {
  std::string id;  // of the promoter; those of its negatives: negative_id() (negatives.h)
  std::string chrom;
  std::int64_t start = 0;  // 0-based half-open window on the genome
  std::int64_t end = 0;
  char strand = '+';
  int label = 0;         // 1 promoter, 0 negative
  std::string split;     // train, valid, test
  std::string sequence;  // on `strand`, A C G T N; its length is end - start
};

class PromoterExampleWriter {
 public:
  // Columns #id chrom start end strand label split sequence after the "##" lines.
  PromoterExampleWriter(const std::string& path, const std::vector<std::string>& provenance);
  void write(const PromoterExample& example);
  void close();

 private:
  OutputStream out_;
  TsvWriter table_;
};

class PromoterExampleReader {
 public:
  // Error naming the file when a column is missing.
  explicit PromoterExampleReader(const std::string& path);
  // False at the end. Errors name file and line: label other than 0 and 1, strand other than + and -, an
  // empty sequence or letters other than A C G T N (lower case is taken as upper).
  bool next(PromoterExample& example);
  std::string where() const { return table_.where(); }

 private:
  TsvReader table_;
  std::vector<std::size_t> columns_;
  std::vector<std::string_view> fields_;
};

// The examples of a file as windows, with their labels.
std::unique_ptr<WindowReader> read_example_windows(const std::string& path);

// Seeded splits of promoters into train, valid and test that keep related examples together.

// What stays on one side. promoter: all promoters at one TSS; gene: all promoters of one gene, and genes that
// share a TSS; chromosome: whole chromosomes.
enum class SplitUnit { promoter, gene, chromosome };

struct SplitPlan {
  SplitUnit unit = SplitUnit::promoter;
  int folds = 0;  // 0: one 80/10/10 split; else K of them, every promoter once in test
  // Without folds: whether the side is drawn. One that is not is named by place (genome_sides.h), and its
  // promoters are none of those that are split here.
  bool draws_test = true;
  bool draws_valid = true;
};

// "promoter", "gene", "chromosome", or "kfold:K" with or without ":UNIT" behind it (K folds, 3 to 100, of
// promoters where no unit is named); Error{usage} for another word.
SplitPlan parse_split(std::string_view word);
std::string split_name(const SplitPlan& plan);

// A stretch of a promoter's chromosome that its examples show: its own window, and that of a negative from
// the genome. 0-based half-open.
struct PlaceWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct PromoterPlace {
  std::string chrom;
  std::int64_t tss = 0;
  char strand = '+';
  std::string gene;
  std::vector<PlaceWindow> windows = {};      // empty: overlaps are not looked at
  std::vector<std::uint64_t> sequences = {};  // a key of each window's sequence, equal for its other strand
};

// The group of each promoter, equal for those that must stay together: numbered from 0 in order of first
// appearance. Besides what the unit says, promoters stay together whose windows overlap on either strand and,
// except for chromosomes, whose sequences are equal.
std::vector<std::size_t> group_promoters(std::span<const PromoterPlace> places, SplitUnit unit);

// For each fold (one when plan.folds is 0) and promoter: "train", "valid" or "test". Groups are shuffled by
// the seed; without folds the first fill test and the next valid, those of them that are drawn, until each
// holds at least a tenth of the promoters; with K folds, group by group, the fold with the fewest promoters
// takes it, fold f is test in split f and valid in split f - 1. Errors: fewer groups than sides (train and
// those that are drawn), or than folds.
std::vector<std::vector<std::string>> split_promoters(std::span<const std::size_t> groups,
                                                      const SplitPlan& plan, std::uint64_t seed);

}  // namespace bigbird
