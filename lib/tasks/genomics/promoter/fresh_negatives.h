// Negatives of promoters that are made anew in every epoch of a fine-tuning, as the public implementation of
// DeePromoter (Oubounyt et al. 2019) does, so that no negative can be learned by heart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/tasks/genomics/promoter/negatives.h"

namespace bigbird {

class FreshNegatives {
 public:
  // Windows on their sense strand, A C G T N; at least 20 bases, but for dinucleotide negatives. Error{usage}
  // for genomic ones, which are made of no window.
  FreshNegatives(NegativeKind kind, std::uint64_t seed, std::vector<std::string> promoters);

  std::uint64_t promoters() const { return promoters_.size(); }
  const std::string& promoter(std::uint64_t index) const {
    return promoters_[static_cast<std::size_t>(index)];
  }
  // The negative of one promoter in `epoch` (0, 1, ...): a function of (seed, epoch, index)
  // (Purpose::fresh_negatives). Safe from many threads at once.
  std::string negative(std::uint64_t epoch, std::uint64_t index) const;

 private:
  NegativeKind kind_;
  std::uint64_t seed_;
  std::vector<std::string> promoters_;
};

}  // namespace bigbird
