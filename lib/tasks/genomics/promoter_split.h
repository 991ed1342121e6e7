// Seeded splits of promoters into train, valid and test that keep related examples together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// What stays on one side. promoter: all promoters at one TSS; gene: all promoters of one gene, and genes that
// share a TSS; chromosome: whole chromosomes.
enum class SplitUnit { promoter, gene, chromosome };

struct SplitPlan {
  SplitUnit unit = SplitUnit::promoter;
  int folds = 0;  // 0: one 80/10/10 split; else K of them, every promoter once in test
};

// "promoter", "gene", "chromosome" or "kfold:K" (promoters in K folds, 3 to 100); Error{usage} for another
// word.
SplitPlan parse_split(std::string_view word);
std::string split_name(const SplitPlan& plan);

// The group of each promoter, equal for those that must stay together: numbered from 0 in order of first
// appearance.
struct PromoterPlace {
  std::string chrom;
  std::int64_t tss = 0;
  char strand = '+';
  std::string gene;
};
std::vector<std::size_t> group_promoters(std::span<const PromoterPlace> places, SplitUnit unit);

// For each fold (one when plan.folds is 0) and promoter: "train", "valid" or "test". Groups are shuffled by
// the seed; without folds the first fill test and the next valid until each holds at least a tenth of the
// promoters; with K folds, group by group, the fold with the fewest promoters takes it, fold f is test in
// split f and valid in split f - 1. Errors: fewer than 3 groups, or fewer groups than folds.
std::vector<std::vector<std::string>> split_promoters(std::span<const std::size_t> groups,
                                                      const SplitPlan& plan, std::uint64_t seed);

}  // namespace bigbird
