// See fresh_negatives.h.
#include "lib/tasks/genomics/promoter/fresh_negatives.h"

#include <utility>

#include "lib/core/error.h"
#include "lib/core/rng.h"

namespace bigbird {

FreshNegatives::FreshNegatives(NegativeKind kind, std::uint64_t seed, std::vector<std::string> promoters)
    : kind_(kind), seed_(seed), promoters_(std::move(promoters)) {
  if (kind == NegativeKind::genomic) {
    throw_usage("`fresh_negatives` genomic: these are not made of the promoters",
                "`bigbird promoter build` cuts them from the genome, once");
  }
}

std::string FreshNegatives::negative(std::uint64_t epoch, std::uint64_t index) const {
  CounterRng rng(seed_, Purpose::fresh_negatives, epoch * promoters_.size() + index);
  return make_negative(kind_, promoter(index), rng);
}

}  // namespace bigbird
